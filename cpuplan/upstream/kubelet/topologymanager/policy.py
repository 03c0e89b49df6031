"""Merges the hints of all providers (pkg/kubelet/cm/topologymanager).

From policy.go, numa_info.go and topology_manager.go.

Upstream: kubernetes/kubernetes pkg/kubelet/cm/topologymanager/policy.go
  pkg/kubelet/cm/topologymanager/policy_best_effort.go
  pkg/kubelet/cm/topologymanager/policy_restricted.go
  pkg/kubelet/cm/topologymanager/policy_single_numa_node.go
  pkg/kubelet/cm/topologymanager/numa_info.go pkg/kubelet/cm/topologymanager/topology_manager.go
  @ 24e2b02af5543d7910c2bb074c7264df5a8f0467
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import product
from math import prod
from typing import NamedTuple, TypeVar

from cpuplan.upstream.kubelet.policy_options import TopologyOptions, topology_options
from cpuplan.upstream.kubelet.topologymanager import sets
from cpuplan.upstream.kubelet.topologymanager.sets import HintSets, Masks
from cpuplan.upstream.kubernetes.bits import bits_of, members
from cpuplan.upstream.kubernetes.errors import (
    ENDLESS_COMBINATIONS,
    KubeletError,
    TooManyCombinationsError,
    TooManySetsError,
    out_of_range,
)
from cpuplan.upstream.kubernetes.kube_features import Gates


class TopologyHint(NamedTuple):
    """A mask of NUMA nodes, None for any, and whether a provider can do no better."""

    affinity: int | None
    preferred: bool


#: The hints of a resource, one by one, or of many NUMA nodes as what their masks must fulfil.
Hints = list[TopologyHint] | HintSets
#: For each resource: None for no preference, an empty list for none that fits.
ProviderHints = Mapping[str, Hints | None]

NO_AFFINITY = TopologyHint(None, preferred=False)


NONE, BEST_EFFORT, RESTRICTED, SINGLE = "none", "best-effort", "restricted", "single-numa-node"
POLICIES = (BEST_EFFORT, RESTRICTED, SINGLE)
CONTAINER, POD = "container", "pod"


class NUMAInfo(NamedTuple):
    """The NUMA nodes, also those without CPUs, and their distance rows, read by node id."""

    nodes: tuple[int, ...]
    distances: Mapping[int, Sequence[int]]

    def average_distance(self, mask: int) -> float:
        """The mean over all ordered pairs of nodes.

        PanicError when a row is too short or missing (sparse ids).
        """
        nodes = members(mask)
        total = 0
        for node in nodes:
            row = self.distances.get(node, ())
            for other in nodes:
                if other >= len(row):
                    raise out_of_range(other, len(row))
                total += row[other]
        return total / len(nodes) ** 2

    def is_complete(self) -> bool:
        """Whether no mask over the nodes can make `average_distance` panic."""
        highest = max(self.nodes, default=-1)
        return all(len(self.distances.get(node, ())) > highest for node in self.nodes)


def has_distances(nodes: Sequence[int]) -> bool:
    """Whether rows of distances can be read by the ids of the nodes.

    cAdvisor's rows have a place for each node that is online, whatever its id.
    """
    return list(nodes) == list(range(len(nodes)))


#: Combinations of hints that are looked at one by one: some seconds.
_MOST_COMBINATIONS = 1 << 22
#: More pairs of masks than these take longer than `_met`.
_MANY_PAIRS = 1 << 20
#: Ways to choose a part of the hints of each resource: a second.
_MOST_CHOICES = 1 << 12

Part = TypeVar("Part")


class Policy:
    """A policy of the topology manager on a machine."""

    def __init__(self, name: str, numa: NUMAInfo, options: TopologyOptions) -> None:
        self.name, self.numa = name, numa
        self.all = 0 if name == NONE else bits_of(numa.nodes)
        self._by_distance = options.prefer_closest_numa_nodes and name != SINGLE
        self._can_panic = self._by_distance and not numa.is_complete()
        self._averages: dict[int, float] = {}

    def merge(self, providers: Iterable[ProviderHints | None]) -> TopologyHint:
        """The best hint that combines one hint of each resource."""
        if self.name == NONE:
            return NO_AFFINITY
        given = [hints for provider in providers for hints in _filter_provider(provider)]
        if self.name == SINGLE:
            given = [self._singles(hints) for hints in given]
        self._check_combinations(given)
        lists = [hints for hints in given if isinstance(hints, list)]
        if len(lists) < len(given):
            best = self._best_of_sets(given)
        else:
            best = self._fold(lists) if self._can_panic else self._best(lists)
        if best is None:
            best = TopologyHint(self.all, preferred=False)
        if self.name == SINGLE and best.affinity == self.all:
            return TopologyHint(None, best.preferred)
        return best

    def admits(self, hint: TopologyHint) -> bool:
        return hint.preferred or self.name in (NONE, BEST_EFFORT)

    def _singles(self, hints: Hints) -> list[TopologyHint]:
        """Preferred hints of one node or any (filterSingleNumaHints)."""
        if not isinstance(hints, HintSets):
            return list(filter(_is_single, hints))
        masks = hints.singles(self.numa.nodes) if hints.preferred == 1 else []
        return [TopologyHint(mask, preferred=True) for mask in masks]

    def _check_combinations(self, lists: Sequence[Hints]) -> None:
        """TooManyCombinationsError where the kubelet does not come to an end of them."""
        if len(lists) < 2:  # the sets of one manager end, or were not made
            return
        counts = [_counts(hints) for hints in lists]
        most = prod(most for _, most in counts)
        if most >= ENDLESS_COMBINATIONS:
            least = prod(least for least, _ in counts)
            raise TooManyCombinationsError(max(least, _MOST_COMBINATIONS), len(self.numa.nodes))

    def _best_of_sets(self, lists: Sequence[Hints]) -> TopologyHint | None:
        """The result of `_fold` where hints are not listed."""
        if self._can_panic:
            combinations = prod(least for least, _ in map(_counts, lists))
            raise TooManyCombinationsError(combinations, len(self.numa.nodes))
        preferred = self._preferred_of_sets(lists)
        if preferred:
            return TopologyHint(min(preferred, key=self._fitness), preferred=True)
        order = _order(best_non_preferred_count(lists))
        choices = self._choices([self._parts(hints) for hints in lists])
        for size in sorted(range(1, len(self.numa.nodes) + 1), key=order):
            masks = [mask for parts in choices for mask in self._fittest(parts, size)]
            if masks:
                return TopologyHint(min(masks, key=self._fitness), preferred=False)
        return None

    def _choices(self, lists: Sequence[Sequence[Part]]) -> list[tuple[Part, ...]]:
        """A part of each list, in all ways."""
        choices = prod(map(len, lists))
        if choices > _MOST_CHOICES:
            raise TooManyCombinationsError(choices, len(self.numa.nodes))
        return list(product(*lists))

    def _parts(self, hints: Hints) -> Sequence[Masks]:
        if isinstance(hints, HintSets):
            return hints.parts
        masks = {self.all if hint.affinity is None else hint.affinity for hint in hints}
        return [Masks(mask & self.all, mask & self.all) for mask in sorted(masks)]

    def _preferred_of_sets(self, lists: Sequence[Hints]) -> list[int]:
        """The fittest of the masks that every list prefers, or prefers any node."""
        masks: list[int] = []
        for chosen in self._choices([self._preferred_parts(hints) for hints in lists]):
            sizes = {size for _, size in chosen if size is not None}
            if not sizes:
                masks.append(self.all)
            if len(sizes) == 1:
                common = reduce(Masks.and_also, [part for part, _ in chosen])
                masks += self._fittest((common,), sizes.pop())
        return masks

    def _preferred_parts(self, hints: Hints) -> list[tuple[Masks, int | None]]:
        """Preferred masks and how many nodes these have; None for any node."""
        if isinstance(hints, HintSets):
            return [(part, hints.preferred) for part in hints.parts]
        parts: list[tuple[Masks, int | None]] = []
        for mask in _preferred_affinities(hints):
            if mask is None:
                parts.append((Masks(0, self.all), None))
            else:
                parts.append((Masks(mask & self.all, mask & self.all), mask.bit_count()))
        return parts

    def _fittest(self, parts: Sequence[Masks], size: int) -> Iterator[int]:
        """Intersections of one mask of each part with `size` nodes, among them the fittest."""
        if self._by_distance and size > 1:
            if len(parts) > 1:
                raise TooManySetsError(1 << len(self.numa.nodes), len(self.numa.nodes))
            yield from sets.masks_of(parts[0], size)
            return
        mask = sets.lowest(parts, size)
        if mask:
            yield mask

    def _best(self, lists: Sequence[list[TopologyHint]]) -> TopologyHint | None:
        """The result of `_fold` from the sets of masks alone, in any order of combinations."""
        preferred = self._preferred_masks(lists)
        if preferred:
            return TopologyHint(min(preferred, key=self._fitness), preferred=True)
        merged = {self.all}
        for hints in lists:
            masks = {self.all if hint.affinity is None else hint.affinity for hint in hints}
            merged = self._meet(merged, masks)
        if not merged:
            return None
        order = _order(best_non_preferred_count(lists))
        best = min({mask.bit_count() for mask in merged}, key=order)
        alike = (mask for mask in merged if mask.bit_count() == best)
        return TopologyHint(min(alike, key=self._fitness), preferred=False)

    def _meet(self, masks: set[int], others: set[int]) -> set[int]:
        """The intersections of all pairs, the widest masks first.

        It ends when every mask over the nodes is there.
        """
        if len(masks) * len(others) > _MANY_PAIRS:
            return _met(masks, others, self.numa.nodes)
        met: set[int] = set()
        for mask in sorted(masks, reverse=True):
            met.update([mask & other for other in others])
            met.discard(0)
            if len(met) == (1 << len(self.numa.nodes)) - 1:
                break
        return met

    def _preferred_masks(self, lists: Sequence[Sequence[TopologyHint]]) -> set[int]:
        """Masks that every list prefers, where preferring any node is preferring each."""
        if not lists:
            return {self.all} - {0}
        preferred = list(map(_preferred_affinities, lists))
        common: set[int | None] = set().union(*preferred)
        for masks in preferred:
            if None not in masks:
                common &= masks
        return {self.all if mask is None else mask & self.all for mask in common} - {0}

    def _fitness(self, mask: int) -> tuple[float, ...]:
        """The sort key, smaller is fitter: narrower, then closer together, then lower nodes.

        Distances count with prefer-closest-numa-nodes only.
        """
        if not self._by_distance:
            return mask.bit_count(), mask
        average = self._averages.get(mask)
        if average is None:
            average = self._averages[mask] = self.numa.average_distance(mask)
        return mask.bit_count(), average, mask

    def _fold(self, lists: Sequence[list[TopologyHint]]) -> TopologyHint | None:
        """Compares all combinations in the kubelet's order, to know whether it panics."""
        wanted = best_non_preferred_count(lists)
        best: TopologyHint | None = None
        combinations = prod(map(len, lists))
        if combinations > _MOST_COMBINATIONS:
            raise TooManyCombinationsError(combinations, len(self.numa.nodes))
        for combination in product(*lists):
            candidate = _merge_permutation(self.all, combination)
            if candidate.affinity:
                best = self._compare(best, candidate, wanted)
        return best

    def _compare(
        self, best: TopologyHint | None, candidate: TopologyHint, wanted: int
    ) -> TopologyHint:
        """HintMerger.compare: the better of the best so far and a candidate."""
        if best is None:
            return candidate
        if best.preferred != candidate.preferred:
            return best if best.preferred else candidate
        if best.preferred:
            return self._fitter(best, candidate)
        size, other = (best.affinity or 0).bit_count(), (candidate.affinity or 0).bit_count()
        if size > wanted:
            return self._fitter(best, candidate)
        if size == wanted:
            return self._fitter(best, candidate) if other == wanted else best
        if other > wanted:
            return best
        if other == wanted or other > size:
            return candidate
        return self._fitter(best, candidate) if other == size else best

    def _fitter(self, best: TopologyHint, candidate: TopologyHint) -> TopologyHint:
        mask, other = best.affinity or 0, candidate.affinity or 0
        if mask == other:
            return best
        if mask.bit_count() != other.bit_count():
            return min(best, candidate, key=lambda hint: (hint.affinity or 0).bit_count())
        return candidate if self._fitness(other) < self._fitness(mask) else best


