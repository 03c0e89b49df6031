"""Re-packing exclusive sets so that new ones find room, with the fewest CPUs moved.

A container takes whole units (CPUs, or cores) within one of its regions. Where every container's
region is settled, the least movement is a minimum-cost flow from containers to cells, the parts
into which the regions cut the machine; the settling is an iterative deepening search by the
movement that it costs at least.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import NamedTuple, TypeVar

from cpuplan.upstream.kubelet.cpumanager.policy_static import StaticPolicy
from cpuplan.upstream.kubernetes.errors import HangError, KubeletError

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


#: The work, in steps of some microseconds, after which least movement is not proven any more and
#: the first room that is found is taken: about a second.
LIMIT = 50_000
#: How many edges of a flow are as much work as a step.
_EDGES_PER_STEP = 10


class Item(NamedTuple):
    """A container: its number of CPUs, those it has now (0: none), and its regions.

    Items with the same `group` are in the same region, by its place in the list; their lists are
    equal.
    """

    group: str
    size: int
    old: int
    regions: tuple[int, ...]


class Layout(NamedTuple):
    """The shares of every item, in order; None without room.

    Without `is_exact` another layout may move less or, for None, may exist.
    """

    shares: tuple[Shares, ...] | None
    is_exact: bool = True


#: Units by cell, a part of the machine that no region divides. A unit is a set of CPUs; all are of
#: one size.
Cells = tuple[tuple[int, ...], ...]


class _LimitError(Exception):
    """The search has taken too many steps."""


def cut(items: Sequence[Item], units: Sequence[int]) -> Cells:
    """The cells of `units`: those that are in the same regions."""
    regions = sorted({region for item in items for region in item.regions})
    cells: dict[tuple[bool, ...], list[int]] = {}
    for unit in units:
        cells.setdefault(tuple(not unit & ~region for region in regions), []).append(unit)
    return tuple(map(tuple, cells.values()))


def within(cells: Cells, cpus: int) -> tuple[int, ...]:
    """How many units of each cell a set has whole."""
    return tuple(_whole(cell, cpus) for cell in cells)


def _whole(cell: Sequence[int], cpus: int) -> int:
    return sum(not unit & ~cpus for unit in cell)


def repack(items: Sequence[Item], cells: Cells, *, limit: int = LIMIT) -> Layout:
    """The layout with the fewest CPUs moved, or none."""
    search = _Search(items, cells, limit)
    try:
        return Layout(search.run())
    except _LimitError:
        return Layout(search.first_fit(), is_exact=False)


class _Search:
    def __init__(self, items: Sequence[Item], cells: Cells, limit: int) -> None:
        self.items, self.cells, self.limit = items, cells, limit
        self.capacity = tuple(map(len, cells))
        size = cells[0][0].bit_count() if cells else 1
        self.demand = [item.size // size for item in items]
        self.kept = [within(cells, item.old) for item in items]
        groups: dict[str, list[int]] = {}
        for index, item in enumerate(items):
            groups.setdefault(item.group, []).append(index)
        # The largest first: they have the fewest choices.
        self.groups = sorted(
            groups.values(), key=lambda members: -sum(self.demand[index] for index in members)
        )
        self.choices = [self._choices(members) for members in self.groups]
        self.is_disjoint = all(len(cells) == 1 for choices in self.choices for _, cells in choices)
        least = [choices[0][0] if choices else 0 for choices in self.choices]
        self.later = [sum(least[number + 1 :]) for number in range(len(least))]
        self.steps = 0
        self._failed: dict[tuple[int, tuple[int, ...]], float] = {}

    def _choices(self, members: list[int]) -> list[tuple[int, tuple[int, ...]]]:
        """Pairs (least units moved, cells) of a group's regions, the least movement first."""
        choices = []
        for region in self.items[members[0]].regions:
            cells = tuple(
                number for number, units in enumerate(self.cells) if not units[0] & ~region
            )
            if cells:
                choices.append((sum(self._least(index, cells) for index in members), cells))
        return sorted(choices, key=lambda choice: choice[0])

    def _least(self, index: int, cells: tuple[int, ...]) -> int:
        if not self.items[index].old:
            return 0
        kept = sum(self.kept[index][cell] for cell in cells)
        return max(0, self.demand[index] - kept)

    def run(self) -> tuple[Shares, ...] | None:
        """The shares with the least movement, by an IDA* search.

        Each round allows the least movement that the round before cut off.
        """
        if sum(self.demand) > sum(self.capacity) or not all(self.choices):
            return None
        allowed: float = sum(choices[0][0] for choices in self.choices)
        while allowed < inf:
            self._cut_off: float = inf
            self._failed.clear()
            shares = self._settle(0, [], 0, allowed, self.capacity)
            if shares:
                return shares
            allowed = self._cut_off
        return None

    def _settle(
        self,
        number: int,
        settled: list[tuple[int, ...]],
        moved: int,
        allowed: float,
        free: tuple[int, ...],
    ) -> tuple[Shares, ...] | None:
        """Settle the groups from `number` on, each of those before in its cells."""
        self.steps += 1
        if self.steps > self.limit:
            raise _LimitError
        if number == len(self.groups):
            return self._finish(settled, allowed)
        if self.is_disjoint and self._failed.get((number, free), -1) >= allowed - moved:
            return None
        later = self.later[number]
        for least, cells in self.choices[number]:
            if moved + least + later > allowed:
                self._cut_off = min(self._cut_off, moved + least + later)
                break
            left = self._occupy(number, cells, free)
            if left is None or (not self.is_disjoint and self._flow([*settled, cells]) is None):
                continue
            shares = self._settle(number + 1, [*settled, cells], moved + least, allowed, left)
            if shares:
                return shares
        if self.is_disjoint:
            self._failed[number, free] = allowed - moved
        return None

    def _occupy(
        self, number: int, cells: tuple[int, ...], free: tuple[int, ...]
    ) -> tuple[int, ...] | None:
        """What is left of each cell; None without room.

        Where regions overlap, only the flow decides.
        """
        if not self.is_disjoint:
            return free
        cell, needed = cells[0], sum(self.demand[index] for index in self.groups[number])
        if free[cell] < needed:
            return None
        return (*free[:cell], free[cell] - needed, *free[cell + 1 :])

    def _finish(self, settled: list[tuple[int, ...]], allowed: float) -> tuple[Shares, ...] | None:
        flow = self._flow(settled)
        if flow is None:
            return None
        moved, shares = flow
        if moved > allowed:
            self._cut_off = min(self._cut_off, moved)
            return None
        return shares

    def _flow(self, settled: list[tuple[int, ...]]) -> tuple[int, tuple[Shares, ...]] | None:
        """The least units moved, and the shares, with these groups settled; None without room."""
        flow = Flow(len(self.items), self.capacity)
        self.steps += len(self.items) * len(self.capacity) // _EDGES_PER_STEP
        wanted = 0
        for members, cells in zip(self.groups, settled, strict=False):
            for index in members:
                own, is_new = self.kept[index], not self.items[index].old
                flow.add_item(
                    index, self.demand[index], [(cell, own[cell]) for cell in cells], is_new=is_new
                )
                wanted += self.demand[index]
        if flow.run() < wanted:
            return None
        return flow.cost, tuple(
            flow.shares(index, self.kept[index]) for index in range(len(self.items))
        )

    def first_fit(self) -> tuple[Shares, ...] | None:
        """The first room found, largest groups first; least movement is not promised."""
        settled: list[tuple[int, ...]] = []
        free = self.capacity
        for number, choices in enumerate(self.choices):
            for _, cells in choices:
                left = self._occupy(number, cells, free)
                if left is not None and (
                    self.is_disjoint or self._flow([*settled, cells]) is not None
                ):
                    settled.append(cells)
                    free = left
                    break
            else:
                return None
        flow = self._flow(settled)
        return None if flow is None else flow[1]


