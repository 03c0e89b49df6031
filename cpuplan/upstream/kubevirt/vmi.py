"""How an instancetype and a machine become the spec of an instance.

Upstream: kubevirt/kubevirt pkg/instancetype/apply/vmi.go pkg/instancetype/apply/cpu.go
  pkg/instancetype/apply/memory.go pkg/instancetype/apply/gpu.go
  pkg/instancetype/apply/hostdevices.go pkg/instancetype/apply/iothreads.go
  pkg/instancetype/apply/iothreadpolicy.go pkg/instancetype/apply/annotations.go
  pkg/instancetype/apply/scheduler.go @ 79d34c1762169e5b0370ec491cef5ca12e6b504c
"""

from collections.abc import Iterator, Mapping
from typing import Any

from cpuplan.upstream.kubernetes import quantity
from cpuplan.upstream.kubernetes.pod import CPU, MEMORY
from cpuplan.upstream.kubevirt.types import part

Field = tuple[str, ...]
_OF_CPU = ("model", "dedicatedCPUPlacement", "isolateEmulatorThread", "numa", "realtime")
#: The key of an instancetype where that of an instance is another.
_AS_INSTANCE = {"dedicatedCPUPlacement": "dedicatedCpuPlacement"}
#: Lists of an instancetype that are taken as they are.
_DEVICES = ("gpus", "hostDevices")
_POOL = ("ioThreads", "supplementalPoolThreadCount")


#: Fields of an instance, and of an instancetype: both at once are refused, or the first beside any.
_CONFLICTS: tuple[tuple[Field, Field], ...] = (
    *(
        (("domain", "resources", column, name), ())
        for name in (CPU, MEMORY)
        for column in ("requests", "limits")
    ),
    *((("domain", "cpu", name), ()) for name in ("sockets", "cores", "threads")),
    *((("domain", "cpu", _AS_INSTANCE.get(key, key)), ("cpu", key)) for key in _OF_CPU),
    (("domain", "memory", "guest"), ()),
    (("domain", "memory", "hugepages"), ("memory", "hugepages")),
    *((("domain", "devices", name), (name,)) for name in _DEVICES),
    (("domain", *_POOL), _POOL),
    (("domain", "ioThreadsPolicy"), ("ioThreadsPolicy",)),
    (("schedulerName",), ("schedulerName",)),
)


def conflicts(given: Mapping[str, Any], spec: Mapping[str, Any]) -> Iterator[Field]:
    """The fields of an instance that its instancetype says too: KubeVirt refuses them."""
    for field, own in _CONFLICTS:
        is_said = _value(spec, field) and (not own or _value(given, own) is not None)
        if is_said:
            yield field


def _value(data: Mapping[str, Any], field: Field) -> Any:
    return part(data, *field[:-1]).get(field[-1])


def applied(given: Mapping[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
    """The spec of an instance without conflicts; KubeletError for memory that is no quantity.

    A preference says which of sockets, cores and threads the vCPUs are: as many in all.
    """
    domain = dict(part(spec, "domain"))
    own = part(given, "cpu")
    cpu = {**part(domain, "cpu"), "sockets": own.get("guest") or 1, "cores": 1, "threads": 1}
    for key in (*_OF_CPU, "maxSockets"):
        if own.get(key) is not None:
            cpu[_AS_INSTANCE.get(key, key)] = own[key]
    domain |= {"cpu": cpu, **_with_memory(part(given, "memory"), domain)}
    devices = {name: given[name] for name in _DEVICES if given.get(name)}
    domain["devices"] = {**part(domain, "devices"), **devices}
    pool = part(given, "ioThreads")
    if pool:
        domain["ioThreads"] = {**part(domain, "ioThreads"), **pool}
    whole = {key: given[key] for key in ("ioThreadsPolicy", "launchSecurity") if given.get(key)}
    domain |= whole
    scheduler = given.get("schedulerName")
    return {**spec, **({"schedulerName": scheduler} if scheduler else {}), "domain": domain}


def _with_memory(own: Mapping[str, Any], domain: Mapping[str, Any]) -> dict[str, Any]:
    memory = {**part(domain, "memory"), "guest": own.get("guest")}
    for key in ("hugepages", "maxGuest"):
        if own.get(key):
            memory[key] = own[key]
    percent = own.get("overcommitPercent") or 0
    if not percent:
        return {"memory": memory}
    guest = quantity.parse(str(own.get("guest")))
    less = quantity.of(guest.value * max(100 - percent, 0) // 100, guest.format)
    resources = dict(part(domain, "resources"))
    resources["requests"] = {**part(resources, "requests"), MEMORY: str(less)}
    return {"memory": memory, "resources": resources}


def annotations(given: Mapping[str, Any], own: Mapping[str, str]) -> dict[str, str]:
    """Those of the instance, and of its instancetype where it has none of the name."""
    return {**part(given, "annotations"), **own}
