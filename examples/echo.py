"""Echo in ten lines: a request and its reply, between two stacks in this process."""

import ndpstack

with (
    ndpstack.memory_pair() as (here, there),
    ndpstack.HomaSocket(here) as client,
    ndpstack.HomaSocket(there) as server,
):
    server.bind(4000)
    call = client.start((there.address, 4000), b"hello")
    rpc = server.recv(timeout=5)
    rpc.reply(rpc.data)
    print(bytes(call.result()).decode())
