"""Hints of many NUMA nodes: what masks must fulfil, in place of a list of all masks.

The CPU and the memory manager hint at every mask whose nodes have enough. Which mask the merge
takes follows from the conditions: of masks of one size it is the one of the lowest number.

Upstream: kubernetes/kubernetes pkg/kubelet/cm/topologymanager/policy.go
  pkg/kubelet/cm/topologymanager/bitmask/bitmask.go @ 24e2b02af5543d7910c2bb074c7264df5a8f0467
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import comb
from typing import NamedTuple

from cpuplan.upstream.kubernetes.bits import bits_of, members
from cpuplan.upstream.kubernetes.errors import ENDLESS, TooManySetsError

#: States of a search: a second. Machines whose nodes are alike have a few hundred.
_MOST_STATES = 1 << 17


def check_ends(nodes: int) -> None:
    """TooManySetsError where the kubelet does not come to an end of all sets of so many nodes."""
    if 1 << nodes >= ENDLESS:
        raise TooManySetsError(1 << nodes, nodes)


class Need(NamedTuple):
    """An amount that the nodes of a mask have together."""

    by_node: Mapping[int, int]
    least: int


class Masks(NamedTuple):
    """All masks with the nodes `required`, without others than `allowed`, that have `needs`."""

    required: int
    allowed: int
    needs: tuple[Need, ...] = ()

    def has(self, mask: int) -> bool:
        """Whether a mask is one of these."""
        if self.required & ~mask or mask & ~self.allowed:
            return False
        nodes = members(mask)
        return all(sum(map(need.by_node.__getitem__, nodes)) >= need.least for need in self.needs)

    def and_also(self, other: "Masks") -> "Masks":
        """The masks that are among these and those."""
        further = [need for need in other.needs if need not in self.needs]
        required, allowed = self.required | other.required, self.allowed & other.allowed
        return Masks(required, allowed, (*self.needs, *further))

    @property
    def is_possible(self) -> bool:
        """Whether there is one: with all nodes that are allowed there is most."""
        return bool(self.allowed) and self.has(self.allowed)


class HintSets(NamedTuple):
    """The hints of one resource: masks of all parts, those of `preferred` nodes preferred.

    No mask is in two parts.
    """

    parts: tuple[Masks, ...]
    preferred: int

    @property
    def narrowest(self) -> int:
        """The fewest nodes of a mask; 0 where there is none."""
        return min(filter(None, map(fewest, self.parts)), default=0)

    @property
    def numbers(self) -> tuple[int, int]:
        """Between which numbers the number of masks is; twice the same where it is known."""
        counts = [_counts(part) for part in self.parts]
        return sum(least for least, _ in counts), sum(most for _, most in counts)

    def singles(self, nodes: Sequence[int]) -> list[int]:
        """The masks of one node."""
        return [1 << node for node in nodes if self._has(1 << node)]

    def _has(self, mask: int) -> bool:
        return any(part.has(mask) for part in self.parts)

    def lowest(self, size: int) -> int | None:
        """The lowest mask of `size` nodes."""
        masks = [lowest((part,), size) for part in self.parts]
        return min(filter(None, masks), default=None)


def fewest(part: Masks) -> int | None:
    """The fewest nodes that a mask of a part has; None where there is no mask."""
    sizes = range(1, part.allowed.bit_count() + 1)
    return next((size for size in sizes if lowest((part,), size)), None)


def lowest(parts: Sequence[Masks], size: int) -> int | None:
    """The lowest mask of `size` nodes that is the intersection of one mask of each part.

    TooManySetsError where the search does not end in time.
    """
    return _Search(parts).lowest(size)


class _Search:
    """Which nodes are in the intersection, decided from the highest node down.

    A node that is not in it is missing from one mask only: more nodes never take anything away.
    """

    def __init__(self, parts: Sequence[Masks]) -> None:
        self.parts = parts
        self.nodes = members(_union(part.allowed for part in parts))[::-1]
        self.common = _intersection(part.allowed for part in parts)
        self.required = _intersection(part.required for part in parts)
        needs = [(index, need) for index, part in enumerate(parts) for need in part.needs]
        self.owners = [index for index, _ in needs]
        self.least = tuple([need.least for _, need in needs])
        self.gains = [self._gains(node, needs) for node in self.nodes]
        self.choices = [self._choices(node) for node in self.nodes]
        self.rest = self._rest()
        self._known: dict[tuple[int, int, tuple[int, ...]], int | None] = {}

    def _gains(self, node: int, needs: Sequence[tuple[int, Need]]) -> tuple[int, ...]:
        """What a node gives to each need, where the masks of its part may have it."""
        return tuple(
            [
                need.by_node[node] if self.parts[index].allowed >> node & 1 else 0
                for index, need in needs
            ]
        )

    def _choices(self, node: int) -> tuple[int | None, ...]:
        """The parts that may lack a node; None where one must lack it anyway."""
        if not self.common >> node & 1:
            return (None,)
        return tuple(
            [index for index, part in enumerate(self.parts) if not part.required >> node & 1]
        )

    def _rest(self) -> list[list[list[int]]]:
        """For each place and need, what at most 0, 1, 2 ... of the nodes from there on give."""
        is_alone = len(self.parts) == 1
        rest = []
        for place in range(len(self.nodes) + 1):
            tails = zip(*self.gains[place:], strict=True) if self.gains[place:] else ()
            sums = [_running(sorted(tail, reverse=True)) for tail in tails]
            rest.append(sums if is_alone else [[total[-1]] for total in sums])
        return rest

    def lowest(self, size: int) -> int | None:
        if not all(part.is_possible for part in self.parts):
            return None
        return self._from(0, size, self.least)

    def _from(self, place: int, size: int, missing: tuple[int, ...]) -> int | None:
        """The lowest nodes from `place` on, `size` of them; 0 where none is needed."""
        if size < 0 or not self._can(place, size, missing):
            return None
        if place == len(self.nodes):
            return 0
        key = place, size, missing
        if key not in self._known:
            if len(self._known) >= _MOST_STATES:
                raise TooManySetsError(1 << len(self.nodes), len(self.nodes))
            self._known[key] = self._decide(place, size, missing)
        return self._known[key]

    def _can(self, place: int, size: int, missing: tuple[int, ...]) -> bool:
        left = len(self.nodes) - place
        if size > left:
            return False
        for index, amount in enumerate(missing):
            if amount <= 0:
                continue
            if not left:
                return False
            sums = self.rest[place][index]
            if sums[min(size, len(sums) - 1)] < amount:
                return False
        return True

    def _decide(self, place: int, size: int, missing: tuple[int, ...]) -> int | None:
        node, gains = self.nodes[place], self.gains[place]
        without = []
        for choice in self.choices[place]:
            left = self._less(missing, gains, choice)
            mask = self._from(place + 1, size, left)
            if mask is not None:
                without.append(mask)
        if without:
            return min(without)
        if not self.common >> node & 1:
            return None
        mask = self._from(place + 1, size - 1, self._less(missing, gains, None))
        return None if mask is None else mask | 1 << node

    def _less(
        self, missing: tuple[int, ...], gains: tuple[int, ...], lacking: int | None
    ) -> tuple[int, ...]:
        """What is missing after a node that the part `lacking` does not have."""
        return tuple(
            [
                amount if owner == lacking else max(amount - gain, 0)
                for owner, amount, gain in zip(self.owners, missing, gains, strict=True)
            ]
        )


def _running(amounts: Sequence[int]) -> list[int]:
    sums = [0]
    for amount in amounts:
        sums.append(sums[-1] + amount)
    return sums


def _union(sets: Iterator[int]) -> int:
    together = 0
    for bits in sets:
        together |= bits
    return together


def _intersection(sets: Iterator[int]) -> int:
    common = next(sets)
    for bits in sets:
        common &= bits
    return common


#: Masks of one size that are tried to find the closest nodes: a second.
_MOST_TRIED = 1 << 15


def masks_of(part: Masks, size: int) -> list[int]:
    """The masks of a part that have `size` nodes; TooManySetsError where these are too many."""
    free = members(part.allowed & ~part.required)
    more = size - part.required.bit_count()
    if more < 0 or not part.is_possible:
        return []
    if comb(len(free), more) > _MOST_TRIED:
        nodes = part.allowed.bit_count()
        raise TooManySetsError(1 << nodes, nodes)
    masks = [part.required | bits_of(group) for group in combinations(free, more)]
    return list(filter(part.has, masks))


def _counts(part: Masks) -> tuple[int, int]:
    """The masks of the narrowest one's nodes and any others, and those of the hardest need."""
    free = members(part.allowed & ~part.required)
    nothing = 0 if part.required else 1
    counts = [(1 << len(free)) - nothing]
    counts += [_counted(part, need, free) for need in part.needs if need.least > 0]
    most = min(counts)
    if len(counts) < 3:
        return most, most
    return 1 << part.allowed.bit_count() - (fewest(part) or 0), most


def _counted(part: Masks, need: Need, free: Sequence[int]) -> int:
    """The sets of `free` nodes that have the rest of a need: pairs of halves of them."""
    missing = need.least - sum(map(need.by_node.__getitem__, members(part.required)))
    weights = [need.by_node[node] for node in free]
    half = len(weights) // 2
    sums = sorted(_sums(weights[:half]))
    return sum(len(sums) - bisect_left(sums, missing - other) for other in _sums(weights[half:]))


def _sums(weights: Sequence[int]) -> list[int]:
    sums = [0]
    for weight in weights:
        sums += [total + weight for total in sums]
    return sums
