"""Annotations of pods and of NodeResourceTopologies about CPUs and NUMA nodes.

Upstream: koordinator-sh/koordinator apis/extension/numa_aware.go
  apis/extension/cpu_normalization.go @ 989ca85c62abcca92b303aa12fd2ccff2ed30fed
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from cpuplan.upstream.koordinator.extension.constants import (
    BE_CPU_SHARED_POOLS,
    CPU_BASIC_INFO,
    CPU_BIND_POLICY,
    CPU_MANAGER_POLICY,
    CPU_SHARED_POOLS,
    CPU_TOPOLOGY,
    NUMA_TOPOLOGY_SPEC,
    POD_CPU_ALLOCS,
    RESOURCE_SPEC,
    RESOURCE_STATUS,
)
from cpuplan.upstream.koordinator.util import (
    RESOURCE_LIST,
    Annotations,
    Json,
    kept,
    parse_cpus,
    texts_of,
)
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.json import STRING, Type, map_of, slice_of
from cpuplan.upstream.kubernetes.pod import Resources
from cpuplan.upstream.kubernetes.unmarshal import BOOL, INT32, struct, unmarshal

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


#: Bind policies of nodes.
NODE_NONE, FULL_PCPUS_ONLY, NODE_SPREAD_BY_PCPUS = "None", "FullPCPUsOnly", "SpreadByPCPUs"
STATIC = "static"
FULL_PCPUS_OPTION = "full-pcpus-only"

_CPU = struct("extension.CPUInfo", id=INT32, core=INT32, socket=INT32, node=INT32)
_TOPOLOGY = struct("extension.CPUTopology", detail=slice_of(_CPU))
_POOLS = slice_of(struct("extension.CPUSharedPool", socket=INT32, node=INT32, cpuset=STRING))
_ALLOC = struct(
    "extension.PodCPUAlloc",
    namespace=STRING,
    name=STRING,
    uid=Type("types.UID", "string"),
    cpuset=STRING,
    managedByKubelet=BOOL,
)
_ALLOCS = slice_of(_ALLOC)._replace(go_type="extension.PodCPUAllocs")
_MANAGER = struct(
    "extension.KubeletCPUManagerPolicy",
    policy=STRING,
    options=map_of(STRING),
    reservedCPUs=STRING,
)
_BASIC_INFO = struct(
    "extension.CPUBasicInfo",
    cpuModel=STRING,
    hyperThreadEnabled=BOOL,
    turboEnabled=BOOL,
    catL3CbmMask=STRING,
    vendorID=STRING,
)


class CpuInfo(NamedTuple):
    """A CPU, its core, its socket and its NUMA node."""

    id: int
    core: int
    socket: int
    node: int


class SharedPool(NamedTuple):
    """The CPUs of a pool in one NUMA node."""

    socket: int
    node: int
    cpuset: str = ""

    def as_json(self) -> Json:
        return {"socket": self.socket, "node": self.node, **kept(cpuset=self.cpuset)}


class PodCpuAlloc(NamedTuple):
    """CPUs that the kubelet bound."""

    namespace: str = ""
    name: str = ""
    uid: str = ""
    cpuset: str = ""
    managed_by_kubelet: bool = False

    def as_json(self) -> Json:
        managed = {"managedByKubelet": True} if self.managed_by_kubelet else {}
        texts = kept(namespace=self.namespace, name=self.name, uid=self.uid, cpuset=self.cpuset)
        return {**texts, **managed}


class CpuManagerPolicy(NamedTuple):
    """The kubelet's CPU manager, as koordlet found it."""

    policy: str = ""
    options: tuple[tuple[str, str], ...] = ()
    reserved_cpus: str = ""

    def as_json(self) -> Json:
        return kept(policy=self.policy, options=dict(self.options), reservedCPUs=self.reserved_cpus)


def _value(annotations: Annotations, key: str, shape: Type, absent: Any) -> Any:
    return unmarshal(annotations[key], shape) if key in annotations else absent


def read_cpu_topology(annotations: Annotations) -> tuple[CpuInfo, ...]:
    """GetCPUTopology; numbers that are missing are 0. KubeletError with its text."""
    fields = _value(annotations, CPU_TOPOLOGY, _TOPOLOGY, {})
    return tuple(
        CpuInfo(cpu.get("id", 0), cpu.get("core", 0), cpu.get("socket", 0), cpu.get("node", 0))
        for cpu in fields.get("detail", ())
    )


def read_shared_pools(annotations: Annotations, *, best_effort: bool) -> list[SharedPool] | None:
    """GetNodeCPUSharePools and GetNodeBECPUSharePools; KubeletError with their text."""
    key = BE_CPU_SHARED_POOLS if best_effort else CPU_SHARED_POOLS
    pools = _value(annotations, key, _POOLS, None)
    if pools is None:
        return None
    return [
        SharedPool(pool.get("socket", 0), pool.get("node", 0), pool.get("cpuset", ""))
        for pool in pools
    ]


def read_pod_cpu_allocs(annotations: Annotations) -> list[PodCpuAlloc] | None:
    """GetPodCPUAllocs; KubeletError with its text."""
    allocs = _value(annotations, POD_CPU_ALLOCS, _ALLOCS, None)
    if allocs is None:
        return None
    return [
        PodCpuAlloc(
            alloc.get("namespace", ""),
            alloc.get("name", ""),
            alloc.get("uid", ""),
            alloc.get("cpuset", ""),
            alloc.get("managedByKubelet", False),
        )
        for alloc in allocs
    ]


def kubelet_bound(allocs: Iterable[PodCpuAlloc]) -> int:
    """The CPUs that count as the kubelet's: of entries that say so, with a UID and a good list."""
    bits = 0
    for alloc in allocs:
        if alloc.managed_by_kubelet and alloc.uid and alloc.cpuset:
            try:
                bits |= parse_cpus(alloc.cpuset)
            except KubeletError:
                continue
    return bits


def read_cpu_manager_policy(annotations: Annotations) -> CpuManagerPolicy:
    """GetKubeletCPUManagerPolicy; KubeletError with its text."""
    fields = _value(annotations, CPU_MANAGER_POLICY, _MANAGER, {})
    options = fields.get("options") or {}
    return CpuManagerPolicy(
        fields.get("policy", ""),
        tuple((name, options[name]) for name in sorted(options)),
        fields.get("reservedCPUs", ""),
    )


def node_bind_policy(labels: Annotations, kubelet: CpuManagerPolicy) -> str:
    """GetNodeCPUBindPolicy: a label or the kubelet's option asks for full cores."""
    label = labels.get(CPU_BIND_POLICY, "")
    option = dict(kubelet.options).get(FULL_PCPUS_OPTION)
    if label == FULL_PCPUS_ONLY or (kubelet.policy == STATIC and option == "true"):
        return FULL_PCPUS_ONLY
    return NODE_SPREAD_BY_PCPUS if label == NODE_SPREAD_BY_PCPUS else NODE_NONE


def read_cpu_basic_info(annotations: Annotations) -> Json | None:
    """GetCPUBasicInfo, as JSON without what is empty; KubeletError with its text."""
    if CPU_BASIC_INFO not in annotations:
        return None
    try:
        fields = unmarshal(annotations[CPU_BASIC_INFO], _BASIC_INFO)
    except KubeletError as error:
        raise KubeletError(f"unmarshal cpu basic info failed, err: {error}") from None
    return {name: fields[name] for name in _BASIC_INFO.fields or () if fields.get(name)}
