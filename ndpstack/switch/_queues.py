"""Disciplines by name and preset, and their configs as C takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ndpstack._core import ffi, lib
from ndpstack._disciplines import FAIR_ROUND_BYTES, Queue, single
from ndpstack.switch._config import QueueConfig
from ndpstack.switch._errors import SwitchError
from ndpstack.switch._values import U32_MAX, number_of, text_of
from ndpstack.toml import Place
from ndpstack.toml.structs import written

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ndpstack._core import Struct, nd_queue_ops

PACKET_BYTES = 1538
"""Wire bytes of a full packet at an MTU of 1500."""

_MAKERS: Mapping[str, Callable[[object], Struct]] = {
    "droptail": lambda init: ffi.new("struct nd_droptail_config *", init),
    "ecn": lambda init: ffi.new("struct nd_ecn_config *", init),
    "ndp": lambda init: ffi.new("struct nd_ndp_queue_config *", init),
    "cut_payload": lambda init: ffi.new("struct nd_cut_payload_config *", init),
    "strict": lambda init: ffi.new("struct nd_strict_config *", init),
    "pfabric": lambda init: ffi.new("struct nd_pfabric_config *", init),
}


def queue(
    name: str, *, preset: str | None = None, packet_bytes: int = PACKET_BYTES, **settings: object
) -> QueueConfig:
    """A discipline with its defaults, and settings over them as a scenario writes them.

    Args:
        name: droptail, ecn, ndp, cut-payload, strict or pfabric.
        preset: Where the settings start from; ndp: paper, netfpga or p4.
        packet_bytes: Wire bytes of a full packet, which defaults are counted in.
        settings: Such as `data="8pkt"`, `limit="100KB"`.

    Raises:
        ScenarioError: There is no such discipline, preset or setting, or it is refused.
    """
    table = Queue(discipline=name, preset=preset, settings=settings)
    place = Place("queue")
    found = single(table, place)
    config = found.configure(table, packet_bytes, place)
    return QueueConfig(discipline=name.replace("-", "_"), settings=written(config, found.struct))


def mixed_queue(
    ndp: QueueConfig | None = None, others: QueueConfig | None = None, ndp_share: float = 0.5
) -> QueueConfig:
    """NDP beside everything else, which share the link while both have packets (R-NSW-14).

    Args:
        ndp: Queue of NDP; the paper's when left out.
        others: Queue of Homa and the kernel's packets; strict priorities when left out.
        ndp_share: Share of the link that NDP gets.
    """
    children = (ndp or queue("ndp"), others or queue("strict", total="300pkt"))
    share = int(FAIR_ROUND_BYTES * ndp_share)
    return QueueConfig(
        discipline="fair", children=children, quanta=(share, FAIR_ROUND_BYTES - share)
    )


class Made:
    """A discipline as C takes it: the config lives as long as this."""

    def __init__(self, config: QueueConfig) -> None:
        name = text_of("queue", "discipline", config.discipline)
        self.ops: nd_queue_ops = lib.nd_queue_find(name)
        if not self.ops:
            raise SwitchError(f"there is no discipline {config.discipline!r}")
        self._children = [Made(child) for child in config.children]
        self.config = self._fair(config) if config.discipline == "fair" else _single(config)

    def _fair(self, config: QueueConfig) -> Struct:
        if len(self._children) != 2 or len(config.quanta) != 2:
            raise SwitchError("a fair queue needs two children and two quanta")
        made = ffi.new("struct nd_fair_config *")
        for place, child, quantum in zip(made.child, self._children, config.quanta, strict=True):
            place.ops, place.config = child.ops, child.config
            place.quantum_bytes = number_of("fair", "quanta", quantum, 0, U32_MAX)
        for protocol in range(lib.ND_PROTO_COUNT):
            made.child_of[protocol] = 0 if protocol == lib.ND_PROTO_NDP else 1
        return made


def _single(config: QueueConfig) -> Struct:
    try:
        return _MAKERS[config.discipline](dict(config.settings))
    except (KeyError, TypeError, OverflowError) as error:
        raise SwitchError(f"{config.discipline}: settings: {error}") from error
