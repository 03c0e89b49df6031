"""Claims that the kubelet hands over, and the CPUs that they get (pkg/driver/dra_hooks.go)."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from cpuplan.upstream.dra import names, opaque
from cpuplan.upstream.dra.config import Config
from cpuplan.upstream.dra.devices import Device, build
from cpuplan.upstream.dra.errors import DraError
from cpuplan.upstream.dra.store import Allocations
from cpuplan.upstream.dra.topology import Topology
from cpuplan.upstream.kubelet import quantity
from cpuplan.upstream.kubelet.bits import to_text
from cpuplan.upstream.kubelet.cpu.cpu_assignment import take_by_topology_numa_packed
from cpuplan.upstream.kubelet.errors import KubeletError
from cpuplan.upstream.kubelet.go.text import quote


class Result(NamedTuple):
    """A device that the scheduler gave to a request; `consumed` is the quantity of the capacity."""

    request: str
    device: str
    consumed: str | None = None
    driver: str = names.DRIVER


class Claim(NamedTuple):
    """A ResourceClaim; without `results` (None) it is not allocated."""

    uid: str
    name: str
    results: tuple[Result, ...] | None
    configs: tuple[opaque.Config, ...] = ()
    namespace: str = "default"

    @property
    def own_results(self) -> list[Result]:
        return [result for result in self.results or () if result.driver == names.DRIVER]


class Chooser:
    """Chooses CPUs for claims; devices are found by the names of when the driver started."""

    def __init__(self, topology: Topology, config: Config) -> None:
        self.topology, self.config = topology, config
        devices = build(topology, config)
        self.devices: Mapping[str, Device] = {device.name: device for device in devices}

    def choose(self, claim: Claim, store: Allocations) -> int:
        """The CPUs for a claim, 0 if it asks for none of this driver; DraError if it cannot."""
        if claim.results is None:
            raise DraError(f"claim {claim.namespace}/{claim.name} has no allocation")
        if self.config.cpu_device_mode == names.INDIVIDUAL:
            return self._individual(claim, store)
        if claim.uid in store.claims:
            return store.claims[claim.uid]
        assigned = 0
        for result in claim.own_results:
            assigned |= self._grouped(claim, result, store, assigned)
        return assigned

    def _individual(self, claim: Claim, store: Allocations) -> int:
        cpus = 0
        for result in claim.own_results:
            device = self.devices.get(result.device)
            if device is None:
                raise DraError(f"device {quote(result.device)} not found in device to CPU ID map")
            cpus |= device.cpus
        where = f"claim {claim.namespace}/{claim.name}"
        before = store.claims.get(claim.uid)
        if before is not None and cpus not in (0, before):
            text = f"{to_text(before)} (requested {to_text(cpus)})"
            raise DraError(f"{where} is already prepared with different CPUs {text}")
        if before is None and cpus & ~store.shared:
            raise DraError(f"{where} has overlapping device assignment with other claims")
        return cpus

    def _grouped(self, claim: Claim, result: Result, store: Allocations, assigned: int) -> int:
        """Of a node or socket, or those that the claim's configuration names."""
        count = _count(result)
        if self.config.group_by == names.MACHINE:
            return self._named(claim, result, store, assigned, count)
        candidates = store.shared & ~assigned & self._group(result.device)
        try:
            return take_by_topology_numa_packed(
                self.topology.packed, candidates, count, align_by_uncore_cache=True
            )
        except KubeletError as error:
            raise DraError(str(error)) from None

    def _group(self, name: str) -> int:
        """All CPUs of a device's node or socket."""
        known = self.topology.packed
        if self.config.group_by == names.SOCKET:
            groups, prefix, what = known.sockets, names.SOCKET_DEVICE, "socket"
        else:
            groups, prefix, what = known.numa_nodes, names.NUMA_DEVICE, "NUMA node"
        if name not in self.devices:
            raise DraError(f"no valid {what} ID found for device {name}")
        return groups[int(name.removeprefix(prefix))]

    def _named(
        self, claim: Claim, result: Result, store: Allocations, assigned: int, count: int
    ) -> int:
        cpus = opaque.cpus_of(claim.configs, result.request)
        for problem in self._problems(cpus, store, assigned, count):
            raise DraError(problem)
        return cpus

    def _problems(self, cpus: int, store: Allocations, assigned: int, count: int) -> Iterator[str]:
        if cpus.bit_count() != count:
            size = f"cpuset size {cpus.bit_count()}"
            yield f"opaque config {size} does not match requested capacity {count}"
        asked = f"requested CPUs {to_text(cpus)} from opaque config"
        if offline := cpus & ~self.topology.online:
            yield f"{asked} contain offline cores: {to_text(offline)}"
        if reserved := cpus & self.config.reserved:
            yield f"{asked} contain reserved cores: {to_text(reserved)}"
        if cpus & assigned:
            yield f"{asked} are already assigned to another device in this claim"
        if cpus & store.prepared:
            yield f"{asked} conflict with already allocated claims"


def _count(result: Result) -> int:
    """The whole CPUs that a request consumes."""
    device = quote(result.device)
    if result.consumed is None:
        raise DraError(f"CPU capacity {quote(names.CAPACITY)} for device {device} is missing")
    consumed = quantity.parse(result.consumed)
    if consumed.nano <= 0:
        text = f"must be positive, got {result.consumed}"
        raise DraError(f"CPU capacity for device {device} {text}")
    if not consumed.is_whole:
        text = f"must be a whole number, got {result.consumed}"
        raise DraError(f"CPU capacity for device {device} {text}")
    return consumed.value
