"""Two applications that send all they can by both protocols, and see what comes twice or wrong."""

from __future__ import annotations

import os
import selectors
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess

SERVER = """
import hashlib, ndpstack, os, sys, threading
numbers, lock = set(), threading.Lock()

def check(data):
    data = bytes(data)
    number = data[32:40]
    wrong = "corrupt" if hashlib.sha256(data[32:]).digest() != data[:32] else None
    with lock:
        wrong = wrong or ("delivered twice" if number in numbers else None)
        numbers.add(number)
    if wrong:
        print(wrong, file=sys.stderr, flush=True)
        os._exit(1)
    return number

def serve(peer):
    try:
        with peer:
            while True:
                peer.send(check(peer.recv(timeout=60)))
    except (EOFError, ndpstack.NdpError):
        pass

def accept(listener):
    while True:
        threading.Thread(target=serve, args=(listener.accept(timeout=600),), daemon=True).start()

with ndpstack.Stack.attach("host") as stack:
    homa = ndpstack.HomaSocket(stack)
    homa.bind(5001)
    listener = ndpstack.NdpSocket(stack)
    listener.bind(5000)
    listener.listen()
    threading.Thread(target=accept, args=(listener,), daemon=True).start()
    print("ready", flush=True)
    for rpc in homa:
        rpc.reply(check(rpc.data))
"""
"""Every message is whole and comes once, over any number of connections."""

CLIENT = """
import hashlib, ndpstack, os, sys, threading, time
from itertools import count
address, numbers = sys.argv[1], count(1)

def message():
    body = next(numbers).to_bytes(8, "big")
    body += bytes([body[7]]) * (1 + body[7] * 7919 % 60000)
    return hashlib.sha256(body).digest() + body

def report(name, shown):
    now = time.monotonic()
    if now - shown < 0.1:
        return shown
    os.write(1, f"{name} {now}\\n".encode())  # whole lines, whichever thread is first
    return now

def ndp(stack):
    shown = 0.0
    while True:
        try:
            with ndpstack.NdpSocket(stack) as sock:
                sock.connect((address, 5000))
                while True:
                    data = message()
                    sock.send(data)
                    assert bytes(sock.recv(timeout=5)) == data[32:40]
                    shown = report("ndp", shown)
        except (ndpstack.NdpError, EOFError, TimeoutError):
            time.sleep(0.01)

def homa(stack):
    shown = 0.0
    with ndpstack.HomaSocket(stack) as sock:
        while True:
            data = message()
            try:
                assert bytes(sock.request((address, 5001), data, timeout=5)) == data[32:40]
                shown = report("homa", shown)
            except (ndpstack.NdpError, TimeoutError):
                time.sleep(0.01)

with ndpstack.Stack.attach("host") as stack:
    threading.Thread(target=ndp, args=(stack,), daemon=True).start()
    homa(stack)
"""
"""Sends on; a message that failed is never sent again, so none may arrive twice."""


class Progress:
    """Reads when a client had its last answer, of each protocol."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        self._process, self._file = process, process.stdout.fileno()
        self._rest = b""
        self._last = {b"ndp": 0.0, b"homa": 0.0}
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._file, selectors.EVENT_READ)

    def wait_beyond(self, moment: float, seconds: float = 60) -> None:
        """Waits until both protocols have had an answer after this time."""
        deadline = time.monotonic() + seconds
        while min(self._last.values()) <= moment:
            assert time.monotonic() < deadline, (moment, self._last)
            if not self._selector.select(1):
                continue
            data = os.read(self._file, 65536)
            assert data, self._process.communicate()[1].decode()
            *lines, self._rest = (self._rest + data).split(b"\n")
            for line in lines:
                name, when = line.split()
                self._last[name] = float(when)
