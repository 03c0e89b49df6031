"""Minimum-cost flow from containers to cells of the machine."""

from collections.abc import Sequence
from math import inf

#: How many units an item keeps and gets, of each cell.
Shares = tuple[tuple[int, int], ...]


class Flow:
    """A minimum-cost flow from a source by items and cells to a sink: successive shortest paths."""

    def __init__(self, items: int, capacity: Sequence[int]) -> None:
        self.first_cell = items
        self.source = items + len(capacity)
        self.sink = self.source + 1
        self.graph: list[list[int]] = [[] for _ in range(items + len(capacity) + 2)]
        self.ends: list[int] = []
        self.room: list[int] = []
        self.costs: list[int] = []
        self.cost = 0
        for cell, units in enumerate(capacity):
            self._add(items + cell, self.sink, units, 0)

    def _add(self, start: int, end: int, room: int, cost: int) -> None:
        for here, there, left, price in ((start, end, room, cost), (end, start, 0, -cost)):
            self.graph[here].append(len(self.ends))
            self.ends.append(there)
            self.room.append(left)
            self.costs.append(price)

    def add_item(
        self, item: int, demand: int, cells: list[tuple[int, int]], *, is_new: bool
    ) -> None:
        """Adds an item; units that it has already in a cell cost nothing."""
        self._add(self.source, item, demand, 0)
        for cell, own in cells:
            if own:
                self._add(item, self.first_cell + cell, own, 0)
            self._add(item, self.first_cell + cell, demand, 0 if is_new else 1)

    def run(self) -> int:
        """The units that flow, at the least cost."""
        total = 0
        while (path := self._shortest_path()) is not None:
            units = min(self.room[edge] for edge in path)
            for edge in path:
                self.room[edge] -= units
                self.room[edge ^ 1] += units
                self.cost += units * self.costs[edge]
            total += units
        return total

    def _shortest_path(self) -> list[int] | None:
        """Bellman and Ford's, with a queue."""
        distance: list[float] = [inf] * len(self.graph)
        before = [-1] * len(self.graph)
        distance[self.source] = 0
        queue = [self.source]
        for node in queue:
            for edge in self.graph[node]:
                end, length = self.ends[edge], distance[node] + self.costs[edge]
                if self.room[edge] and length < distance[end]:
                    distance[end], before[end] = length, edge
                    queue.append(end)
        if distance[self.sink] == inf:
            return None
        path, node = [], self.sink
        while node != self.source:
            path.append(before[node])
            node = self.ends[before[node] ^ 1]
        return path

    def shares(self, item: int, own: Sequence[int]) -> Shares:
        """What an item has of each cell: (units kept, units got)."""
        units = [0] * len(own)
        for edge in self.graph[item]:
            if edge % 2 == 0 and self.ends[edge] >= self.first_cell:
                units[self.ends[edge] - self.first_cell] += self.room[edge ^ 1]
        return tuple(
            (min(count, mine), max(0, count - mine)) for count, mine in zip(units, own, strict=True)
        )
