"""Takes CPUs evenly from several NUMA nodes (KEP-2902; cpu_assignment.go).

The entry point is takeByTopologyNUMADistributed.
"""

from collections.abc import Sequence
from contextlib import suppress
from math import comb, inf, isqrt
from typing import NamedTuple

from cpuplan.upstream.kubelet.cpu.combinations import iterate_combinations
from cpuplan.upstream.kubelet.cpu.cpu_assignment import (
    CPUAccumulator,
    not_enough,
    take_by_topology_numa_packed,
)
from cpuplan.upstream.kubelet.cpu.topology import CPUTopology
from cpuplan.upstream.kubelet.errors import HangError, KubeletError, TooManySetsError

#: The sets of NUMA nodes that are looked at for one container: some seconds.
_MOST_SETS = 1 << 22


class Choice(NamedTuple):
    """NUMA nodes that give equal numbers of CPUs, and those that give the remainder, by index.

    The lists may hold something else by the time they are used: see `iterate_combinations`.
    """

    combination: list[int]
    remainder: list[int]


def take_by_topology_numa_distributed(
    topology: CPUTopology, available: int, count: int, group: int, *, spread: bool = False
) -> int:
    """Takes `count` CPUs out of `available`, in groups of `group` CPUs.

    With full-pcpus-only a group is the threads of a core.

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
