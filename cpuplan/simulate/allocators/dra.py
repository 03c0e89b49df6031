"""The DRA CPU driver beside a kubelet whose CPU manager has the policy none.

The scheduler gives devices to claims, the kubelet lets the driver prepare them, and the driver
places containers as they are created. A pod that is refused is taken away again; on a cluster it
waits, and the kubelet tries again.
"""

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from cpuplan.dra import names
from cpuplan.dra.claims import Claim, Result
from cpuplan.dra.driver import Container, Driver, Moment
from cpuplan.dra.errors import DraError
from cpuplan.dra.scheduler.matching import SchedulerError
from cpuplan.dra.scheduler.requests import Request, Spec
from cpuplan.dra.scheduler.search import MOST_DEVICES, Search, StoppedError, Usage
from cpuplan.kubelet import quantity
from cpuplan.kubelet.bits import to_text
from cpuplan.kubelet.node import Node
from cpuplan.kubelet.pods.pod import CPU, Pod, PodClaim
from cpuplan.kubelet.pods.qos import pod_qos
from cpuplan.kubelet.quantity import ZERO
from cpuplan.simulate import runtimes
from cpuplan.simulate.allocators import probes
from cpuplan.simulate.allocators.base import (
    UNSCHEDULABLE,
    Admission,
    Left,
    Move,
    Placed,
    Refusal,
    Remainder,
    UnfitError,
)
from cpuplan.simulate.allocators.kubelet import KubeletAllocator
from cpuplan.simulate.planned import Planned

#: Reasons that a pod's events have: its claims are not prepared, or a container is not created.
NOT_PREPARED, NOT_CREATED = "FailedPrepareDynamicResources", "CreateContainerError"
_NO_DEVICES = "cannot allocate all claims"
_PREPARING = "Failed to prepare dynamic resources: NodePrepareResources failed for ResourceClaim"
#: A container, by its pod's uid and its name.
_Key = tuple[str, str]


class _Held(NamedTuple):
    """An allocated claim, and the pods that it is reserved for."""

    claim: Claim
    pods: tuple[str, ...]


class _Moment(NamedTuple):
    kubelet: Any
    driver: Moment
    held: dict[str, _Held]
    running: dict[_Key, int]
    given: dict[_Key, int]
    owners: frozenset[_Key]