def new_policy(
    name: str,
    numa: NUMAInfo,
    options: Mapping[str, str],
    *,
    scope: str = CONTAINER,
    gates: Gates | None = None,
) -> Policy:
    """The policy of that name (NewManager); KubeletError where the kubelet does not start.

    The policy none looks at nothing else.
    """
    if name == NONE:
        return Policy(name, numa, TopologyOptions())
    chosen = topology_options(options, gates or Gates())
    if chosen.prefer_closest_numa_nodes and not all(
        numa.distances.get(node) for node in numa.nodes
    ):
        raise KubeletError(
            "cannot discover NUMA topology: error getting NUMA distances from cadvisor"
        )
    if len(numa.nodes) > chosen.max_allowable_numa_nodes:
        raise KubeletError(
            f"unsupported on machines with more than {chosen.max_allowable_numa_nodes} NUMA Nodes"
        )
    if name not in POLICIES:
        raise KubeletError(f'unknown policy: "{name}"')
    if scope not in (CONTAINER, POD):
        raise KubeletError(f'unknown scope: "{scope}"')
    return Policy(name, numa, chosen)


def _order(wanted: int) -> Callable[[int], tuple[int, int]]:
    """The sort key of sizes of masks that are not preferred (HintMerger.compare)."""

    def order(size: int) -> tuple[int, int]:
        if size == wanted:
            return 0, 0
        return (1, -size) if size < wanted else (2, size)

    return order


