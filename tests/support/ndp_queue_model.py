"""The ndp discipline in Python: two lists, a coin that the real one tosses, and a round robin."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from queue_rig import Chance, Item, Outcome


@dataclass
class NdpQueue:
    """Data and headers, with the settings that a config has."""

    packets: int
    header_bytes: int
    coin: bool = True
    return_to_sender: bool = True
    strict: bool = False
    last_hop: bool = False
    header_weight: int = 10
    data_weight: int = 1
    control_reserve: int = 0
    data_bytes: int = 1 << 30
    data: list[Item] = field(default_factory=list)
    headers: list[Item] = field(default_factory=list)
    turn: int = 0

    def fits(self, item: Item) -> bool:
        total = sum(each.size for each in self.data) + item.size
        return len(self.data) < self.packets and total <= self.data_bytes

    def put(self, item: Item, chance: Chance) -> Outcome:
        """R-NSW-01 to R-NSW-04, R-NSW-08, R-NSW-09."""
        if item.is_header:
            assert chance.cuts == 0
            return self.put_header(item)
        if self.fits(item):
            assert chance.cuts == 0
            self.data.append(item)
            return Outcome.kept()
        if not item.can_trim:
            assert chance.cuts == 0
            return Outcome.lost(item)
        return self.overflow(item, chance)

    def overflow(self, item: Item, chance: Chance) -> Outcome:
        """Cuts the arrival, or the tail where the coin fell so, or both where one is too little."""
        tail = self.data[-1] if self.data else None
        may_cut_tail = self.coin and tail is not None and tail.can_trim
        if tail is not None and may_cut_tail and (chance.kept or chance.cuts == 2):
            self.data.pop()
            first = self.put_header(tail.cut(last_hop=self.last_hop))
            if chance.cuts == 1:
                assert self.fits(item)
                self.data.append(item)
                return Outcome("kept", first.dropped, first.returned)
            assert not self.fits(item)
        else:
            assert chance.cuts == 1
            first = Outcome.kept()
        second = self.put_header(item.cut(last_hop=self.last_hop))
        verdict = "trimmed" if second.verdict == "kept" else second.verdict
        return Outcome(verdict, first.dropped + second.dropped, first.returned + second.returned)

    def put_header(self, item: Item) -> Outcome:
        total = sum(each.size for each in self.headers) + item.size
        room = self.header_bytes - (self.control_reserve if item.trimmed else 0)
        if total <= room:
            self.headers.append(item)
            return Outcome.kept()
        if item.trimmed and not item.bounced and not item.flood and self.return_to_sender:
            return Outcome("returned", [], [replace(item, bounced=True)])
        return Outcome.lost(item)

    def get(self) -> Item | None:
        """R-NSW-05 to R-NSW-07, R-NSW-10."""
        if not self.headers or not self.data:
            self.turn = 0
            queue = self.headers or self.data
            return queue.pop(0) if queue else None
        if self.strict:
            return self.headers.pop(0)
        header = self.turn < self.header_weight
        self.turn = (self.turn + 1) % (self.header_weight + self.data_weight)
        return (self.headers if header else self.data).pop(0)

    def held(self) -> list[Item]:
        return self.data + self.headers
