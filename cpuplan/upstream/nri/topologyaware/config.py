"""A TopologyAwarePolicy's configuration: decoding, and what is refused before the policy has it."""

from dataclasses import dataclass
from typing import Any

from cpuplan.upstream.kubelet.go.text import quote
from cpuplan.upstream.nri.common import cpuclasses
from cpuplan.upstream.nri.common.decoding import Decoder, Json
from cpuplan.upstream.nri.common.globs import compiled_pattern
from cpuplan.upstream.nri.cpuallocator import priorities
from cpuplan.upstream.nri.cpuallocator.priorities import NONE
from cpuplan.upstream.nri.errors import NriError
from cpuplan.upstream.nri.topologyaware.schema import EMBEDDED, STRUCTS

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
    known = priorities.NAMES
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
        cpuclasses.validate(given)
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
