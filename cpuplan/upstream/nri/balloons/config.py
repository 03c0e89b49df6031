"""A BalloonsPolicy's configuration, and the Go types that its strict decoder takes.

Upstream: containers/nri-plugins pkg/apis/config/v1alpha1/resmgr/policy/balloons/config.go
  pkg/apis/config/v1alpha1/balloons-policy.go @ 83d986e963ad28ca31790102af6d509c7b7e7d45
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from cpuplan.upstream.nri import cpuallocator
from cpuplan.upstream.nri.config import COMMON, COMMON_SPEC, Json
from cpuplan.upstream.nri.cpuallocator import NONE
from cpuplan.upstream.nri.expressions import Expression


class LoadClass(NamedTuple):
    """A load on caches or cores; `own` if it disturbs the balloon that makes it too."""

    name: str
    level: str
    own: bool

    @property
    def device(self) -> str:
        """The name that hints have for the CPUs under such loads."""
        return f"loaded-{self.level}"


@dataclass(slots=True)
class BalloonType:
    """A type of balloons; 0 as a maximum is no limit."""

    name: str
    components: list[str] = field(default_factory=list)
    creation: str = ""
    namespaces: list[str] | None = None
    group_by: str = ""
    expressions: list[Expression] = field(default_factory=list)
    max_cpus: int = 0
    min_cpus: int = 0
    max_balloons: int = 0
    min_balloons: int = 0
    memory_types: list[str] = field(default_factory=list)
    pin_memory: bool | None = None
    priority: int = NONE
    spread: bool | None = None
    hide_hyperthreads: bool = False
    balancing: bool | None = None
    cpu_class: str = ""
    loads: list[str] = field(default_factory=list)
    spreading_pods: bool = False
    per_namespace: bool = False
    new_balloons: bool = False
    share_idle: str = ""
    close_to: list[str] = field(default_factory=list)
    far_from: list[str] = field(default_factory=list)
    isolated: bool = False
    core_type: str = ""
    scheduling_class: str = ""


@dataclass(slots=True)
class Config:
    """The fields that the policy acts on or refuses; amounts and CPU classes as written."""

    types: list[BalloonType]
    available: str | None
    reserved: str | None
    reserved_namespaces: list[str] | None
    pin_cpu: bool
    pin_memory: bool
    balancing: bool
    spread: bool
    preserve: list[Expression]
    loads: list[LoadClass]
    scheduling_classes: list[str]
    cpu_classes: list[Json]
    turbo_domain: str
    interrupts: list[str]


def read_config(spec: Json) -> Config:
    """The configuration of a decoded spec."""
    preserve = (spec.get("preserve") or {}).get("matchExpressions") or []
    loads = spec.get("loadClasses") or []
    return Config(
        [_balloon_type(given or {}) for given in spec.get("balloonTypes") or ()],
        (spec.get("availableResources") or {}).get("cpu"),
        (spec.get("reservedResources") or {}).get("cpu"),
        spec.get("reservedPoolNamespaces"),
        spec.get("pinCPU", True),
        spec.get("pinMemory", True),
        spec.get("allocatorTopologyBalancing", False),
        spec.get("preferSpreadOnPhysicalCores", False),
        [_expression(given) for given in preserve],
        [_load_class(given) for given in loads],
        [given.get("name", "") for given in spec.get("schedulingClasses") or ()],
        spec.get("cpuClasses") or [],
        spec.get("turboDomain", ""),
        spec.get("controllableInterrupts") or [],
    )


def _balloon_type(given: Json) -> BalloonType:
    return BalloonType(
        given.get("name", ""),
        [part.get("balloonType", "") for part in given.get("components") or ()],
        given.get("componentCreation", ""),
        given.get("namespaces"),
        given.get("groupBy", ""),
        [_expression(match) for match in given.get("matchExpressions") or ()],
        given.get("maxCPUs", 0),
        given.get("minCPUs", 0),
        given.get("maxBalloons", 0),
        given.get("minBalloons", 0),
        given.get("memoryTypes") or [],
        given.get("pinMemory"),
        _priority(given.get("allocatorPriority", "")),
        given.get("preferSpreadOnPhysicalCores"),
        given.get("hideHyperthreads", False),
        given.get("allocatorTopologyBalancing"),
        given.get("cpuClass", ""),
        given.get("loads") or [],
        given.get("preferSpreadingPods", False),
        given.get("preferPerNamespaceBalloon", False),
        given.get("preferNewBalloons", False),
        given.get("shareIdleCPUsInSame", ""),
        list(given.get("preferCloseToDevices") or ()),
        [],
        given.get("preferIsolCpus", False),
        given.get("preferCoreType", ""),
        given.get("schedulingClass", ""),
    )


def _priority(name: str) -> int:
    """The number of a priority; an unknown name is no priority."""
    known = cpuallocator.PRIORITY_NAMES
    return known.index(name.lower()) if name.lower() in known else NONE


def _expression(given: Json) -> Expression:
    values = tuple(given.get("values") or ())
    return Expression(given.get("key", ""), given.get("operator", ""), values)


def _load_class(given: Json) -> LoadClass:
    own = given.get("overloadsLevelInBalloon", False)
    return LoadClass(given.get("name", ""), given.get("level", ""), own)


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
