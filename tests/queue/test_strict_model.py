"""The strict discipline against one list for each level (R-H5-1, R-H4-2)."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import initialize
from queue_machine import QueueMachine
from queue_rig import Chance, Discipline, Item, Outcome

from ndpstack._core import ffi


class Strict:
    """Lists, the last of which is served first."""

    def __init__(self, levels: int, level: int, total: int) -> None:
        self.level_limit, self.total_limit = level, total
        self.levels: list[list[Item]] = [[] for _ in range(levels)]

    def put(self, item: Item, chance: Chance) -> Outcome:
        assert chance.cuts == 0
        level = self.levels[item.priority * len(self.levels) // 8]
        size = sum(each.size for each in self.held()) + item.size
        if len(level) >= self.level_limit or size > self.total_limit:
            return Outcome.lost(item)
        level.append(item)
        return Outcome.kept()

    def get(self) -> Item | None:
        return next((level.pop(0) for level in reversed(self.levels) if level), None)

    def held(self) -> list[Item]:
        return [item for level in self.levels for item in level]


class StrictMachine(QueueMachine):
    """Any number of levels."""

    @initialize(levels=st.integers(1, 8), level=st.integers(1, 6), total=st.integers(64, 12000))
    def start(self, levels: int, level: int, total: int) -> None:
        config = {"levels": levels, "level": {"packets": level}, "total": {"bytes": total}}
        self.real = Discipline("strict", ffi.new("struct nd_strict_config *", config))
        self.model = Strict(levels, level, total)


TestStrict = StrictMachine.TestCase
