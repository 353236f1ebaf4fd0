"""Whole hosts over memory ports of a switch: NDP and Homa through queues that trim."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING

import pytest
from memory_host import fresh_opening, until_up

import ndpstack
from ndpstack.switch import PortConfig, Switch, SwitchConfig, TrimConfig, mixed_queue, queue

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ndpstack.switch import QueueConfig

HOSTS = 5
MESSAGE = bytes(range(256)) * 400


@contextlib.contextmanager
def hosts_on_a_switch(made: QueueConfig) -> Iterator[tuple[Switch, list[ndpstack.Stack]]]:
    """Hosts 10.0.0.1 and so on around a switch with paced ports."""
    with contextlib.ExitStack() as stack:
        switch = stack.enter_context(Switch(SwitchConfig(name="s0")))
        openings = [fresh_opening() for _ in range(HOSTS)]
        for number, opening in enumerate(openings):
            switch.add_port(
                PortConfig(
                    name=f"p{number}",
                    opening=opening,
                    queue=made,
                    rate_bps=200_000_000,
                    trim=TrimConfig(last_hop=True),
                )
            )
        switch.start()
        stacks = [
            stack.enter_context(
                ndpstack.Stack(
                    ndpstack.StackConfig(
                        name=opening.device,
                        backend="memory",
                        address=f"10.0.0.{number + 1}",
                        link_rate_bps=200_000_000,
                    )
                )
            )
            for number, opening in enumerate(openings)
        ]
        until_up(switch, *switch.ports())
        for number in range(HOSTS):
            # What a stack on a memory port calls itself; frames to the unknown are not trimmed.
            switch.set_address(f"02:00:0a:00:00:{number + 1:02x}", f"p{number}")
        yield switch, stacks
        assert switch.audit() is None
        assert [host.audit() for host in stacks] == [None] * HOSTS


def send(host: ndpstack.Stack, to: str) -> None:
    with ndpstack.NdpSocket(host) as client:
        client.connect((to, 4000))
        client.send(MESSAGE)
        client.flush(timeout=30)


def test_an_incast_is_trimmed_and_all_of_it_arrives() -> None:
    """Four hosts send 100 KB to one at the same time; its queue holds eight packets."""
    with hosts_on_a_switch(queue("ndp")) as (switch, stacks):
        with ndpstack.NdpSocket(stacks[0]) as listener:
            listener.bind(4000)
            listener.listen()
            senders = [
                threading.Thread(target=send, args=(host, str(stacks[0].address)))
                for host in stacks[1:]
            ]
            for sender in senders:
                sender.start()
            for _ in senders:
                with listener.accept(timeout=30) as server:
                    assert bytes(server.recv(timeout=30)) == MESSAGE
            for sender in senders:
                sender.join(timeout=30)
        counters = switch.port_counters("p0")["queue"]
        assert counters["trimmed_packets"] > 0
        assert counters["dropped_packets"] == counters["trimmed_dropped_packets"]
        state = switch.queue_state("p0")
        # Queued packets whole: eight of data, and the header queue beside them.
        assert 0 < state.classes["data"].packets_max <= 8


@pytest.mark.parametrize("made", [queue("strict", total="300pkt"), mixed_queue()])
def test_homa_calls_through_priorities(made: QueueConfig) -> None:
    with (
        hosts_on_a_switch(made) as (_, stacks),
        ndpstack.HomaSocket(stacks[0]) as server,
        ndpstack.HomaSocket(stacks[1]) as client,
    ):
        server.bind(4000)
        call = client.start((stacks[0].address, 4000), MESSAGE)
        rpc = server.recv(timeout=30)
        rpc.reply(rpc.data)
        assert bytes(call.result()) == MESSAGE
