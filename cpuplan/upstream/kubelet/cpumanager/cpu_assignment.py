"""Takes CPUs from a free set, packed (cpumanager/cpu_assignment.go).

The entry point is takeByTopologyNUMAPacked.

Orders are always (free CPUs in the element, id), ascending: the fullest element that is not full
comes first.

Upstream: kubernetes/kubernetes pkg/kubelet/cm/cpumanager/cpu_assignment.go
  @ 24e2b02af5543d7910c2bb074c7264df5a8f0467
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import combinations
from math import comb, inf, isqrt
from typing import NamedTuple, TypeVar

from cpuplan.upstream.kubelet.cpumanager.topology import CPUTopology, Element
from cpuplan.upstream.kubernetes.errors import HangError, KubeletError, TooManySetsError

T = TypeVar("T")


def iterate_combinations(items: list[T], size: int) -> Iterator[list[T]]:
    """Combinations of `size` items, in order; a yielded list may be overwritten by later ones.

    The overwriting is kubelet bug 141237.

    cpuAccumulator.iterateCombinations appends to a Go slice without copying it. Appending to a
    slice of 1, 2, 4 or 8 elements, which fills its array, copies it; appending to others writes
    into the array that all combinations with the same beginning share. A combination that was kept
    holds in the end what was last generated for its beginning.
    """
    own = _own_length(size)
    for beginning in combinations(range(len(items)), own):
        shared = [items[index] for index in beginning]
        if own == size:
            yield shared
            continue
        for ending in combinations(items[beginning[-1] + 1 :], size - own):
            shared[own:] = ending
            yield shared


def _own_length(size: int) -> int:
    """How many elements of a slice of `size` are its own: 1, 2, 3, 3, 5, 5, 5, 5, 9, ..."""
    if size <= 2:
        return size
    return 1 + (1 << (size - 1).bit_length() - 1)


class CPUAccumulator:
    """What is still free, what was taken, and how many CPUs are missing.

    `take` adds CPUs to the result whether they are free or not: the averages of machines with
    offline CPUs or with unequal cores call elements free that are not, and CPUs of others, or fewer
    distinct ones, come out (kubelet bug).
    """

    def __init__(
        self,
        topology: CPUTopology,
        available: int,
        count: int,
        *,
        odd_uncore_remainders: bool = True,
    ) -> None:
        self.topology, self.odd_uncore_remainders = topology, odd_uncore_remainders
        self.free = available & topology.all
        self.needed = count
        self.result = 0

    def take(self, cpus: int) -> None:
        self.result |= cpus
        self.free &= ~self.result
        self.needed -= cpus.bit_count()

    @property
    def is_satisfied(self) -> bool:
        return self.needed < 1

    @property
    def is_failed(self) -> bool:
        return self.needed > self.free.bit_count()

    def sort(self, elements: Iterable[Element], within: int) -> list[Element]:
        """The elements with free CPUs in `within`, sorted by (free CPUs in the element, id)."""
        free = self.free
        within &= free
        keyed = sorted(
            [((cpus & free).bit_count(), name, cpus) for name, cpus in elements if cpus & within]
        )
        return [(name, cpus) for _, name, cpus in keyed]

    def sort_first(self) -> list[Element]:
        """NUMA nodes, or sockets where these are above NUMA nodes."""
        return self.sort(self.topology.hierarchy.first, self.free)

    def sort_second(self) -> list[Element]:
        """The elements below each sorted one of the first level.

        An element with several parents comes several times.
        """
        below = self.topology.hierarchy.second
        return [
            element for name, cpus in self.sort_first() for element in self.sort(below[name], cpus)
        ]

    def sort_available_numa_nodes(self) -> list[Element]:
        return self.sort_first() if self.topology.hierarchy.numa_first else self.sort_second()

    def sort_available_sockets(self) -> list[Element]:
        return self.sort_second() if self.topology.hierarchy.numa_first else self.sort_first()

    def sort_available_cores(self) -> list[Element]:
        below = self.topology.hierarchy.cores
        return [core for name, cpus in self.sort_second() for core in self.sort(below[name], cpus)]

    def sort_available_uncore_caches(self) -> list[Element]:
        below = self.topology.uncore_in_numa
        numa_nodes = self.sort_available_numa_nodes()
        return [cache for name, cpus in numa_nodes for cache in self.sort(below[name], cpus)]

    def take_full(self, elements: Iterable[Element]) -> None:
        """Whole elements, as long as one is not more than what is missing."""
        for _, cpus in elements:
            if self.needed >= cpus.bit_count():
                self.take(cpus)

    def take_full_numa_nodes(self) -> None:
        self.take_full(
            [node for node in self.sort_available_numa_nodes() if not node[1] & ~self.free]
        )

    def take_full_sockets(self) -> None:
        """A socket counts as free when as many CPUs are free in it as sockets have on average."""
        size, free = self.topology.cpus_per_socket, self.free
        self.take_full(
            [
                socket
                for socket in self.sort_available_sockets()
                if (socket[1] & free).bit_count() == size
            ]
        )

    def take_full_cores(self) -> None:
        """A core counts as free when as many of its CPUs are free as cores have on average."""
        size, free = self.topology.cpus_per_core, self.free
        self.take_full(
            [core for core in self.sort_available_cores() if (core[1] & free).bit_count() == size]
        )

    def take_first_levels(self) -> None:
        """Whole elements of the first level, then of the second."""
        steps = (self.take_full_numa_nodes, self.take_full_sockets)
        for step in steps if self.topology.hierarchy.numa_first else reversed(steps):
            step()
            if self.is_satisfied:
                return

    def take_full_uncore(self) -> None:
        self.take_full(
            [cache for cache in self.sort_available_uncore_caches() if not cache[1] & ~self.free]
        )

    def take_partial_uncore(self, cache: int) -> None:
        """Takes the first cores with free CPUs in `cache` if they have exactly the missing CPUs."""
        topology, free = self.topology, self.free
        wanted, rest = divmod(self.needed, topology.cpus_per_core)
        if rest and self.odd_uncore_remainders:
            wanted += 1
        within = cache & free
        candidate = 0
        for core in topology.cores.values():
            if wanted and core & within:
                candidate |= core & free
                wanted -= 1
        if self.needed % 2 and topology.cpus_per_core > 1 and candidate.bit_count() > self.needed:
            candidate ^= 1 << candidate.bit_length() - 1
        if candidate.bit_count() == self.needed:
            self.take(candidate)

    def take_uncore_cache(self) -> None:
        """prefer-align-cpus-by-uncorecache: whole caches, then part of one."""
        size = self.topology.cpus_per_uncore_cache
        for _, cache in self.sort_available_uncore_caches():
            if self.needed >= size:
                self.take_full_uncore()
            if self.is_satisfied:
                return
            self.take_partial_uncore(cache)
            if self.is_satisfied:
                return

    def take_remaining_cpus(self, *, spread: bool) -> None:
        """Single CPUs: by cores in their order, or (spread) by sockets."""
        for _, element in self.sort_available_sockets() if spread else self.sort_available_cores():
            cpus = element & self.free
            while cpus and not self.is_satisfied:
                lowest = cpus & -cpus
                self.take(lowest)
                cpus ^= lowest


def take_by_topology_numa_packed(
    topology: CPUTopology,
    available: int,
    count: int,
    *,
    spread: bool = False,
    align_by_uncore_cache: bool = False,
    odd_uncore_remainders: bool = True,
) -> int:
    """Takes `count` CPUs out of `available` (takeByTopologyNUMAPacked).

    `spread` is the sorting strategy of distribute-cpus-across-cores.

    Without `odd_uncore_remainders` only whole cores are aligned by uncore cache.

    KubeletError when there are not so many.
    """
    taken = CPUAccumulator(topology, available, count, odd_uncore_remainders=odd_uncore_remainders)
    if taken.is_satisfied:
        return 0
    if taken.is_failed:
        raise not_enough(count, available)
    taken.take_first_levels()
    if not taken.is_satisfied and align_by_uncore_cache:
        taken.take_uncore_cache()
    if not taken.is_satisfied and not spread:
        taken.take_full_cores()
    if not taken.is_satisfied:
        taken.take_remaining_cpus(spread=spread)
    if not taken.is_satisfied:
        raise KubeletError("failed to allocate cpus")
    return taken.result


def not_enough(count: int, available: int) -> KubeletError:
    """The refusal of both algorithms; `available` may hold CPUs that the topology lacks."""
    requested = f"requested={count}, available={available.bit_count()}"
    return KubeletError(f"not enough cpus available to satisfy request: {requested}")


#: The sets of NUMA nodes that are looked at for one container: some seconds.
_MOST_SETS = 1 << 22


class Choice(NamedTuple):
    """NUMA nodes that give equal numbers of CPUs, and those that give the remainder, by index.

    The lists may hold something else by the time they are used: see `iterate_combinations`.
    """

    combination: list[int]
    remainder: list[int]


def take_by_topology_numa_distributed(
    topology: CPUTopology,
    available: int,
    count: int,
    group: int,
    *,
    spread: bool = False,
    hinted: int = 0,
) -> int:
    """Takes `count` CPUs out of `available`, in groups of `group` CPUs.

    With full-pcpus-only a group is the threads of a core. `hinted` is the number of NUMA nodes in
    the hint, which fewer must not be; 0 for none, and one that is too high does not count.

    KubeletError when there are not enough; HangError where the kubelet never ends.
    """
    if count % group:
        return take_by_topology_numa_packed(topology, available, count, spread=spread)
    taken = CPUAccumulator(topology, available, count)
    if taken.is_satisfied:
        return 0
    if taken.is_failed:
        raise not_enough(count, available)
    numa_nodes = [cpus for _, cpus in taken.sort_available_numa_nodes()]
    free = [(cpus & taken.free).bit_count() for cpus in numa_nodes]
    lowest, highest = range_numa_nodes_needed(topology, len(numa_nodes), count, group)
    if hinted <= highest:
        lowest = max(lowest, hinted)
    for size in range(lowest, highest + 1):
        choice = best_combination(free, count, group, size)
        if choice:
            return _allocate(taken, numa_nodes, choice, group, spread=spread)
    return take_by_topology_numa_packed(topology, available, count, spread=spread)


def range_numa_nodes_needed(
    topology: CPUTopology, available: int, count: int, group: int
) -> tuple[int, int]:
    """The fewest and the most NUMA nodes to try; `available` nodes have free CPUs.

    The fewest is computed from the average node, rounded up.
    """
    groups = -(-topology.all.bit_count() // group)
    groups_per_node = -(-groups // len(topology.numa_nodes))
    needed = count // group
    return -(-needed // groups_per_node), min(needed, available)


def best_combination(free: Sequence[int], count: int, group: int, size: int) -> Choice | None:
    """The first combination of `size` NUMA nodes that leaves the free CPUs of all most alike.

    `free` has the free CPUs of each node. None when no combination can give `count` CPUs.
    """
    distribution = count // size // group * group
    in_groups = [cpus // group * group for cpus in free]
    balance = Balance(free, count)
    best, best_score = None, inf
    known: Known = {}
    for combination in iterate_combinations(list(range(len(free))), size):
        if best_score == 0:
            break
        balance.look(1)
        if sum([in_groups[node] for node in combination]) < count:
            continue
        if min([free[node] for node in combination]) < distribution:
            continue
        score, remainder = _best_remainder(balance, combination, distribution, group, known)
        if score < best_score:
            best, best_score = Choice(combination, remainder), score
    return best


class Balance:
    """Scores of a distribution: the standard deviation of the free CPUs, in thousandths.

    The free CPUs are those that are left on each node after `count` CPUs are taken.

    What is left in all is always the same, so that a score follows from the sum of squares alone.
    """

    def __init__(self, free: Sequence[int], count: int) -> None:
        self.free, self.count = free, count
        self._nodes, self._left = len(free), sum(free) - count
        # rounded to thousandths, as the kubelet
        self._mean = (2000 * self._left + self._nodes) // (2 * self._nodes)
        self._scores: dict[int, int] = {}
        self._looked = 0

    def look(self, sets: int) -> None:
        """Count sets of NUMA nodes that are looked at; TooManySetsError where they are too many."""
        self._looked += sets
        if self._looked > _MOST_SETS:
            raise TooManySetsError(self._looked, self._nodes)

    def score(self, squares: int) -> int:
        """The deviation, rounded half up, of numbers whose squares add up to `squares`."""
        known = self._scores.get(squares)
        if known is not None:
            return known
        mean, nodes = self._mean, self._nodes
        total = 1_000_000 * squares - 2000 * mean * self._left + nodes * mean * mean
        root = isqrt(total // nodes)
        score = root + (4 * total >= nodes * (2 * root + 1) ** 2)
        self._scores[squares] = score
        return score


#: (score, members by position) for what members have left, and the sum of squares of all nodes.
Known = dict[tuple[tuple[int, ...], int], tuple[float, list[int]]]


def _best_remainder(
    balance: Balance, combination: Sequence[int], distribution: int, group: int, known: Known
) -> tuple[float, list[int]]:
    """The score of a combination, and the members that give the remainder.

    Nodes are often alike: what was found for others that have as much left is `known`.
    """
    left = list(balance.free)
    for node in combination:
        left[node] -= distribution
    squares = sum([cpus * cpus for cpus in left])
    remainder = balance.count - distribution * len(combination)
    if not remainder:
        return balance.score(squares), []
    members = [node for node in combination if left[node] >= group]
    key = tuple([left[node] for node in members]), squares
    if key not in known:
        known[key] = _best_subset(balance, *key, remainder, group)
    score, positions = known[key]
    return score, [members[position] for position in positions]


def _best_subset(
    balance: Balance, left: Sequence[int], squares: int, remainder: int, group: int
) -> tuple[float, list[int]]:
    """The score and the positions of the members whose giving balances all nodes best.

    `left` has the free CPUs of each member. Larger subsets are tried first.

    The subset is what its slice holds in the end: none is generated after the last one is scored.
    """
    best: list[int] = []
    best_score = inf
    for size in range(len(left), 0, -1):
        balance.look(comb(len(left), size))
        rounds, extra = divmod(remainder // group, size)
        low, high = rounds * group, (rounds + 1) * group
        plenty = min(left) >= (high if extra else low)
        low_changes = [low * (low - 2 * cpus) for cpus in left]
        high_changes = [high * (high - 2 * cpus) for cpus in left]
        for subset in iterate_combinations(list(range(len(left))), size):
            if plenty:
                change = sum(map(high_changes.__getitem__, subset[:extra]))
                if low:
                    change += sum(map(low_changes.__getitem__, subset[extra:]))
            elif sum([left[member] for member in subset]) < remainder:
                continue
            else:
                change = _hand_out(left, subset, remainder, group)
            score = balance.score(squares + change)
            if score < best_score:
                best, best_score = subset, score
    return best_score, best


def _hand_out(left: Sequence[int], subset: Sequence[int], remainder: int, group: int) -> int:
    """The change of the sum of squares when `remainder` CPUs are taken in rounds of `group`.

    HangError when the nodes have enough CPUs but not enough groups (kubelet bug: the rounds never
    end).
    """
    now = {node: left[node] for node in subset}
    while remainder:
        before = remainder
        for node in subset:
            if remainder and now[node] >= group:
                now[node] -= group
                remainder -= group
        if remainder == before:
            raise HangError
    return sum(cpus * cpus - left[node] * left[node] for node, cpus in now.items())


def _allocate(
    taken: CPUAccumulator, numa_nodes: Sequence[int], choice: Choice, group: int, *, spread: bool
) -> int:
    """Take what was chosen; KubeletError when it turns out to be another number of CPUs."""
    combination = [numa_nodes[node] for node in choice.combination]
    distribution = taken.needed // len(combination) // group * group
    remainder = taken.needed - distribution * len(combination)

    def take_from(node: int, count: int) -> None:
        with suppress(KubeletError):  # the kubelet drops this error too, and finds out below
            taken.take(
                take_by_topology_numa_packed(
                    taken.topology, node & taken.free, count, spread=spread
                )
            )

    for node in combination:
        take_from(node, distribution)
    while remainder:
        before = remainder
        for node in [numa_nodes[node] for node in choice.remainder]:
            if remainder and (node & taken.free).bit_count() >= group:
                take_from(node, group)
                remainder -= group
        if remainder == before:
            raise HangError
    if taken.needed > 0:
        raise KubeletError(
            f"accounting error, not enough CPUs allocated, remaining: {taken.needed}"
        )
    if taken.needed < 0:
        raise KubeletError(f"accounting error, too many CPUs allocated, remaining: {taken.needed}")
    return taken.result
