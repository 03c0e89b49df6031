"""The Go types of a BalloonsPolicy: what its strict decoder takes."""

from cpuplan.upstream.nri.common.schema import COMMON, COMMON_SPEC

_EXPRESSION = {"key": "string", "operator": "resmgr.Operator", "values": "[]string"}
_POLICY = {
    "pinCPU": "bool",
    "pinMemory": "bool",
    "idleCPUClass": "string",
    "reservedPoolNamespaces": "[]string",
    "allocatorTopologyBalancing": "bool",
    "preferSpreadOnPhysicalCores": "bool",
    "balloonTypes": "[]BalloonDef",
    "availableResources": "map[string]policy.Amount",
    "reservedResources": "map[string]policy.Amount",
    "preserve": "ContainerMatchConfig",
    "showContainersInNrt": "bool",
    "loadClasses": "[]LoadClass",
    "schedulingClasses": "[]SchedulingClass",
    "cpuClasses": "[]CPUClass",
    "turboDomain": "string",
    "controllableInterrupts": "[]string",
}
#: Fields of the embedded struct `Config`.
EMBEDDED = frozenset(_POLICY)
STRUCTS: dict[str, dict[str, str]] = {
    **COMMON,
    "BalloonsPolicy": {
        "apiVersion": "string",
        "kind": "string",
        "metadata": "any",
        "spec": "BalloonsPolicySpec",
        "status": "any",
    },
    "BalloonsPolicySpec": {
        **_POLICY,
        **COMMON_SPEC,
    },
    "BalloonDef": {
        "name": "string",
        "components": "[]BalloonDefComponent",
        "componentCreation": "policy.ComponentCreationStrategy",
        "namespaces": "[]string",
        "groupBy": "string",
        "matchExpressions": "[]Expression",
        "maxCPUs": "int",
        "minCPUs": "int",
        "memoryTypes": "[]string",
        "pinMemory": "bool",
        "allocatorPriority": "balloons.CPUPriority",
        "preferSpreadOnPhysicalCores": "bool",
        "hideHyperthreads": "bool",
        "allocatorTopologyBalancing": "bool",
        "cpuClass": "string",
        "loads": "[]string",
        "minBalloons": "int",
        "maxBalloons": "int",
        "preferSpreadingPods": "bool",
        "preferPerNamespaceBalloon": "bool",
        "preferNewBalloons": "bool",
        "shareIdleCPUsInSame": "policy.CPUTopologyLevel",
        "preferCloseToDevices": "[]string",
        "preferIsolCpus": "bool",
        "preferCoreType": "string",
        "schedulingClass": "string",
        "showContainersInNrt": "bool",
        "irqClaim": "[]string",
        "irqMode": "string",
    },
    "BalloonDefComponent": {"balloonType": "string"},
    "ContainerMatchConfig": {"matchExpressions": "[]Expression"},
    "Expression": _EXPRESSION,
    "LoadClass": {
        "name": "string",
        "level": "policy.CPUTopologyLevel",
        "overloadsLevelInBalloon": "bool",
    },
}
