"""The resources of the containers of a virt-launcher pod.

Upstream: kubevirt/kubevirt pkg/virt-controller/services/renderresources.go
  pkg/container-disk/container-disk.go pkg/virtiofs/resources.go
  pkg/virt-controller/services/serialconsolelog.go pkg/network/vmispec/devices.go
  @ 79d34c1762169e5b0370ec491cef5ca12e6b504c
"""

from collections import Counter
from typing import Any

from cpuplan.upstream.kubernetes import quantity
from cpuplan.upstream.kubernetes.fit import EPHEMERAL_STORAGE
from cpuplan.upstream.kubernetes.pod import CPU, HUGEPAGES, MEMORY
from cpuplan.upstream.kubernetes.quantity import ZERO, Quantity
from cpuplan.upstream.kubevirt.hypervisorbackend import memory_overhead
from cpuplan.upstream.kubevirt.types import EVEN_PARITY, SUPPLEMENTAL_POOL, Instance, part
from cpuplan.upstream.kubevirt.virt_config import Config

Amounts = dict[str, Quantity]
_STORAGE = quantity.parse("50M")
_DEVICES = "devices.kubevirt.io/"


def compute_resources(instance: Instance, config: Config) -> dict[str, Any]:
    """The resources of the container that runs the machine, in the order of upstream's rules."""
    requests, limits = dict(instance.requests), dict(instance.limits)
    requests[EPHEMERAL_STORAGE] = requests.get(EPHEMERAL_STORAGE, ZERO).plus(_STORAGE)
    if EPHEMERAL_STORAGE in limits:
        limits[EPHEMERAL_STORAGE] = limits[EPHEMERAL_STORAGE].plus(_STORAGE)
    limits.update(_virtualization(instance, config))
    if not instance.requests.get(MEMORY, ZERO).nano:
        _request_memory(instance, requests, limits, config.memory_overcommit)
    calculated: Amounts = {}
    if instance.is_dedicated:
        _pin(instance, requests, limits)
    else:
        calculated = _shared_cpus(instance, config)
    overhead = memory_overhead(instance, config)
    if instance.page_size:
        huge = _huge_pages(instance, requests, limits, overhead)
    else:
        huge = {}
        _add_overhead(instance, requests, limits, overhead)
    devices = _devices(instance)
    return {
        "requests": _texts({**calculated, **huge, **devices, **requests}),
        "limits": _texts({**huge, **devices, **limits}),
        **_claims(instance),
    }


def _virtualization(instance: Instance, config: Config) -> Amounts:
    """The devices of the hypervisor (getRequiredResources)."""
    devices, one_of_it = instance.devices, quantity.of(1)
    interfaces = devices.get("interfaces") or []
    names = {
        "tun": bool(interfaces) or devices.get("autoattachPodInterface") in (None, True),
        "kvm": not config.allows_emulation,
        "vhost-vsock": devices.get("autoattachVSOCK") is True,
    }
    # The webhook gives a machine without interfaces that of the pod, with the model virtio.
    models = [interface.get("model") or "virtio" for interface in interfaces]
    has_virtio = "virtio" in models if models else names["tun"]
    names["vhost-net"] = has_virtio and not config.allows_emulation
    return {f"{_DEVICES}{name}": one_of_it for name, is_used in names.items() if is_used}


