"""The driver between the kubelet, which prepares claims, and the runtime, which creates containers.

Upstream: kubernetes-sigs/dra-driver-cpu pkg/driver/driver.go pkg/driver/dra_hooks.go
  pkg/driver/nri_hooks.go pkg/driver/cdi.go @ de98098690f25e59d781c1659b5c3e0b0a210c2a
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from cpuplan.upstream.dra import api, opaque_config
from cpuplan.upstream.dra.api import ENVIRONMENT, DraError
from cpuplan.upstream.dra.builder import Device, build, shared_pool
from cpuplan.upstream.dra.cpuinfo import Topology
from cpuplan.upstream.dra.driverconfig import Config
from cpuplan.upstream.dra.store import Allocations, Known, Owner, Owners
from cpuplan.upstream.kubelet.cpumanager.cpu_assignment import take_by_topology_numa_packed
from cpuplan.upstream.kubernetes import quantity
from cpuplan.upstream.kubernetes.bits import parse_cpus, to_text, union
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.strconv import quote


class Result(NamedTuple):
    """A device that the scheduler gave to a request; `consumed` is the quantity of the capacity."""

    request: str
    device: str
    consumed: str | None = None
    driver: str = api.DRIVER


class Claim(NamedTuple):
    """A ResourceClaim; without `results` (None) it is not allocated."""

    uid: str
    name: str
    results: tuple[Result, ...] | None
    configs: tuple[opaque_config.Config, ...] = ()
    namespace: str = "default"

    @property
    def own_results(self) -> list[Result]:
        return [result for result in self.results or () if result.driver == api.DRIVER]


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
        if self.config.cpu_device_mode == api.INDIVIDUAL:
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
        if self.config.group_by == api.MACHINE:
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
        if self.config.group_by == api.SOCKET:
            groups, prefix, what = known.sockets, api.SOCKET_DEVICE, "socket"
        else:
            groups, prefix, what = known.numa_nodes, api.NUMA_DEVICE, "NUMA node"
        if name not in self.devices:
            raise DraError(f"no valid {what} ID found for device {name}")
        return groups[int(name.removeprefix(prefix))]

    def _named(
        self, claim: Claim, result: Result, store: Allocations, assigned: int, count: int
    ) -> int:
        cpus = opaque_config.cpus_of(claim.configs, result.request)
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
        raise DraError(f"CPU capacity {quote(api.CAPACITY)} for device {device} is missing")
    consumed = quantity.parse(result.consumed)
    if consumed.nano <= 0:
        text = f"must be positive, got {result.consumed}"
        raise DraError(f"CPU capacity for device {device} {text}")
    if not consumed.is_whole:
        text = f"must be a whole number, got {result.consumed}"
        raise DraError(f"CPU capacity for device {device} {text}")
    return consumed.value


#: New cpusets of running containers, by their ids. An empty set is no change to the runtime.
Updates = dict[str, int]


class Container(NamedTuple):
    """A container of the runtime, with the whole environment that it was created with."""

    pod: str
    name: str
    id: str
    environment: tuple[str, ...] = ()


class Prepared(NamedTuple):
    """The CPUs of a claim, None if it asks for none, and how many devices it has."""

    cpus: int | None
    devices: int


class Created(NamedTuple):
    """The cpuset of a new container, and those of others that change with it.

    An empty one is no change to the runtime: the container runs on all CPUs (bug: #295).
    """

    cpus: int
    updates: Updates


class Moment(NamedTuple):
    """All that the driver remembers, and the CDI files that it wrote."""

    claims: tuple[tuple[str, int], ...]
    owners: tuple[tuple[str, Owner], ...]
    known: tuple[tuple[Owner, Known], ...]
    files: tuple[tuple[str, int], ...]


class Driver:
    """The driver of one node. `files` are its CDI files: the CPUs of claims, by uid.

    They stay when the driver restarts, unlike everything else.
    """

    def __init__(self, topology: Topology, config: Config) -> None:
        self.topology, self.config = topology, config
        self.chooser = Chooser(topology, config)
        self.store = Allocations(shared_pool(topology, config))
        self.owners = Owners()
        self._known: dict[Owner, Known] = {}
        self.files: dict[str, int] = {}

    def prepare(self, claim: Claim) -> Prepared:
        """Choose CPUs for a claim, and keep them; DraError where the kubelet has to try again."""
        cpus = self.chooser.choose(claim, self.store)
        if not cpus:
            return Prepared(None, 0)
        self.store.reserve(claim.uid, cpus)
        self.files[claim.uid] = cpus
        return Prepared(cpus, len(claim.own_results))

    def unprepare(self, uid: str) -> None:
        """Give a claim's CPUs back to the shared pool.

        Running containers are not told (bug: kubernetes-sigs/dra-driver-cpu#279).
        """
        self.files.pop(uid, None)
        self.store.claims.pop(uid, None)
        self.owners.release([uid])

    def environment(self, uids: Iterable[str]) -> tuple[str, ...]:
        """What CDI adds to a container with these claims; those not prepared add nothing."""
        known = ((uid, self.files[uid]) for uid in uids if uid in self.files)
        return tuple(f"{ENVIRONMENT}_{uid}={to_text(cpus)}" for uid, cpus in known)

    def create(self, container: Container) -> Created:
        """The runtime is about to create a container; DraError if it must not."""
        wanted = _claims_in(container.environment)
        owner = Owner(container.pod, container.name)
        if not wanted:
            self._known[owner] = Known(container.id)
            return Created(self.store.shared, {})
        new = self.owners.bind(owner, list(wanted))
        try:
            self.store.validate(wanted)
        except DraError:
            self.owners.release(new)
            raise
        self._known[owner] = Known(container.id, tuple(wanted))
        return Created(union(wanted.values()), self._shared_updates() if new else {})

    def forget(self, container: Container) -> None:
        """A container stopped or was removed: only its own record goes, no CPUs."""
        owner = Owner(container.pod, container.name)
        known = self._known.get(owner)
        if known and known.id == container.id:
            del self._known[owner]

    def _shared_updates(self) -> Updates:
        """All containers without claims that are known get the shared pool as it is now."""
        shared = self.store.shared
        return {known.id: shared for known in self._known.values() if not known.claims}

    def synchronize(self, containers: Sequence[Container]) -> Updates:
        """Start again with the containers that the runtime knows; DraError if that fails.

        Claims without a container are forgotten, and their CPUs are shared again (bug: #318).
        """
        self.store = Allocations(self.store.available)
        self.owners, self._known = Owners(), {}
        updates: Updates = {}
        for container in containers:
            updates |= self._adopt(container)
        return updates | self._shared_updates()

    def _adopt(self, container: Container) -> Updates:
        """Take a running container over; one with an entry that cannot be read is left alone."""
        try:
            wanted = _claims_in(container.environment)
        except DraError:
            return {}
        own = {uid: cpus for uid, cpus in wanted.items() if self.files.get(uid) == cpus}
        for uid, cpus in own.items():
            self.store.reserve(uid, cpus)
        owner = Owner(container.pod, container.name)
        self._known[owner] = Known(container.id, tuple(own))
        if not own:
            return {}
        self.owners.bind(owner, list(own))
        return {container.id: union(own.values())}

    def take(self) -> Moment:
        return Moment(
            tuple(self.store.claims.items()),
            tuple(self.owners.owners.items()),
            tuple(self._known.items()),
            tuple(self.files.items()),
        )

    def restore(self, moment: Moment) -> None:
        self.store = Allocations(self.store.available, dict(moment.claims))
        self.owners = Owners(dict(moment.owners))
        self._known, self.files = dict(moment.known), dict(moment.files)


def _claims_in(environment: Iterable[str]) -> dict[str, int]:
    """The CPUs of claims that an environment names, by uid; DraError for what cannot be read."""
    claims: dict[str, int] = {}
    for entry in environment:
        if not entry.startswith(ENVIRONMENT):
            continue
        key, equals, value = entry.partition("=")
        if not equals:
            raise DraError(f"malformed DRA env entry {quote(entry)}")
        if not key.startswith(f"{ENVIRONMENT}_"):
            continue
        try:
            claims[key.removeprefix(f"{ENVIRONMENT}_")] = parse_cpus(value)
        except KubeletError as error:
            text = f"cpuset value {quote(value)} from env {quote(entry)}: {error}"
            raise DraError(f"failed to parse {text}") from None
    return claims
