"""Labels and annotations that a release of Koordinator reads, and what its proposal called them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpuplan.facts import versions
from cpuplan.facts.versions import Version
from cpuplan.upstream.koordinator.extension import constants, releases
from cpuplan.upstream.koordinator.extension.releases import Span

if TYPE_CHECKING:
    from cpuplan.language.model.intent import Target

PROPOSAL = "proposal"
#: What the proposal has of today's labels and annotations of nodes and NodeResourceTopologies.
_IN_PROPOSAL = frozenset(
    {
        constants.CPU_BIND_POLICY,
        constants.NUMA_ALLOCATE_STRATEGY,
        constants.NUMA_TOPOLOGY_POLICY,
        constants.CPU_MANAGER_POLICY,
        constants.CPU_TOPOLOGY,
        constants.CPU_SHARED_POOLS,
        constants.POD_CPU_ALLOCS,
    }
)
_TODAY_TO_PROPOSED = {today: proposed for proposed, today in releases.PROPOSED.items()}


def release(target: Target) -> Version | None:
    """The release of Koordinator; None for its proposal."""
    return None if target.koordinator == PROPOSAL else versions.from_text(target.koordinator)


def reads(target: Target, span: Span) -> bool:
    """Whether the release reads what came within `span`; the proposal has nothing of a release."""
    version = release(target)
    return version is not None and span.has(version)


def knows(target: Target, key: str) -> bool:
    """Whether the release has a label or an annotation of nodes."""
    if release(target) is None:
        return key in _IN_PROPOSAL
    return reads(target, releases.NODE_NAMES[key])


def name(target: Target, key: str) -> str:
    """What a label is called there."""
    return _TODAY_TO_PROPOSED.get(key, key) if release(target) is None else key
