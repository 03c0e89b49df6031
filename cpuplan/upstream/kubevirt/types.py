"""A VirtualMachineInstance as the controllers read it.

Upstream: kubevirt/kubevirt staging/src/kubevirt.io/api/core/v1/types.go
  staging/src/kubevirt.io/api/core/v1/schema.go pkg/util/hardware/hw_utils.go
  @ 79d34c1762169e5b0370ec491cef5ca12e6b504c
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from cpuplan.upstream.kubernetes.pod import CPU, MEMORY, read_resources
from cpuplan.upstream.kubernetes.quantity import ZERO, Quantity, parse

#: On an instance, or on the KubeVirt object of the cluster.
EVEN_PARITY = "alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity"
#: A JSON list of the hook sidecars of an instance.
HOOK_SIDECARS = "hooks.kubevirt.io/hookSidecars"
#: The keys of spec.domain.cpu and spec.domain.memory; KubeVirt refuses others.
CPU_KEYS = (
    "cores",
    "sockets",
    "maxSockets",
    "threads",
    "model",
    "features",
    "dedicatedCpuPlacement",
    "numa",
    "isolateEmulatorThread",
    "realtime",
)
MEMORY_KEYS = ("hugepages", "guest", "maxGuest", "reservedOverhead")
#: What is a boolean in YAML 1.1, beside true and false (sigs.k8s.io/yaml).
YES, NO = ("y", "yes", "on"), ("n", "no", "off")
SUPPLEMENTAL_POOL = "supplementalPool"


class Instance(NamedTuple):
    """What an instance asks for; `spec` is the whole of it, for what is read at one place only."""

    spec: Mapping[str, Any]
    annotations: Mapping[str, str]
    requests: dict[str, Quantity]
    limits: dict[str, Quantity]
    cores: int
    sockets: int
    threads: int
    guest: Quantity | None
    page_size: str
    is_dedicated: bool
    isolates_emulator: bool

    @property
    def domain(self) -> Mapping[str, Any]:
        return part(self.spec, "domain")

    @property
    def devices(self) -> Mapping[str, Any]:
        return part(self.domain, "devices")

    @property
    def vcpus(self) -> int:
        """Sockets x cores x threads, of which those that are 0 do not count (GetNumberOfVCPUs)."""
        given = [count for count in (self.cores, self.sockets, self.threads) if count]
        product = 1
        for count in given:
            product *= count
        return product if given else 0

    @property
    def io_threads(self) -> int:
        """The CPUs of the pool of I/O threads, whatever ioThreadsPolicy says."""
        return part(self.domain, "ioThreads").get("supplementalPoolThreadCount") or 0

    @property
    def wants_guaranteed(self) -> bool:
        """Requests and limits are the same (WantsToHaveQOSGuaranteed)."""
        memory, most = self.requests.get(MEMORY, ZERO), self.limits.get(MEMORY, ZERO)
        cpu = self.requests.get(CPU, ZERO)
        memory_wants = bool(most.nano) if not memory.nano else memory.nano == most.nano
        return memory_wants and bool(cpu.nano) and cpu.nano == self.limits.get(CPU, ZERO).nano

    @property
    def is_guaranteed(self) -> bool:
        """Whether containers beside the machine's request all of their limits."""
        return self.is_dedicated or self.wants_guaranteed


def part(data: Any, *names: str) -> Mapping[str, Any]:
    """The mapping at a field; empty where there is none."""
    for name in names:
        data = data.get(name) if isinstance(data, Mapping) else None
    return data if isinstance(data, Mapping) else {}


def is_true(value: Any) -> bool:
    """A boolean as kubectl sends it: for its YAML `yes` and `on` are true, too."""
    return value is True or (isinstance(value, str) and value.lower() in YES)


def read_instance(spec: Mapping[str, Any], annotations: Mapping[str, str]) -> Instance:
    """The spec of an instance; KubeletError for a quantity that is none."""
    domain = part(spec, "domain")
    cpu, memory, resources = part(domain, "cpu"), part(domain, "memory"), part(domain, "resources")
    guest = memory.get("guest")
    return Instance(
        spec,
        annotations,
        read_resources(resources.get("requests")),
        read_resources(resources.get("limits")),
        cpu.get("cores") or 0,
        cpu.get("sockets") or 0,
        cpu.get("threads") or 0,
        None if guest is None else parse(str(guest)),
        part(memory, "hugepages").get("pageSize") or "",
        is_true(cpu.get("dedicatedCpuPlacement")),
        is_true(cpu.get("isolateEmulatorThread")),
    )
