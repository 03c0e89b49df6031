"""Annotations of NodeResourceTopologies: what koordlet tells the scheduler about a node."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from cpuplan.upstream.koordinator.annotations.values import Annotations, Json, kept
from cpuplan.upstream.koordinator.cpulists import parse_cpus
from cpuplan.upstream.koordinator.keys import (
    BE_CPU_SHARED_POOLS,
    CPU_BASIC_INFO,
    CPU_BIND_POLICY,
    CPU_MANAGER_POLICY,
    CPU_SHARED_POOLS,
    CPU_TOPOLOGY,
    POD_CPU_ALLOCS,
)
from cpuplan.upstream.kubelet.errors import KubeletError
from cpuplan.upstream.kubelet.go.unmarshal import (
    BOOL,
    INT32,
    STRING,
    Type,
    map_of,
    slice_of,
    struct,
    unmarshal,
)

#: Bind policies of nodes.
NONE, FULL_PCPUS_ONLY, SPREAD_BY_PCPUS = "None", "FullPCPUsOnly", "SpreadByPCPUs"
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
    return SPREAD_BY_PCPUS if label == SPREAD_BY_PCPUS else NONE


def read_cpu_basic_info(annotations: Annotations) -> Json | None:
    """GetCPUBasicInfo, as JSON without what is empty; KubeletError with its text."""
    if CPU_BASIC_INFO not in annotations:
        return None
    try:
        fields = unmarshal(annotations[CPU_BASIC_INFO], _BASIC_INFO)
    except KubeletError as error:
        raise KubeletError(f"unmarshal cpu basic info failed, err: {error}") from None
    return {name: fields[name] for name in _BASIC_INFO.fields or () if fields.get(name)}
