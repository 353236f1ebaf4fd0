"""A numpy array as a message: the receiver's array lies where the stack put the bytes."""

import numpy as np

import ndpstack

with (
    ndpstack.memory_pair() as (here, there),
    ndpstack.NdpSocket(there) as listener,
    ndpstack.NdpSocket(here) as sender,
):
    listener.bind(5000)
    listener.listen()
    sender.connect((there.address, 5000))

    sent = np.arange(1_000_000, dtype=np.float32)
    sender.send(sent.data)

    with listener.accept(timeout=5) as receiver:
        received = np.frombuffer(receiver.recv(timeout=5), dtype=np.float32)
        print(np.array_equal(sent, received), "owns its memory:", received.flags.owndata)
        print("messages held:", there.held)
        del received
        print("messages held:", there.held)
