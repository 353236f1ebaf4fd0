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
        return self.overflow(item, chance)

    def overflow(self, item: Item, chance: Chance) -> Outcome:
        """Cuts the arrival, or the tail where the coin fell so, or both where one is too little.

        An arrival that cannot be cut is dropped in place of that.
        """
        own_cuts = 1 if item.can_trim else 0
        tail = self.data[-1] if self.data else None
        first = Outcome.kept()
        if chance.kept or chance.cuts == 1 + own_cuts:
            assert self.coin
            assert tail is not None
            assert tail.can_trim
            self.data.pop()
            first = self.put_header(tail.cut(last_hop=self.last_hop))
            if self.fits(item):
                assert chance.kept
                self.data.append(item)
                return Outcome("kept", first.dropped, first.returned)
        else:
            assert chance.cuts == own_cuts
        second = self.lose(item)
        return Outcome(
            second.verdict, first.dropped + second.dropped, first.returned + second.returned
        )

    def lose(self, item: Item) -> Outcome:
        """The arrival's own loss: of its payload, or of all."""
        if not item.can_trim:
            return Outcome.lost(item)
        cut = self.put_header(item.cut(last_hop=self.last_hop))
        return Outcome("trimmed", [], []) if cut.verdict == "kept" else cut

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