class _RefusedError(Exception):
    """A pod that does not come, and why."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.refusal = Refusal(reason, message)


class DraAllocator:
    """A node with the driver; claims are known by their own names, or by those of their pods."""

    def __init__(self, facts: Planned, state: Node = Node()) -> None:  # noqa: B008 - a constant
        if facts.dra is None:
            raise UnfitError("the plan's mechanism is not dra")
        self.facts, self.inputs = facts, facts.dra
        self._below = KubeletAllocator(facts, state)
        self.kubelet, self.gates = self._below.kubelet, self._below.gates
        self.driver = Driver(self.inputs.topology, self.inputs.config)
        self._held: dict[str, _Held] = {}
        self._running: dict[_Key, int] = {}
        # Of init containers: they are over when the pod runs.
        self._given: dict[_Key, int] = {}
        self._owners: set[_Key] = set()

    def admit(self, pod: Pod) -> Admission:
        """Bind one pod, prepare its claims, and create its containers."""
        before = dict(self._running)
        try:
            new = self._allocate(pod)
        except StoppedError as error:
            return Admission(Refusal(UNSCHEDULABLE, str(error)), is_exact=False)
        except SchedulerError as error:
            return Admission(Refusal(UNSCHEDULABLE, str(error)))
        admission = self._below.admit(self._counted(pod, new))
        if admission.refused:
            return admission
        try:
            self._prepare(pod, new)
            self._create(pod)
        except _RefusedError as error:
            self.remove(pod.uid)
            return Admission(error.refusal)
        return Admission(moves=tuple(self._moves(before)))

    def _allocate(self, pod: Pod) -> dict[str, Claim]:
        """The pod's claims that are not allocated yet, with their devices, by their names."""
        asked = {_uid(pod, claim): claim for claim in pod.claims}
        for uid in asked if self.inputs.is_mapped else ():
            if uid in self._held:
                text = f"node allocatable resource claim {uid} has a mapped device"
                raise SchedulerError(f"{text} and cannot be shared across pods")
        asked = {uid: claim for uid, claim in asked.items() if uid not in self._held}
        specs = [_spec_of(claim) for claim in asked.values()]
        search = Search(self.inputs.devices, self._usage(), self.inputs.classes)
        found = search.allocate([spec for spec in specs if spec.results is None])
        if found is None:
            raise SchedulerError(_NO_DEVICES)
        results = iter(found)
        claims = {}
        for (uid, claim), spec in zip(asked.items(), specs, strict=True):
            own = next(results) if spec.results is None else spec.results
            name = claim.claim or f"{pod.name}-{claim.name}"
            claims[uid] = Claim(uid, name, own, spec.configs, pod.namespace or "default")
        return claims

    def _usage(self) -> Usage:
        """The devices that allocated claims have, prepared or not."""
        devices, consumed = set(), dict[str, int]()
        for held in self._held.values():
            for result in held.claim.own_results:
                if result.consumed is None:
                    devices.add(result.device)
                else:
                    nano = quantity.parse(result.consumed).nano
                    consumed[result.device] = consumed.get(result.device, 0) + nano
        return Usage(frozenset(devices), consumed)

    def _counted(self, pod: Pod, new: Mapping[str, Claim]) -> Pod:
        """The pod with the CPUs of its claims, where the driver's mapping tells how many they are.

        They count as overhead does: for the node and the pod's cgroup, but not for its class.
        """
        if not self.inputs.is_mapped:
            return pod
        cpus = sum(map(_cpus, new.values()), ZERO.nano)
        own = pod.overhead.get(CPU, ZERO).plus(quantity.Quantity(cpus))
        return pod._replace(overhead={**pod.overhead, CPU: own})

    def _prepare(self, pod: Pod, new: Mapping[str, Claim]) -> None:
        for uid, claim in new.items():
            self._held[uid] = _Held(claim, ())
        for entry in pod.claims:
            uid = _uid(pod, entry)
            held = self._held[uid]
            self._held[uid] = held._replace(pods=tuple(dict.fromkeys((*held.pods, pod.uid))))
            try:
                self.driver.prepare(held.claim)
            except DraError as error:
                text = f"{_PREPARING} {held.claim.name}: {error}"
                raise _RefusedError(NOT_PREPARED, text) from None

    def _create(self, pod: Pod) -> None:
        """Plain init containers run one after the other, before all others."""
        uids = {claim.name: _uid(pod, claim) for claim in pod.claims}
        for container in pod.all_containers:
            used = self.driver.environment(uids[name] for name in container.claims)
            made = _container((pod.uid, container.name), (*used, *container.env))
            try:
                created = self.driver.create(made)
            except DraError as error:
                raise _RefusedError(NOT_CREATED, str(error)) from None
            key = (pod.uid, container.name)
            self._running[key] = created.cpus or self.kubelet.machine.cpus
            if used:
                self._owners.add(key)
            self._update(created.updates)
            if container.is_plain_init:
                self._given[key] = self._running.pop(key)
                self.driver.forget(made)

    def _update(self, updates: Mapping[str, int]) -> None:
        """An empty cpuset is no change to the runtime."""
        ids = {_id(key): key for key in self._running}
        for name, cpus in updates.items():
            if cpus:
                self._running[ids[name]] = cpus

    def _moves(self, before: Mapping[_Key, int]) -> Iterator[Move]:
        for key, old in before.items():
            if self._running[key] != old:
                yield Move(*key, old, self._running[key], key in self._owners)

    def remove(self, uid: str) -> tuple[Move, ...]:
        """Remove a pod that has ended. Nobody gets its CPUs before the next claim's container."""
        for key in [key for key in self._running if key[0] == uid]:
            self.driver.forget(_container(key))
            del self._running[key]
        for claim, held in list(self._held.items()):
            left = tuple(pod for pod in held.pods if pod != uid)
            if left:
                self._held[claim] = held._replace(pods=left)
            else:
                self.driver.unprepare(claim)
                del self._held[claim]
        self._given = {key: cpus for key, cpus in self._given.items() if key[0] != uid}
        self._owners = {key for key in self._owners if key[0] != uid}
        self._below.remove(uid)
        return ()

    def place(self, pod: Pod) -> tuple[Placed, ...]:
        """The containers as they run now: those without a claim as they were told last."""
        own = {uid: held.claim for uid, held in self._held.items() if pod.uid in held.pods}
        placed = self._below.place(self._counted(pod, own))
        return tuple(self._placed((pod.uid, below.name), below) for below in placed)

    def _placed(self, key: _Key, below: Placed) -> Placed:
        cpus = self._running.get(key, self._given.get(key, 0))
        own = key in self._owners
        return below._replace(cpus=cpus, is_exclusive=own, started=_started(below.started, cpus))

    def qos(self, pod: Pod) -> str:
        return pod_qos(pod, self.gates)

    def sees(self, pod: Pod) -> Hashable:
        """Claims that several pods use are known by namespace and name."""
        shared = any(claim.claim for claim in pod.claims)
        return pod.namespace if shared else "", repr([own.env for own in pod.all_containers])

    def remainder(self, *, ended: bool = False) -> Remainder:
        """The CPUs that no claim has, which all other containers share."""
        free = self.driver.store.shared
        findings = tuple(self._findings())
        if ended:
            return Remainder(free, findings=findings)
        size = probes.largest(self, self._most(free), free, self._probe)
        return Remainder(free, Left(free, size, {}), findings=findings)

    def _most(self, free: int) -> int:
        """The CPUs of the largest claim that might be had: of one device, or of 32."""
        if self.inputs.config.cpu_device_mode == names.INDIVIDUAL:
            return min(free.bit_count(), MOST_DEVICES)
        return max((device.capacity or 0 for device in self.inputs.devices), default=0)

    def _probe(self, cpus: int) -> Pod:
        """A pod of one container with one claim, and as many CPUs requested if claims count not."""
        if self.inputs.config.cpu_device_mode == names.INDIVIDUAL:
            request = Request("cpus", names.DRIVER, number=cpus)
        else:
            request = Request("cpus", names.DRIVER, capacity=((names.CAPACITY, str(cpus)),))
        pod = probes.probe(0 if self.inputs.is_mapped else cpus)
        (container,) = pod.containers
        claim = PodClaim("cpus", template="cpus", spec=Spec((request,)))
        return pod._replace(claims=(claim,), containers=(container._replace(claims=("cpus",)),))

    def _findings(self) -> Iterator[tuple[str, str]]:
        """The first of each kind of what is wrong with the containers that run now."""
        for find in (self._strays, self._intruders, self._forgotten):
            yield from list(find())[:1]

    def _strays(self) -> Iterator[tuple[str, str]]:
        """Claims with CPUs outside of their devices (bug: core ids that repeat)."""
        known = self.driver.chooser.devices
        for uid, cpus in self.driver.store.claims.items():
            results = self._held[uid].claim.own_results
            within = 0
            for result in results:
                within |= known[result.device].cpus
            if stray := cpus & ~within:
                device = ", ".join(dict.fromkeys(result.device for result in results))
                text = f"claim {uid} of {device} gets CPUs {to_text(cpus)}"
                yield "CP722", f"{text}, of which {to_text(stray)} are elsewhere"

    def _intruders(self) -> Iterator[tuple[str, str]]:
        """Containers without a claim that run on CPUs of claims, or on reserved ones."""
        store = self.driver.store
        for (pod, name), cpus in self._running.items():
            if (pod, name) in self._owners:
                continue
            others = {"of claims": cpus & store.prepared, "reserved": cpus & ~store.available}
            shown = [f"{to_text(own)} ({what})" for what, own in others.items() if own]
            if shown:
                yield "CP723", f"container {name} of {pod} runs on CPUs {' and '.join(shown)}"

    def _forgotten(self) -> Iterator[tuple[str, str]]:
        """Claims that no running container has: a restart of the driver gives their CPUs away."""
        left = self._restarted()
        for uid, cpus in self.driver.store.claims.items():
            if uid not in left:
                text = f"no running container has claim {uid}: when the driver restarts, its CPUs "
                yield "CP723", f"{text}{to_text(cpus)} are others' as well"

    def _restarted(self) -> Collection[str]:
        """The claims that the driver knows after it has restarted."""
        moment, owners = self.driver.take(), self.driver.owners.owners
        containers = [
            _container(key, self.driver.environment(uid for uid in owners if owners[uid] == key))
            for key in self._running
        ]
        self.driver.synchronize(containers)
        left = set(self.driver.store.claims)
        self.driver.restore(moment)
        return left

    def restart(self) -> list[tuple[Pod | None, Refusal]]:
        """Nobody: no container is created again when the driver restarts."""
        return []

    def take(self) -> _Moment:
        return _Moment(
            self._below.take(),
            self.driver.take(),
            dict(self._held),
            dict(self._running),
            dict(self._given),
            frozenset(self._owners),
        )

    def restore(self, moment: _Moment) -> None:
        self._below.restore(moment.kubelet)
        self.driver.restore(moment.driver)
        self._held, self._running = dict(moment.held), dict(moment.running)
        self._given, self._owners = dict(moment.given), set(moment.owners)

    def key(self) -> Hashable:
        """Which CPUs are prepared, which devices are allocated, and which claims pods share."""
        usage = self._usage()
        shared = tuple(uid for uid, held in self._held.items() if not uid.startswith(held.pods[0]))
        consumed = tuple(sorted(usage.consumed.items()))
        return self._below.key(), self.driver.store.prepared, usage.devices, consumed, shared