def _request_memory(
    instance: Instance, requests: Amounts, limits: Amounts, overcommit: int
) -> None:
    """WithMemoryRequests: the limit, else the guest's, less where memory is overcommitted."""
    if limits.get(MEMORY, ZERO).nano and not requests.get(MEMORY, ZERO).nano:
        requests[MEMORY] = limits[MEMORY]
    if MEMORY in requests or not instance.guest or instance.guest.nano <= 0:
        return
    given = instance.guest
    is_all = overcommit == 100
    requests[MEMORY] = (
        given if is_all else quantity.of(given.value * 100 // overcommit, given.format)
    )


def _pin(instance: Instance, requests: Amounts, limits: Amounts) -> None:
    """WithCPUPinning: CPUs of its own for each vCPU, I/O thread and the emulator."""
    total, own = instance.vcpus + instance.io_threads, instance.io_threads
    if instance.vcpus:
        requests[CPU] = limits[CPU] = quantity.of(total)
    else:
        for resources in (requests, limits):
            if CPU in resources:
                resources[CPU] = resources[CPU].plus(quantity.of(own))
    if instance.isolates_emulator:
        limit = limits.get(CPU, ZERO)
        is_even = (limit.value + _pool_threads(instance)) % 2 == 0
        more = quantity.of(2 if EVEN_PARITY in instance.annotations and is_even else 1)
        limits[CPU] = limit.plus(more)
        if CPU in requests:
            requests[CPU] = requests[CPU].plus(more)
    if MEMORY in requests:
        limits[MEMORY] = requests[MEMORY]


def _pool_threads(instance: Instance) -> int:
    """What upstream adds to the CPUs, which have them already, before it looks at their parity."""
    is_pool = instance.domain.get("ioThreadsPolicy") == SUPPLEMENTAL_POOL
    return instance.io_threads if is_pool else 0


def _shared_cpus(instance: Instance, config: Config) -> Amounts:
    total = (instance.vcpus or 1) + instance.io_threads
    nano = total * 10**9 // config.cpu_allocation_ratio
    return {CPU: Quantity(nano)}


def _huge_pages(
    instance: Instance, requests: Amounts, limits: Amounts, overhead: Quantity
) -> Amounts:
    """WithHugePages: the guest's memory is of huge pages, the rest of the pod's of plain ones."""
    requested, limit = requests.get(MEMORY, ZERO), limits.get(MEMORY, ZERO)
    guest = instance.guest
    amount = guest if guest and requested.value > guest.value else requested
    more, most = ZERO, ZERO
    if guest and requested.value > guest.value:
        more = requested.minus(guest)
    if guest and limit.value > guest.value:
        most = limit.minus(guest)
    requests[MEMORY] = more.plus(overhead)
    if MEMORY in limits:
        limits[MEMORY] = most.plus(overhead)
    return {f"{HUGEPAGES}{instance.page_size}": amount}


def _add_overhead(
    instance: Instance, requests: Amounts, limits: Amounts, overhead: Quantity
) -> None:
    spared = part(instance.domain, "resources").get("overcommitGuestOverhead") is True
    requested = requests.get(MEMORY, ZERO)
    requests[MEMORY] = requested if spared else requested.plus(overhead)
    if MEMORY in limits:
        limits[MEMORY] = limits[MEMORY].plus(overhead)


def _devices(instance: Instance) -> Amounts:
    """GPUs and host devices of device plugins, and what encrypts memory."""
    names = Counter(
        given["deviceName"]
        for given in hosts_devices(instance)
        if given.get("deviceName") and not given.get("claimRequest")
    )
    security = part(instance.domain, "launchSecurity")
    if "sev" in security or "snp" in security:
        names[f"{_DEVICES}sev"] += 1
    if "tdx" in security:
        names[f"{_DEVICES}tdx"] += 1
    return {name: quantity.of(count) for name, count in names.items()}


def hosts_devices(instance: Instance) -> list[Any]:
    """GPUs, then host devices."""
    return [given for name in ("gpus", "hostDevices") for given in instance.devices.get(name) or ()]


def _claims(instance: Instance) -> dict[str, Any]:
    asked = [
        part(given, "claimRequest")
        for given in hosts_devices(instance)
        if given.get("claimRequest") and not given.get("deviceName")
    ]
    claims = [
        {"name": claim.get("claimName"), "request": claim.get("requestName")} for claim in asked
    ]
    return {"claims": claims} if claims else {}


#: By type: the name in supportContainerResources, what is requested, and the limits.
_SUPPORTS = {
    "container-disk-binary": ("container-disk", ("10m", "1M"), ("100m", "40M"), ("10m", "40M")),
    "container-disk": ("container-disk", ("1m", "1M"), ("10m", "40M"), ("10m", "40M")),
    "virtiofs": ("virtiofs", ("10m", "1M"), ("100m", "80M"), ("100m", "80M")),
    "guest-console-log": ("guest-console-log", ("5m", "35M"), ("15m", "60M"), ("15m", "60M")),
}


def support_resources(kind: str, instance: Instance, config: Config) -> dict[str, Any]:
    """The resources of a container beside the machine's: its limits, in a Guaranteed pod."""
    name, requests, limits, dedicated = _SUPPORTS[kind]
    most = dedicated if instance.is_guaranteed else limits
    capped = _amounts(name, "limits", most, config)
    asked = capped if instance.is_guaranteed else _amounts(name, "requests", requests, config)
    return {"requests": _texts(asked), "limits": _texts(capped)}


def _amounts(name: str, column: str, defaults: tuple[str, str], config: Config) -> Amounts:
    rows = zip((CPU, MEMORY), defaults, strict=True)
    return {resource: config.support(name, column, resource, default) for resource, default in rows}


def sidecar_resources(instance: Instance, config: Config) -> dict[str, Any]:
    """Those of a hook sidecar: none, unless the pod is Guaranteed or the cluster says some."""
    given = {column: _stated("sidecar", column, config) for column in ("requests", "limits")}
    if instance.is_guaranteed:
        limits = _amounts("sidecar", "limits", ("200m", "64M"), config)
        given = {"requests": limits, "limits": limits}
    return {column: _texts(amounts) for column, amounts in given.items()}


def _stated(kind: str, column: str, config: Config) -> Amounts:
    amounts = {
        resource: config.supports.get((kind, column, resource)) for resource in (CPU, MEMORY)
    }
    return {resource: amount for resource, amount in amounts.items() if amount is not None}


def _texts(amounts: Amounts) -> dict[str, str]:
    return {name: str(amount) for name, amount in amounts.items()}