def best_non_preferred_count(lists: Iterable[Hints]) -> int:
    """The widest of the narrowest masks of each list.

    A hint that is not preferred should be as wide.
    """
    return max(map(_narrowest, lists), default=0)


def _narrowest(hints: Hints) -> int:
    if isinstance(hints, HintSets):
        return hints.narrowest
    masks = [hint.affinity for hint in hints if hint.affinity is not None]
    return min(map(int.bit_count, masks), default=0)


def _counts(hints: Hints) -> tuple[int, int]:
    """Between which numbers the number of hints is."""
    return hints.numbers if isinstance(hints, HintSets) else (len(hints), len(hints))


def _filter_provider(provider: ProviderHints | None) -> list[Hints]:
    """A list of hints for each resource; a provider that says nothing takes any node."""
    if not provider:
        return [[TopologyHint(None, preferred=True)]]
    return list(map(_filter_resource, provider.values()))


def _filter_resource(hints: Hints | None) -> Hints:
    if hints is None:
        return [TopologyHint(None, preferred=True)]
    if isinstance(hints, HintSets) and not hints.parts:
        return [TopologyHint(None, preferred=False)]
    return hints or [TopologyHint(None, preferred=False)]


def _preferred_affinities(hints: Iterable[TopologyHint]) -> set[int | None]:
    return {hint.affinity for hint in hints if hint.preferred}


