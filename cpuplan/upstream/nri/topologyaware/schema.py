"""The Go types of a TopologyAwarePolicy: what its strict decoder takes."""

from cpuplan.upstream.nri.common.schema import COMMON, COMMON_SPEC

_POLICY = {
    "pinCPU": "bool",
    "pinMemory": "bool",
    "preferIsolatedCPUs": "bool",
    "preferSharedCPUs": "bool",
    "colocatePods": "bool",
    "colocateNamespaces": "bool",
    "reservedPoolNamespaces": "[]string",
    "availableResources": "map[string]policy.Amount",
    "reservedResources": "map[string]policy.Amount",
    "defaultCPUPriority": "topologyaware.CPUPriority",
    "unlimitedBurstable": "policy.CPUTopologyLevel",
    "schedulingClasses": "[]SchedulingClass",
    "namespaceSchedulingClasses": "map[string]string",
    "podQoSSchedulingClasses": "map[string]string",
    "cpuClasses": "[]CPUClass",
    "sharedPoolCPUClass": "string",
    "reservedPoolCPUClass": "string",
    "defaultExclusiveCPUClass": "string",
    "controllableInterrupts": "[]string",
}
#: Fields of the embedded struct `Config`.
EMBEDDED = frozenset(_POLICY)
STRUCTS: dict[str, dict[str, str]] = {
    **COMMON,
    "TopologyAwarePolicy": {
        "apiVersion": "string",
        "kind": "string",
        "metadata": "any",
        "spec": "TopologyAwarePolicySpec",
        "status": "any",
    },
    "TopologyAwarePolicySpec": {**_POLICY, **COMMON_SPEC},
}
