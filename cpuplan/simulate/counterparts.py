"""A planned node under the kubelet alone and under Koordinator, each as near to the other as it is.

What has no counterpart is left as it is by default.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from cpuplan.simulate.koordinator.inputs import Inputs
from cpuplan.simulate.planned import Planned
from cpuplan.upstream.koordinator.extension.constants import (
    CPU_BIND_POLICY,
    NUMA_TOPOLOGY_POLICY,
    RESERVATION,
)
from cpuplan.upstream.koordinator.extension.node import RESERVED_CPUS_ONLY
from cpuplan.upstream.koordinator.extension.numa_aware import (
    BEST_EFFORT,
    FULL_PCPUS_ONLY,
    FULL_PCPUS_OPTION,
    RESTRICTED,
    SINGLE_NUMA_NODE,
    STATIC,
)
from cpuplan.upstream.koordinator.util import dump
from cpuplan.upstream.kubelet.topologymanager import policy

_NUMA_POLICIES = MappingProxyType(
    {
        policy.BEST_EFFORT: BEST_EFFORT,
        policy.RESTRICTED: RESTRICTED,
        policy.SINGLE: SINGLE_NUMA_NODE,
    }
)
#: What else of the configuration only makes sense with the managers' policies.
_MANAGED = ("cpuManagerPolicyOptions", "topologyManagerPolicyOptions", "topologyManagerPolicy")


def under_koordinator(facts: Planned) -> Planned:
    """The node with Koordinator, and the kubelet's CPU manager off, as koordlet wants it."""
    if facts.koordinator:
        return facts
    config, labels = facts.config, {}
    if (config.get("cpuManagerPolicyOptions") or {}).get(FULL_PCPUS_OPTION) == "true":
        labels[CPU_BIND_POLICY] = FULL_PCPUS_ONLY
    if aligned := _NUMA_POLICIES.get(config.get("topologyManagerPolicy", "")):
        labels[NUMA_TOPOLOGY_POLICY] = aligned
    annotations = {}
    if reserved := config.get("reservedSystemCPUs"):
        value = {"reservedCPUs": reserved, "applyPolicy": RESERVED_CPUS_ONLY}
        annotations[RESERVATION] = dump(value)
    bare = {key: value for key, value in config.items() if key not in _MANAGED}
    return facts._replace(
        config={**bare, "cpuManagerPolicy": "none"},
        balloons=None,
        dra=None,
        pools=None,
        koordinator=Inputs(labels, annotations),
    )


def under_kubelet(facts: Planned) -> Planned:
    """The node without Koordinator, with the static policy and options that match its labels."""
    if not facts.koordinator:
        return facts
    labels = facts.koordinator.labels
    config: dict[str, Any] = {**facts.config, "cpuManagerPolicy": STATIC}
    if labels.get(CPU_BIND_POLICY) == FULL_PCPUS_ONLY:
        config["cpuManagerPolicyOptions"] = {FULL_PCPUS_OPTION: "true"}
    wanted = labels.get(NUMA_TOPOLOGY_POLICY, "")
    if wanted:
        config["topologyManagerPolicy"] = _kubelet_name(wanted)
        config["topologyManagerScope"] = "pod"
    return facts._replace(config=config, koordinator=None)


def _kubelet_name(wanted: str) -> str:
    names: Mapping[str, str] = {theirs: own for own, theirs in _NUMA_POLICIES.items()}
    return names.get(wanted, policy.NONE)
