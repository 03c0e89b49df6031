"""A TopologyAwarePolicy's configuration: decoding, and what is refused before the policy has it.

Upstream: containers/nri-plugins pkg/apis/config/v1alpha1/resmgr/policy/topologyaware/config.go
  pkg/apis/config/v1alpha1/topology-aware-policy.go @ 83d986e963ad28ca31790102af6d509c7b7e7d45
"""

from dataclasses import dataclass
from typing import Any

from cpuplan.upstream.kubernetes.strconv import quote
from cpuplan.upstream.nri import cpuallocator, cpuclass
from cpuplan.upstream.nri.api import NriError
from cpuplan.upstream.nri.config import COMMON, COMMON_SPEC, Decoder, Json
from cpuplan.upstream.nri.cpuallocator import NONE
from cpuplan.upstream.nri.expressions import compiled_pattern

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


_DECODER = Decoder("TopologyAwarePolicy", STRUCTS, EMBEDDED)
_QOS_CLASSES = {"besteffort", "burstable", "guaranteed"}


@dataclass(slots=True)
class Config:
    """The fields that the policy acts on or refuses; amounts as written.

    `prefer_isolated` and `prefer_shared` are None where nothing is configured.
    """

    available: Json
    reserved: Json
    pin_cpu: bool
    pin_memory: bool
    prefer_isolated: bool | None
    prefer_shared: bool | None
    colocate_pods: bool
    colocate_namespaces: bool
    reserved_namespaces: list[str]
    priority: int
    unlimited_burstable: str
    cpu_classes: list[str]
    exclusive_class: str


def decode(text: str) -> Config:
    """The configuration of a file; NriError with the program's text."""
    return _validated(_DECODER.text(text))


def decode_object(data: Any) -> Config:
    """The configuration of an object; NriError with the program's text."""
    return _validated(_DECODER.object(data))


def _validated(spec: Json) -> Config:
    errors = [*_scheduling_errors(spec), *_class_errors(spec)]
    for pattern in spec.get("controllableInterrupts") or ():
        if compiled_pattern(pattern) is None:
            errors.append(
                f"invalid controllable interrupts: invalid globbing pattern {quote(pattern)}: "
                "syntax error in pattern"
            )
            break
    if errors:
        raise NriError("validate: " + "\n".join(errors))
    return _config(spec)


def _config(spec: Json) -> Config:
    """The configuration of a decoded spec; absent fields are false: only the CRD has defaults."""
    priority = spec.get("defaultCPUPriority", "").lower()
    known = cpuallocator.PRIORITY_NAMES
    return Config(
        spec.get("availableResources") or {},
        spec.get("reservedResources") or {},
        spec.get("pinCPU", False),
        spec.get("pinMemory", False),
        spec.get("preferIsolatedCPUs"),
        spec.get("preferSharedCPUs"),
        spec.get("colocatePods", False),
        spec.get("colocateNamespaces", False),
        spec.get("reservedPoolNamespaces") or [],
        known.index(priority) if priority in known else NONE,
        spec.get("unlimitedBurstable", ""),
        [given.get("name", "") for given in spec.get("cpuClasses") or ()],
        spec.get("defaultExclusiveCPUClass", ""),
    )


def _scheduling_errors(spec: Json) -> list[str]:
    """In the order of the names; the program's own order is chance."""
    known = {given.get("name", "") for given in spec.get("schedulingClasses") or ()}
    errors = []
    for qos, name in (spec.get("podQoSSchedulingClasses") or {}).items():
        if qos.lower() not in _QOS_CLASSES:
            errors.append(f"invalid QoS class {quote(qos)} (with scheduling {quote(name)})")
        if name not in known:
            errors.append(f"unknown scheduling class {quote(name)}")
    for namespace, name in (spec.get("namespaceSchedulingClasses") or {}).items():
        if name not in known:
            errors.append(
                f"unknown scheduling class {quote(name)} for namespace {quote(namespace)}"
            )
    return errors


def _class_errors(spec: Json) -> list[str]:
    given = spec.get("cpuClasses") or []
    if not given:
        return []
    errors, names = [], {known.get("name", "") for known in given}
    try:
        cpuclass.validate_classes(given)
    except NriError as error:
        errors.append(str(error))
        names = set()
    if not spec.get("sharedPoolCPUClass"):
        errors.append("shared CPU class not specified")
    uses = (
        ("shared", spec.get("sharedPoolCPUClass", "")),
        ("reserved", spec.get("reservedPoolCPUClass") or None),
        ("default exclusive", spec.get("defaultExclusiveCPUClass") or None),
    )
    for use, name in uses:
        if name is not None and name not in names:
            errors.append(f"unknown {use} CPU class {quote(name)}")
    return errors
