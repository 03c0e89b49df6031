"""The kubelet of a PerformanceProfile: the snippet in its annotation, and what overwrites it.

(pkg/performanceprofile/controller/performanceprofile/components/kubeletconfig of the node tuning
operator.)
"""

from collections.abc import Iterator
from typing import Any

from cpuplan.components.openshift.profile_annotations import SNIPPET
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Position
from cpuplan.language.model.words import ALIGNING
from cpuplan.profiles.draft import IntentDraft
from cpuplan.profiles.model import PerformanceProfileSpec
from cpuplan.profiles.snippet import Snippet
from cpuplan.upstream.kubelet.policy_options import DISTRIBUTE_ACROSS_CORES, FULL_PCPUS_ONLY

_FIELD = f"metadata.annotations.{SNIPPET}"
_LEFT_TO_DRIVERS = dict.fromkeys(
    ("cpuManagerPolicy", "memoryManagerPolicy", "topologyManagerPolicy"),
    "DRA drivers give out CPUs and memory",
)


def add(draft: IntentDraft, spec: PerformanceProfileSpec) -> None:
    """Add the fields of the snippet, then those that the operator overwrites."""
    policy = spec.numa.topology_policy if spec.numa else None
    text = draft.annotations.get(SNIPPET)
    if text is not None:
        place = draft.source.value_at(("metadata", "annotations", SNIPPET))
        drivers = bool(draft.spec.get("kubelet", {}).get("dynamicResourceAllocation"))
        overwritten = _LEFT_TO_DRIVERS if drivers else _overwritten(spec)
        fields, problems = Snippet(place, _FIELD, overwritten, not drivers).fields(text)
        draft.diagnostics += problems
        if not drivers:
            draft.diagnostics += _without_reservation(fields, policy, place)
            _add_whole_cores(fields, policy)
        if fields:
            draft.annotate(("kubelet",), {**draft.spec.get("kubelet", {}), **fields}, SNIPPET)
    if policy is not None:
        # An empty policy reaches the KubeletConfiguration as it is, and the kubelet's default is
        # none.
        draft.spec.setdefault("kubelet", {})["topologyManagerPolicy"] = policy or "none"
        draft.places["spec", "kubelet", "topologyManagerPolicy"] = (
            "spec",
            "numa",
            "topologyPolicy",
        )


def _without_reservation(
    fields: dict[str, Any], policy: str | None, place: Position
) -> Iterator[Diagnostic]:
    """CP278: the Static memory manager where the operator writes no reservation.

    The operator writes one by its topology policy alone.
    """
    reserves = policy in ALIGNING and "reservedMemory" not in fields
    static = policy in ALIGNING or fields.get("memoryManagerPolicy") == "Static"
    if static and not reserves and not fields.get("reservedMemory"):
        yield diagnose("CP278", place, field=_FIELD)


def _add_whole_cores(fields: dict[str, Any], policy: str | None) -> None:
    """Add full-pcpus-only to the options, as the operator does, where an Intent would not.

    It does so even with an option that the kubelet refuses next to it.
    """
    options = fields.get("cpuManagerPolicyOptions", {})
    if policy == "single-numa-node" and DISTRIBUTE_ACROSS_CORES in options:
        options.setdefault(FULL_PCPUS_ONLY, "true")


def _overwritten(spec: PerformanceProfileSpec) -> dict[str, str]:
    """Fields of a snippet that the operator overwrites, and why."""
    reasons = {
        "cpuManagerPolicy": "it is always static",
        "cpuManagerReconcilePeriod": "it is always 5s",
        "topologyManagerPolicy": "it comes from spec.numa.topologyPolicy",
        "reservedSystemCPUs": "it comes from spec.cpu.reserved",
    }
    if spec.numa and spec.numa.topology_policy in ALIGNING:
        reasons["memoryManagerPolicy"] = "it is Static with this spec.numa.topologyPolicy"
    return reasons
