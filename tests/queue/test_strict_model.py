"""The strict discipline against one list for each level (R-H5-1, R-H4-2, U24)."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import initialize
from queue_machine import QueueMachine
from queue_rig import Chance, Discipline, Item, Outcome

from ndpstack._core import ffi


class Strict:
    """Lists, the last strict one of which is served first; those with a weight take turns."""

    def __init__(self, level: int, total: int, weights: list[int]) -> None:
        self.level_limit, self.total_limit = level, total
        self.weights = weights
        self.levels: list[list[Item]] = [[] for _ in weights]
        self.credit = [0] * len(weights)
        self.turn = 0

    def put(self, item: Item, chance: Chance) -> Outcome:
        assert chance.cuts == 0
        level = self.levels[item.priority * len(self.levels) // 8]
        size = sum(each.size for each in self.held()) + item.size
        if len(level) >= self.level_limit or size > self.total_limit:
            return Outcome.lost(item)
        level.append(item)
        return Outcome.kept()

    def get(self) -> Item | None:
        for level, weight in reversed(list(zip(self.levels, self.weights, strict=True))):
            if level and not weight:
                return level.pop(0)
        return self.take_turn() if any(self.levels) else None

    def take_turn(self) -> Item:
        while not self.levels[self.turn] or self.credit[self.turn] <= 0:
            self.credit[self.turn] = min(self.credit[self.turn], 0)
            self.turn = (self.turn - 1) % len(self.levels)
            self.credit[self.turn] += 1536 * self.weights[self.turn]
        item = self.levels[self.turn].pop(0)
        self.credit[self.turn] -= item.size
        return item

    def held(self) -> list[Item]:
        return [item for level in self.levels for item in level]


class StrictMachine(QueueMachine):
    """Any number of levels, each strict or with a weight."""

    @initialize(
        weights=st.lists(st.sampled_from((0, 0, 1, 2, 5)), min_size=1, max_size=8),
        level=st.integers(1, 6),
        total=st.integers(64, 12000),
    )
    def start(self, weights: list[int], level: int, total: int) -> None:
        config = {
            "levels": len(weights),
            "level": {"packets": level},
            "total": {"bytes": total},
            "weights": weights,
        }
        self.real = Discipline("strict", ffi.new("struct nd_strict_config *", config))
        self.model = Strict(level, total, weights)


TestStrict = StrictMachine.TestCase
