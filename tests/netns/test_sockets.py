"""Sockets over a real link: addresses and neighbours come from the kernel."""

from __future__ import annotations

import os
import subprocess
import time
from typing import TYPE_CHECKING

import pytest
from loops import LOOPS, run

import ndpstack
from ndpstack import aio, errors
from ndpstack._netns import call_inside
from ndpstack._sources import ask, find_stacks

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize("backend", ["xdp", "packet"])
def test_a_request_over_a_link(link: tuple[str, str], backend: ndpstack.Backend) -> None:
    """T11, X31: only the address of the peer is given."""
    configs = [ndpstack.StackConfig(name="e0", backend=backend, netns=name) for name in link]
    with (
        ndpstack.Stack(configs[0]) as here,
        ndpstack.Stack(configs[1]) as there,
        ndpstack.HomaSocket(here) as client,
        ndpstack.HomaSocket(there) as server,
    ):
        assert (here.address, there.address) == ("10.9.0.1", "10.9.0.2")
        assert backend in here.port_state().mode
        server.bind(4000)
        for size in (10, 100_000):
            call = client.start((there.address, 4000), bytes(size), timeout=10)
            rpc = server.recv(timeout=10)
            assert rpc.peer.address == here.address
            rpc.reply(rpc.data)
            assert len(call.result()) == size
        with here.share() as shared, ndpstack.NdpSocket(shared) as sender:
            listener = ndpstack.NdpSocket(there)
            with listener:
                listener.bind(5000)
                listener.listen()
                sender.connect((there.address, 5000))
                sender.send(b"by ndp")
                with listener.accept(timeout=10) as receiver:
                    assert bytes(receiver.recv(timeout=10)) == b"by ndp"


def test_a_neighbour_that_is_not_there(link: tuple[str, str]) -> None:
    """GH#13: nobody answers, and the error says for whom and where."""
    config = ndpstack.StackConfig(name="e0", backend="packet", netns=link[0])
    with ndpstack.Stack(config) as stack:
        with pytest.raises(errors.Unreachable, match=r"peer 10\.9\.0\.77\. nobody answers"):
            stack.peer("10.9.0.77")
        with pytest.raises(errors.Unreachable, match="the kernel has no route"):
            stack.peer("192.0.2.1")


def test_an_interface_that_goes_leaves_its_counters_their_texts(link: tuple[str, str]) -> None:
    """Whoever watches `port.*` goes on when it matters."""
    config = ndpstack.StackConfig(name="e0", backend="packet", netns=link[0])
    with ndpstack.Stack(config) as stack:
        texts = stack.counter_texts()
        assert stack.counters("port").keys() == texts["port"].keys()
        subprocess.run(["ip", "-n", link[0], "link", "delete", "e0"], check=True)
        until = time.monotonic() + 20
        while stack.port_state().mode != "closed" and time.monotonic() < until:
            time.sleep(0.01)
        with pytest.raises(errors.NdpError, match="no counters of port"):
            stack.counters("port")
        assert stack.counter_texts() == texts


@pytest.mark.parametrize("kind", LOOPS)
def test_the_time_of_a_call_includes_finding_the_way(link: tuple[str, str], kind: str) -> None:
    """Nobody answers for the peer, which takes the kernel three seconds to say."""
    nobody = ("10.9.0.77", 4000)

    async def main() -> None:
        async with aio.HomaSocket(stack) as client, aio.NdpSocket(stack) as sender:
            with pytest.raises(errors.Timeout, match="cannot resolve the peer"):
                await client.request(nobody, b"x", timeout=0.05)
            with pytest.raises(errors.Timeout, match="cannot resolve the peer"):
                await sender.connect(nobody, timeout=0.05)

    config = ndpstack.StackConfig(name="e0", backend="packet", netns=link[0])
    with (
        ndpstack.Stack(config) as stack,
        ndpstack.HomaSocket(stack) as client,
        ndpstack.NdpSocket(stack) as sender,
    ):
        calls: list[Callable[[], object]] = [
            lambda: client.request(nobody, b"x", timeout=0.05),
            lambda: client.start(nobody, b"x", timeout=0),
            lambda: sender.connect(nobody, timeout=0.05),
            lambda: stack.peer(nobody[0], timeout=0.05),
        ]
        for call in calls:
            with pytest.raises(errors.Timeout, match="cannot resolve the peer") as caught:
                call()
            assert caught.value.peer == nobody[0]
        run(kind, main())


def test_a_stack_is_seen_where_its_interface_is(link: tuple[str, str]) -> None:
    """Of two in one process, each in its network namespace."""
    configs = [ndpstack.StackConfig(name="e0", backend="packet", netns=name) for name in link]
    with ndpstack.Stack(configs[0]), ndpstack.Stack(configs[1]):
        names = [call_inside(name, find_stacks) for name in link]
        assert [len(each) for each in names] == [1, 1]
        answer = call_inside(link[1], lambda: ask(names[1][0], "counters"))
        assert (answer.stack, answer.owner.pid) == ("e0", os.getpid())
        assert not {*names[0], *names[1]} & {*find_stacks()}
    assert call_inside(link[0], find_stacks) == []