def _is_single(hint: TopologyHint) -> bool:
    return hint.preferred and (hint.affinity is None or hint.affinity.bit_count() == 1)


def _met(masks: Iterable[int], others: Iterable[int], nodes: Sequence[int]) -> set[int]:
    """The intersections of all pairs, without looking at pairs: all subsets of the nodes at once.

    A mask has as many pairs as there are pairs of masks that contain it, less those of larger
    intersections (the zeta transform of both, their product, and the transform back).
    """
    at = {node: index for index, node in enumerate(nodes)}
    size = 1 << len(nodes)
    counts = _supersets(masks, at, size)
    for index, count in enumerate(_supersets(others, at, size)):
        counts[index] *= count
    for bit in map((1).__lshift__, range(len(nodes))):
        for index in range(size):
            if not index & bit:
                counts[index] -= counts[index | bit]
    unions = set()
    for mask in range(1, size):
        if counts[mask]:
            unions.add(bits_of(node for node, index in at.items() if mask >> index & 1))
    return unions


def _supersets(masks: Iterable[int], at: Mapping[int, int], size: int) -> list[int]:
    """For each subset of the nodes, by index, how many of the masks contain it."""
    counts = [0] * size
    for mask in masks:
        counts[bits_of(at[node] for node in members(mask) if node in at)] += 1
    for bit in map((1).__lshift__, range(len(at))):
        for index in range(size):
            if not index & bit:
                counts[index] += counts[index | bit]
    return counts


def _merge_permutation(everything: int, hints: Iterable[TopologyHint]) -> TopologyHint:
    """One hint of each list, merged: preferred if all are, and all name the same nodes."""
    masks, preferred, merged = set(), True, everything
    for hint in hints:
        preferred = preferred and hint.preferred
        if hint.affinity is not None:
            masks.add(hint.affinity)
            merged &= hint.affinity
    return TopologyHint(merged, preferred and len(masks) <= 1)
