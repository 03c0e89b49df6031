"""The memory that virt-launcher and QEMU need beside the guest's.

Upstream: kubevirt/kubevirt pkg/hypervisor/kvm/hypervisorbackend.go pkg/network/resources/memory.go
  pkg/vmitrait/vmitrait.go pkg/tpm/tpm.go @ 79d34c1762169e5b0370ec491cef5ca12e6b504c
"""

from collections.abc import Iterator
from typing import Any

from cpuplan.upstream.kubernetes import quantity
from cpuplan.upstream.kubernetes.pod import MEMORY
from cpuplan.upstream.kubernetes.quantity import BINARY, ZERO, Quantity
from cpuplan.upstream.kubevirt.types import Instance, part
from cpuplan.upstream.kubevirt.virt_config import Config

_MEBI = 1024**2
#: virt-launcher-monitor, virt-launcher, virtlogd, virtqemud, QEMU.
_PROCESSES = (25 + 100 + 25 + 40 + 30) * _MEBI
_OF_VCPU = 8 * _MEBI
_OF_IO_THREAD = 8 * _MEBI
_OF_VIDEO = 32 * _MEBI
_OF_PFLASH_ON_ARM = 128 * _MEBI
_OF_VFIO = 1024 * _MEBI
_OF_DOWNWARD_METRICS = 1 * _MEBI
_OF_SEV = 256 * _MEBI
_OF_TPM = 53 * _MEBI
_OF_GUARANTEED = 100 * _MEBI
_OF_PROBES, _OF_PROBE = 100 * _MEBI, 10 * _MEBI
_OF_PASST = 250 * _MEBI


def memory_overhead(instance: Instance, config: Config) -> Quantity:
    """CalculateMemoryOverhead: the ratio does not count for what networks need."""
    kilos = -(-instance.requests.get(MEMORY, ZERO).nano // (1000 * 10**9))
    total = kilos * 1000 // 512 + _PROCESSES + max(instance.vcpus, 1) * _OF_VCPU + _OF_IO_THREAD
    total += sum(_more(instance, config))
    reserved = part(instance.domain, "memory", "reservedOverhead").get("addedOverhead")
    if reserved is not None:
        total += quantity.parse(str(reserved)).value
    total += int(-(-total // 1000) * (config.overhead_ratio - 1.0)) * 1000
    if any("passtBinding" in interface for interface in _mappings(instance.devices, "interfaces")):
        total += _OF_PASST
    return quantity.of(total, BINARY)


def _more(instance: Instance, config: Config) -> Iterator[int]:
    devices, spec = instance.devices, instance.spec
    security, tpm = part(instance.domain, "launchSecurity"), devices.get("tpm")
    if devices.get("autoattachGraphicsDevice") in (None, True):
        yield _OF_VIDEO
    if (spec.get("architecture") or config.architecture) == "arm64":
        yield _OF_PFLASH_ON_ARM
    if has_vfio(instance):
        yield _OF_VFIO
    if any("downwardMetrics" in volume for volume in _mappings(spec, "volumes")):
        yield _OF_DOWNWARD_METRICS
    probes = [name for name in ("livenessProbe", "readinessProbe") if "exec" in part(spec, name)]
    if probes:
        yield _OF_PROBES + len(probes) * _OF_PROBE
    if "sev" in security or "snp" in security:
        yield _OF_SEV
    if isinstance(tpm, dict) and tpm.get("enabled") in (None, True):
        yield _OF_TPM
    if instance.is_guaranteed:
        yield _OF_GUARANTEED


def has_vfio(instance: Instance) -> bool:
    """Whether the machine has devices of the host."""
    devices = instance.devices
    interfaces = _mappings(devices, "interfaces")
    return bool(
        devices.get("hostDevices")
        or devices.get("gpus")
        or any("sriov" in interface for interface in interfaces)
    )


def _mappings(data: Any, name: str) -> list[dict[str, Any]]:
    listed = data.get(name)
    return [entry for entry in listed or () if isinstance(entry, dict)]
