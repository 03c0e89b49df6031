"""What the validating webhook of KubeVirt refuses of an instance: the rules about CPUs and memory.

Upstream: kubevirt/kubevirt
  pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go
  @ 79d34c1762169e5b0370ec491cef5ca12e6b504c
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.pod import CPU, MEMORY
from cpuplan.upstream.kubernetes.quantity import ZERO, Quantity, parse
from cpuplan.upstream.kubevirt.types import SUPPLEMENTAL_POOL, Instance, part

_CPU = ("domain", "cpu")
_MEMORY = ("domain", "memory")
_RESOURCES = ("domain", "resources")
_MOST_THREADS = 2


class Cause(NamedTuple):
    """Why an instance is refused, and the field below its spec."""

    field: tuple[str, ...]
    problem: str


def causes(instance: Instance) -> Iterator[Cause]:
    """All that is refused, of an instance with its defaults."""
    yield from _memory_causes(instance)
    yield from _placement_causes(instance)
    if instance.is_dedicated:
        yield from _pinning_causes(instance)
    yield from _topology_causes(instance)
    yield from _io_thread_causes(instance)


def _amount(instance: Instance, column: str, name: str) -> Quantity:
    given: dict[str, Quantity] = getattr(instance, column)
    return given.get(name, ZERO)


def _memory_causes(instance: Instance) -> Iterator[Cause]:
    if not instance.guest and not _amount(instance, "requests", MEMORY).nano:
        problem = "says no memory: memory.guest, memory.hugepages or a request of memory"
        yield Cause(_MEMORY, problem)
    for name in (CPU, MEMORY):
        requested, limit = (_amount(instance, column, name) for column in ("requests", "limits"))
        if 0 < limit.nano < requested.nano:
            problem = f"requests {name} {requested}, and its limit is {limit}"
            yield Cause((*_RESOURCES, "requests", name), problem)
    if instance.page_size:
        yield from _page_causes(instance)


def _page_causes(instance: Instance) -> Iterator[Cause]:
    field = (*_MEMORY, "hugepages", "pageSize")
    try:
        page = parse(instance.page_size).value
    except KubeletError:
        page = 0
    if page <= 0:
        yield Cause(field, f"has pages of {instance.page_size!r}, which is no size")
        return
    requested = _amount(instance, "requests", MEMORY).value
    memory = requested or (instance.guest.value if instance.guest else 0)
    if memory < page:
        yield Cause(field, f"has less memory than a page of {instance.page_size}")
    elif memory % page:
        problem = f"has memory of {memory} bytes, no multiple of its page of {instance.page_size}"
        yield Cause(field, problem)


def _placement_causes(instance: Instance) -> Iterator[Cause]:
    """What needs CPUs of its own, and huge pages."""
    numa = part(instance.domain, "cpu", "numa")
    passes_through = numa.get("guestMappingPassthrough") is not None
    is_realtime = part(instance.domain, "cpu").get("realtime") is not None
    rows = (
        (instance.isolates_emulator, ("isolateEmulatorThread",)),
        (passes_through, ("numa", "guestMappingPassthrough")),
        (is_realtime, ("realtime",)),
    )
    for is_given, field in rows:
        if is_given and not instance.is_dedicated:
            yield Cause((*_CPU, *field), f"has {field[-1]} without dedicatedCpuPlacement")
    if passes_through and not instance.page_size:
        problem = "has guestMappingPassthrough without memory.hugepages"
        yield Cause((*_CPU, "numa", "guestMappingPassthrough"), problem)
    if is_realtime and not passes_through:
        yield Cause((*_CPU, "realtime"), "has realtime without numa.guestMappingPassthrough")


def _pinning_causes(instance: Instance) -> Iterator[Cause]:
    field = (*_CPU, "dedicatedCpuPlacement")
    requested, limit = (_amount(instance, column, CPU) for column in ("requests", "limits"))
    for column, amount in (("requests", requested), ("limits", limit)):
        if not amount.is_whole and amount.nano > 0:
            problem = f"has {column} of cpu {amount} with dedicatedCpuPlacement: no whole number"
            yield Cause((*_RESOURCES, column, CPU), problem)
    if requested.value > 0 and limit.value > 0 and requested.value != limit.value:
        problem = f"requests cpu {requested} with dedicatedCpuPlacement, and its limit is {limit}"
        yield Cause(field, problem)
    vcpus = instance.vcpus
    if max(requested.value, limit.value) > 0 and vcpus not in (0, requested.value, limit.value):
        problem = f"has {vcpus} vCPUs, and requests or limits of cpu {max(requested, limit)}"
        yield Cause(field, problem)
    memory, most = (_amount(instance, column, MEMORY).value for column in ("requests", "limits"))
    if memory > 0 and most > 0 and memory != most:
        problem = f"requests memory {memory} with dedicatedCpuPlacement, and its limit is {most}"
        yield Cause((*_RESOURCES, "requests", MEMORY), problem)
    if instance.threads > _MOST_THREADS:
        problem = f"has {instance.threads} threads with dedicatedCpuPlacement: at most two"
        yield Cause(field, problem)


def _topology_causes(instance: Instance) -> Iterator[Cause]:
    most: Any = part(instance.domain, "cpu").get("maxSockets") or 0
    if most and instance.sockets > most:
        problem = f"has {instance.sockets} sockets, more than its maxSockets of {most}"
        yield Cause((*_CPU, "sockets"), problem)
    if instance.spec.get("architecture") == "arm64" and instance.threads > 1:
        yield Cause((*_CPU, "threads"), "has more than one thread of a core on arm64")


def _io_thread_causes(instance: Instance) -> Iterator[Cause]:
    policy = instance.domain.get("ioThreadsPolicy")
    known = ("shared", "auto", SUPPLEMENTAL_POOL)
    if policy is not None and policy not in known:
        problem = f"has the ioThreadsPolicy {policy!r}; use one of {', '.join(known)}"
        yield Cause(("domain", "ioThreadsPolicy"), problem)
    if policy == SUPPLEMENTAL_POOL and instance.io_threads < 1:
        problem = "has the ioThreadsPolicy supplementalPool, and no supplementalPoolThreadCount"
        yield Cause(("domain", "ioThreadsPolicy"), problem)