def _uid(pod: Pod, claim: PodClaim) -> str:
    """The claim's own name, or that of the pod for which it is made of a template."""
    return (
        f"{pod.namespace or 'default'}/{claim.claim}" if claim.claim else f"{pod.uid}/{claim.name}"
    )


def _spec_of(claim: PodClaim) -> Spec:
    if isinstance(claim.spec, Spec):
        return claim.spec
    what = (
        f"ResourceClaim {claim.claim}" if claim.claim else f"ResourceClaimTemplate {claim.template}"
    )
    raise SchedulerError(f"the files have no {what}")


def _id(key: _Key) -> str:
    return "/".join(key)


def _container(key: _Key, environment: Sequence[str] = ()) -> Container:
    return Container(*key, _id(key), tuple(environment))


def _cpus(claim: Claim) -> int:
    """The CPUs of a claim in billionths, as its devices map them."""

    def of(result: Result) -> int:
        return quantity.parse(result.consumed or "1").nano

    return sum(map(of, claim.own_results))


def _started(below: runtimes.Started, cpus: int) -> runtimes.Started:
    """As the runtime starts it with the driver's cpuset, and what its slices leave of that."""
    effective = cpus & below.effective or cpus
    return below._replace(cpus=cpus, effective=effective, updated=to_text(cpus), outside=())
