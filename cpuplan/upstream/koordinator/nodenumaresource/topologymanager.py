"""Merging hints for NUMA nodes by policy.

Upstream: koordinator-sh/koordinator pkg/scheduler/frameworkext/topologymanager/policy.go
  pkg/scheduler/frameworkext/topologymanager/policy_best_effort.go
  pkg/scheduler/frameworkext/topologymanager/policy_restricted.go
  pkg/scheduler/frameworkext/topologymanager/policy_single_numa_node.go
  @ 989ca85c62abcca92b303aa12fd2ccff2ed30fed
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import NamedTuple

from cpuplan.upstream.koordinator.extension.numa_aware import (
    BEST_EFFORT,
    REQUIRED,
    RESTRICTED,
    SINGLE_NUMA_NODE,
)
from cpuplan.upstream.koordinator.nodenumaresource.node_allocation import SHARED, SINGLE
from cpuplan.upstream.kubernetes.bits import bits_of, members, narrower
from cpuplan.upstream.kubernetes.errors import (
    NIL_DEREFERENCE,
    PanicError,
    TooManySetsError,
    out_of_range,
)

#: Combinations of hints that are looked at: some seconds.
_MOST_COMBINATIONS = 1 << 20


class Hint(NamedTuple):
    """A mask of NUMA nodes, None for any; of equal masks the one with the higher score counts."""

    affinity: int | None = None
    is_preferred: bool = False
    score: int = 0
    is_unsatisfied: bool = False


#: By resource: None for no preference, an empty list for none that fits.
ProviderHints = Mapping[str, Sequence[Hint] | None]


class Verdict(NamedTuple):
    """The hint that was chosen, and why a pod is refused."""

    hint: Hint
    is_admitted: bool
    reasons: tuple[str, ...] = ()


class Nodes(NamedTuple):
    """The NUMA nodes of a machine, and how the pod may share them (GetAllNUMANodeStatus).

    The statuses belong to NUMA nodes 0, 1, ..., whatever the nodes are called.
    """

    nodes: Sequence[int]
    statuses: Sequence[str] = ()
    exclusive: str = ""

    @property
    def mask(self) -> int:
        return bits_of(node for node in self.nodes if 0 <= node < 64)

    def may_use(self, affinity: int) -> bool:
        """Whether pods of one NUMA node and of several stay apart, where that is required."""
        if self.exclusive != REQUIRED:
            return True
        wanted = members(affinity)
        if len(wanted) > 1:
            return all(self._status(node) != SINGLE for node in wanted)
        return self._status(wanted[0]) != SHARED

    def _status(self, node: int) -> str:
        if node >= len(self.statuses):
            raise out_of_range(node, len(self.statuses))
        return self.statuses[node]


def merge(policy: str, nodes: Nodes, providers: Iterable[ProviderHints]) -> Verdict:
    """The hint that a policy makes of those of all providers.

    PanicError for a policy that there is not (a label that the scheduler does not check), and for
    NUMA nodes that are not numbered 0, 1, ....
    """
    hints, reasons, summary = _filtered(providers)
    if policy == BEST_EFFORT:
        best = _best(nodes, hints)
        return Verdict(Hint(nodes.mask) if best.is_unsatisfied else best, is_admitted=True)
    if policy == RESTRICTED:
        if reasons:
            return Verdict(Hint(nodes.mask), is_admitted=False, reasons=reasons)
        return _strict(_best(nodes, hints), " & ".join(summary))
    if policy == SINGLE_NUMA_NODE:
        if reasons:
            return Verdict(Hint(), is_admitted=False, reasons=reasons)
        best = _best(nodes, [list(filter(_is_single, group)) for group in hints])
        if best.affinity == nodes.mask:
            best = Hint(is_preferred=best.is_preferred)
        return _strict(best, ",".join(summary))
    raise PanicError(NIL_DEREFERENCE)


def _strict(best: Hint, summary: str) -> Verdict:
    if best.is_preferred:
        return Verdict(best, is_admitted=True)
    return Verdict(best, is_admitted=False, reasons=(f"Unaligned NUMA Hint cause {summary}",))


def _is_single(hint: Hint) -> bool:
    return hint.is_preferred and (hint.affinity is None or hint.affinity.bit_count() == 1)


def _filtered(
    providers: Iterable[ProviderHints],
) -> tuple[list[Sequence[Hint]], tuple[str, ...], list[str]]:
    """(hints of each resource, reasons of those without any, summaries of the others)."""
    hints: list[Sequence[Hint]] = []
    reasons, summary = [], []
    for provider in providers:
        if not provider:
            hints.append([Hint(is_preferred=True)])
        for resource, given in provider.items():
            if given is None:
                hints.append([Hint(is_preferred=True)])
            elif given:
                hints.append(given)
                summary.append(_summary(resource, given))
            else:
                hints.append([Hint(is_unsatisfied=True)])
                reasons.append(f"Unsatisfied NUMA {resource}")
    return hints, tuple(sorted(reasons)), sorted(summary)


def _summary(resource: str, hints: Sequence[Hint]) -> str:
    possible = [hint for hint in hints if not hint.is_unsatisfied]
    preferred = " ".join(_mask_text(hint.affinity) for hint in possible if hint.is_preferred)
    among = " ".join(_mask_text(hint.affinity) for hint in possible)
    return f"{resource} prefer [{preferred}] among [{among}]"


def _mask_text(mask: int | None) -> str:
    """Binary digits in pairs, but for a power of 4, which has one digit more (BitMask.String)."""
    if mask is None:
        return "<nil>"
    width = next((shift + 2 for shift in range(62, 0, -2) if mask > 1 << shift), 2)
    return f"{mask:0{width}b}"


def _best(nodes: Nodes, hints: Sequence[Sequence[Hint]]) -> Hint:
    """The best of all combinations: preferred before others, then narrower, then higher scores."""
    best = Hint(nodes.mask)
    for merged in _merged(nodes, hints):
        if merged.is_preferred != best.is_preferred:
            best = merged if merged.is_preferred else best
        elif _is_better(merged, best):
            best = merged
    return best


def _is_better(hint: Hint, best: Hint) -> bool:
    """Of equally wide masks the lower number counts, but a higher score also for a higher one."""
    mask, other = hint.affinity or 0, best.affinity or 0
    same = mask.bit_count() == other.bit_count()
    return narrower(mask, other) or (same and hint.score > best.score)


def _merged(nodes: Nodes, hints: Sequence[Sequence[Hint]]) -> Iterator[Hint]:
    """A hint for each combination whose masks have a NUMA node in common (mergePermutation).

    It is preferred if all are and have the same mask, and if the pod may share the NUMA nodes.
    """
    everywhere = nodes.mask
    combinations = prod(map(len, hints))
    if combinations > _MOST_COMBINATIONS:
        raise TooManySetsError(combinations, everywhere.bit_count())
    for combination in product(*hints):
        masks = [hint.affinity for hint in combination if hint.affinity is not None]
        affinity = everywhere
        for mask in masks:
            affinity &= mask
        if not affinity:
            continue
        is_preferred = all(hint.is_preferred for hint in combination) and len(set(masks)) < 2
        yield Hint(
            affinity,
            is_preferred=nodes.may_use(affinity) and is_preferred,
            score=sum(hint.score for hint in combination if hint.affinity == affinity),
            is_unsatisfied=any(hint.is_unsatisfied for hint in combination)
            or affinity.bit_count() != max(map(int.bit_count, masks), default=affinity.bit_count()),
        )
