"""The driver between the kubelet, which prepares claims, and the runtime.

From pkg/driver/dra_hooks.go and nri_hooks.go.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cpuplan.upstream.dra.claims import Chooser, Claim
from cpuplan.upstream.dra.config import Config
from cpuplan.upstream.dra.devices import shared_pool
from cpuplan.upstream.dra.errors import DraError
from cpuplan.upstream.dra.names import ENVIRONMENT
from cpuplan.upstream.dra.store import Allocations, Known, Owner, Owners
from cpuplan.upstream.dra.topology import Topology
from cpuplan.upstream.kubelet.bits import parse_cpus, to_text
from cpuplan.upstream.kubelet.errors import KubeletError
from cpuplan.upstream.kubelet.go.text import quote

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
        return Created(_union(wanted.values()), self._shared_updates() if new else {})

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
        return {container.id: _union(own.values())}

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


def _union(sets: Iterable[int]) -> int:
    together = 0
    for cpus in sets:
        together |= cpus
    return together


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
