"""The ndp discipline against its model, for any config (R-NSW-01 to R-NSW-10)."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import initialize
from ndp_queue_model import NdpQueue
from queue_machine import QueueMachine
from queue_rig import Discipline, Item

from ndpstack._core import ffi, lib


class NdpQueueMachine(QueueMachine):
    """Any limits, weights and switches."""

    model: NdpQueue

    @initialize(
        packets=st.integers(1, 9),
        data_bytes=st.sampled_from([0, 1500, 4000]),
        headers=st.integers(1, 8),
        reserve=st.integers(0, 1),
        weights=st.tuples(st.integers(1, 4), st.integers(1, 3)),
        switches=st.tuples(st.booleans(), st.booleans(), st.booleans(), st.booleans()),
        seed=st.integers(0, 100),
    )
    def start(
        self,
        packets: int,
        data_bytes: int,
        headers: int,
        reserve: int,
        weights: tuple[int, int],
        switches: tuple[bool, bool, bool, bool],
        seed: int,
    ) -> None:
        coin, return_to_sender, strict, last_hop = switches
        reserved = 64 * reserve if headers > 1 else 0
        config = {
            "data": {"packets": packets, "bytes": data_bytes},
            "headers": {"bytes": headers * 64},
            "control_reserve_bytes": reserved,
            "header_weight": weights[0],
            "data_weight": weights[1],
            "strict": strict,
            "return_to_sender": return_to_sender,
            "last_hop": last_hop,
            "victim": 0 if coin else 1,
        }
        self.real = Discipline("ndp", ffi.new("struct nd_ndp_queue_config *", config), seed)
        self.model = NdpQueue(
            packets=packets,
            header_bytes=headers * 64,
            coin=coin,
            return_to_sender=return_to_sender,
            strict=strict,
            last_hop=last_hop,
            header_weight=weights[0],
            data_weight=weights[1],
            control_reserve=reserved,
            data_bytes=data_bytes or 1 << 30,
        )


TestNdpQueue = NdpQueueMachine.TestCase


def test_the_presets_are_the_papers() -> None:
    """R-NSW-02, R-NSW-12, R-NSW-13."""
    paper = lib.nd_ndp_queue_paper(8, 9000)
    assert (paper.data.bytes, paper.headers.bytes) == (72000, 72000)
    assert (paper.header_weight, paper.data_weight, paper.return_to_sender) == (10, 1, True)
    card = lib.nd_ndp_queue_netfpga()
    assert (card.data.bytes, card.headers.bytes, card.return_to_sender) == (12000, 12000, False)
    assert lib.nd_ndp_queue_p4(4).data.packets == 4


def test_a_refusal_names_field_value_limit_and_remedy() -> None:
    """U23."""
    config = ffi.new("struct nd_ndp_queue_config *", lib.nd_ndp_queue_paper(8, 9000))
    config.headers.bytes = 40
    with pytest.raises(ValueError, match=r"headers.bytes is 40, but must be at least 64.*raise it"):
        Discipline("ndp", config)


def test_more_than_the_pool_holds_is_an_error_of_the_rig_not_a_crash() -> None:
    config = ffi.new("struct nd_ndp_queue_config *", lib.nd_ndp_queue_paper(1000, 100))
    queue = Discipline("ndp", config)
    for number in range(256):
        assert queue.put(Item(number, 100)) == "kept"
    with pytest.raises(OSError, match="pool is empty"):
        queue.put(Item(256, 100))
    queue.audit()
