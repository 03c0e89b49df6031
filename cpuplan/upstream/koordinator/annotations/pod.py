"""Annotations of pods (apis/extension/numa_aware.go)."""

from typing import Any, NamedTuple

from cpuplan.upstream.koordinator.annotations.values import (
    RESOURCE_LIST,
    Annotations,
    Json,
    kept,
    texts_of,
)
from cpuplan.upstream.koordinator.keys import NUMA_TOPOLOGY_SPEC, RESOURCE_SPEC, RESOURCE_STATUS
from cpuplan.upstream.kubelet.go.unmarshal import INT32, STRING, Type, slice_of, struct, unmarshal
from cpuplan.upstream.kubelet.pods.pod import Resources

#: Bind policies. Nothing checks the values: others are read too, and bind nothing.
DEFAULT, FULL_PCPUS, SPREAD_BY_PCPUS = "Default", "FullPCPUs", "SpreadByPCPUs"
CONSTRAINED_BURST = "ConstrainedBurst"
#: Exclusive policies.
NONE, PCPU_LEVEL, NUMA_NODE_LEVEL = "None", "PCPULevel", "NUMANodeLevel"
#: NUMA policies; empty for none.
BEST_EFFORT, RESTRICTED, SINGLE_NUMA_NODE = "BestEffort", "Restricted", "SingleNUMANode"
#: How a pod of one NUMA node and a pod of several share.
PREFERRED, REQUIRED = "Preferred", "Required"

_NAMED = Type("extension.", "string")
_SPEC = struct(
    "extension.ResourceSpec",
    requiredCPUBindPolicy=_NAMED._replace(go_type="extension.CPUBindPolicy"),
    preferredCPUBindPolicy=_NAMED._replace(go_type="extension.CPUBindPolicy"),
    preferredCPUExclusivePolicy=_NAMED._replace(go_type="extension.CPUExclusivePolicy"),
)
_NUMA_NODE = struct("extension.NUMANodeResource", node=INT32, resources=RESOURCE_LIST)
_STATUS = struct("extension.ResourceStatus", cpuset=STRING, numaNodeResources=slice_of(_NUMA_NODE))
_NUMA_SPEC = struct(
    "extension.NUMATopologySpec",
    numaTopologyPolicy=_NAMED._replace(go_type="extension.NUMATopologyPolicy"),
    singleNUMANodeExclusive=_NAMED._replace(go_type="extension.NumaTopologyExclusive"),
)


class ResourceSpec(NamedTuple):
    """How a pod wants its CPUs bound."""

    required_bind_policy: str = ""
    preferred_bind_policy: str = ""
    preferred_exclusive_policy: str = ""

    def as_json(self) -> Json:
        return kept(
            requiredCPUBindPolicy=self.required_bind_policy,
            preferredCPUBindPolicy=self.preferred_bind_policy,
            preferredCPUExclusivePolicy=self.preferred_exclusive_policy,
        )


class NumaNodeResource(NamedTuple):
    """What a pod has of one NUMA node."""

    node: int
    resources: Resources

    def as_json(self) -> Json:
        return {"node": self.node, **kept(resources=texts_of(self.resources))}


class ResourceStatus(NamedTuple):
    """What the scheduler gave to a pod: CPUs as a list, and NUMA nodes."""

    cpuset: str = ""
    numa_nodes: tuple[NumaNodeResource, ...] = ()

    def as_json(self) -> Json:
        nodes = [node.as_json() for node in self.numa_nodes]
        return kept(cpuset=self.cpuset, numaNodeResources=nodes)


class NumaTopologySpec(NamedTuple):
    """The NUMA policy that a pod asks for."""

    policy: str = ""
    single_node_exclusive: str = ""

    def as_json(self) -> Json:
        return kept(
            numaTopologyPolicy=self.policy, singleNUMANodeExclusive=self.single_node_exclusive
        )


def _fields(annotations: Annotations, key: str, shape: Type) -> Any:
    return unmarshal(annotations[key], shape) if key in annotations else {}


def read_resource_spec(annotations: Annotations) -> ResourceSpec:
    """GetResourceSpec; KubeletError with its text."""
    fields = _fields(annotations, RESOURCE_SPEC, _SPEC)
    return ResourceSpec(
        fields.get("requiredCPUBindPolicy", ""),
        fields.get("preferredCPUBindPolicy", ""),
        fields.get("preferredCPUExclusivePolicy", ""),
    )


def read_resource_status(annotations: Annotations) -> ResourceStatus:
    """GetResourceStatus; KubeletError with its text."""
    fields = _fields(annotations, RESOURCE_STATUS, _STATUS)
    nodes = (
        NumaNodeResource(node.get("node", 0), node.get("resources") or {})
        for node in fields.get("numaNodeResources", ())
    )
    return ResourceStatus(fields.get("cpuset", ""), tuple(nodes))


def read_numa_topology_spec(annotations: Annotations) -> NumaTopologySpec:
    """GetNUMATopologySpec; KubeletError with its text."""
    fields = _fields(annotations, NUMA_TOPOLOGY_SPEC, _NUMA_SPEC)
    return NumaTopologySpec(
        fields.get("numaTopologyPolicy", ""), fields.get("singleNUMANodeExclusive", "")
    )
