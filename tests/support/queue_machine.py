"""The state machine that holds a discipline to its model, packet by packet."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from queue_rig import HEADER_BYTES, Chance, Discipline, Item, Model, Seen

KINDS = st.sampled_from(["data"] * 5 + ["control", "header", "other", "other"])


class QueueMachine(RuleBasedStateMachine):
    """Offers and takes out any packets; subclasses set `real` and `model` in @initialize."""

    real: Discipline
    model: Model

    def __init__(self) -> None:
        super().__init__()
        self.number = 0

    @rule(
        kind=KINDS,
        size=st.integers(HEADER_BYTES, 1500),
        ect=st.booleans(),
        flood=st.sampled_from([False] * 7 + [True]),
        bounced=st.booleans(),
        priority=st.integers(0, 7),
        rank=st.integers(0, 9),
        flow=st.integers(0, 5),
        times=st.integers(1, 4),
    )
    def put(
        self,
        kind: str,
        size: int,
        ect: bool,
        flood: bool,
        bounced: bool,
        priority: int,
        rank: int,
        flow: int,
        times: int,
    ) -> None:
        """A few equal packets arrive; the discipline must do with each what the model does."""
        trimmed = kind == "header"
        for _ in range(times):
            self.number += 1
            self.offer(
                Item(
                    number=self.number,
                    size=HEADER_BYTES if kind in ("control", "header") else size,
                    kind=kind,
                    ect=ect,
                    flood=flood,
                    bounced=bounced and trimmed,
                    trimmed=trimmed,
                    priority=priority,
                    rank=rank,
                    flow=flow,
                )
            )

    def offer(self, item: Item) -> None:
        """One packet arrives."""
        before = self.real.trimmed()
        verdict = self.real.put(item)
        dropped, returned = self.real.shed()
        chance = Chance(cuts=self.real.trimmed() - before, kept=verdict == "kept")
        expected = self.model.put(item, chance)
        assert verdict == expected.verdict
        assert sorted(dropped, key=number) == seen(expected.dropped)
        assert sorted(returned, key=number) == seen(expected.returned)

    @rule(times=st.integers(1, 5))
    def get(self, times: int) -> None:
        """The link has room for a few packets."""
        for _ in range(times):
            item = self.model.get()
            assert self.real.get() == (Seen.of_item(item) if item else None)

    @invariant()
    def agrees(self) -> None:
        """Totals are the model's, and every conservation law holds."""
        if not hasattr(self, "real"):
            return
        held = self.model.held()
        assert self.real.depth() == (len(held), sum(item.size for item in held))
        self.real.audit()

    def teardown(self) -> None:
        """What is queued comes out to the last packet."""
        if hasattr(self, "real"):
            while self.model.held():
                self.get(times=1)
            assert self.real.get() is None
            assert self.real.depth() == (0, 0)
            self.real.audit()


def number(packet: Seen) -> int:
    return packet.number


def seen(items: list[Item]) -> list[Seen]:
    """What the model expects to have left, in a fixed order."""
    return sorted((Seen.of_item(item) for item in items), key=number)