K = TypeVar("K")


def units(policy: StaticPolicy, usable: int) -> list[int]:
    """The CPUs or (full-pcpus-only) the whole cores within a set, each as a set.

    Cores that differ in size from most are left out: on such machines room may be missed.
    """
    if not policy.options.full_pcpus_only:
        return [1 << row.cpu for row in policy.topology.rows if usable >> row.cpu & 1]
    size = unit_size(policy)
    return [
        core
        for core in policy.topology.cores.values()
        if not core & ~usable and core.bit_count() == size
    ]


def unit_size(policy: StaticPolicy) -> int:
    """The CPUs of a unit: one, or (full-pcpus-only) the most common size of a core."""
    sizes = [core.bit_count() for core in policy.topology.cores.values()]
    return (
        max(sizes, key=lambda size: (sizes.count(size), size))
        if policy.options.full_pcpus_only
        else 1
    )


def choose(
    policy: StaticPolicy, items: Mapping[K, Item], cells: Cells, shares: Iterable[Shares]
) -> dict[K, int]:
    """The sets of `items` for their shares: first what each keeps, then what each gets."""
    size = cells[0][0].bit_count() if cells else 1
    free = [sum(cell) for cell in cells]
    sets: dict[K, int] = dict.fromkeys(items, 0)

    def give(key: K, number: int, cpus: int) -> None:
        sets[key] |= cpus
        free[number] &= ~cpus

    parts = list(zip(items.items(), shares, strict=True))
    for (key, item), item_shares in parts:
        for number, (kept, _) in enumerate(item_shares):
            whole = sum(unit for unit in cells[number] if not unit & ~item.old)
            give(key, number, take(policy, whole, kept * size))
    for (key, _), item_shares in parts:
        for number, (_, got) in enumerate(item_shares):
            give(key, number, take(policy, free[number], got * size))
    return sets


def take(policy: StaticPolicy, cpus: int, count: int) -> int:
    """The kubelet's choice of `count` of `cpus`; the lowest cores where that is not usable."""
    if cpus.bit_count() == count:
        return cpus
    try:
        taken = policy.take_by_topology(cpus, count)
    except (KubeletError, HangError):
        taken = 0
    is_whole = not policy.options.full_pcpus_only or policy.topology.siblings_of(taken) == taken
    if taken.bit_count() == count and not taken & ~cpus and is_whole:
        return taken
    return _take_lowest(policy, cpus, count)


def _take_lowest(policy: StaticPolicy, cpus: int, count: int) -> int:
    taken = 0
    for core in policy.topology.cores.values():
        inside = core & cpus
        while inside and taken.bit_count() < count:
            taken |= inside & -inside
            inside &= inside - 1
    return taken
