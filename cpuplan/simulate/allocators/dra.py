"""The DRA CPU driver beside a kubelet whose CPU manager has the policy none."""

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from cpuplan.simulate import runtimes
from cpuplan.simulate.allocators import base
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
from cpuplan.simulate.dra import Inputs
from cpuplan.simulate.planned import Planned
from cpuplan.upstream.dra import api
from cpuplan.upstream.dra.allocator_incubating import (
    MOST_DEVICES,
    Request,
    SchedulerError,
    Search,
    Spec,
    StoppedError,
    Usage,
)
from cpuplan.upstream.dra.api import DraError
from cpuplan.upstream.dra.driver import Claim, Container, Driver, Moment, Result
from cpuplan.upstream.kubelet.kubelet import Node
from cpuplan.upstream.kubernetes import quantity
from cpuplan.upstream.kubernetes.bits import to_text
from cpuplan.upstream.kubernetes.pod import CPU, Pod, PodClaim
from cpuplan.upstream.kubernetes.qos import pod_qos
from cpuplan.upstream.kubernetes.quantity import ZERO

_NO_DEVICES = "cannot allocate all claims"


class Held(NamedTuple):
    """An allocated claim, and the pods that it is reserved for."""

    claim: Claim
    pods: tuple[str, ...]


def allocate(pod: Pod, held: Mapping[str, Held], inputs: Inputs) -> dict[str, Claim]:
    """The pod's claims that are not `held` yet, with their devices, by their names.

    Raises SchedulerError, and StoppedError where the search is too long.
    """
    asked = {uid_of(pod, claim): claim for claim in pod.claims}
    for uid in asked if inputs.is_mapped else ():
        if uid in held:
            text = f"node allocatable resource claim {uid} has a mapped device"
            raise SchedulerError(f"{text} and cannot be shared across pods")
    asked = {uid: claim for uid, claim in asked.items() if uid not in held}
    specs = [_spec_of(claim) for claim in asked.values()]
    search = Search(inputs.devices, usage(held.values()), inputs.classes)
    allocated = search.allocate([spec for spec in specs if spec.results is None])
    if allocated is None:
        raise SchedulerError(_NO_DEVICES)
    results = iter(allocated)
    claims = {}
    for (uid, claim), spec in zip(asked.items(), specs, strict=True):
        own = next(results) if spec.results is None else spec.results
        name = claim.claim or f"{pod.name}-{claim.name}"
        claims[uid] = Claim(uid, name, own, spec.configs, pod.namespace or "default")
    return claims


def usage(held: Iterable[Held]) -> Usage:
    """The devices that allocated claims have, prepared or not."""
    devices, consumed = set(), dict[str, int]()
    for holding in held:
        for result in holding.claim.own_results:
            if result.consumed is None:
                devices.add(result.device)
            else:
                nano = quantity.parse(result.consumed).nano
                consumed[result.device] = consumed.get(result.device, 0) + nano
    return Usage(frozenset(devices), consumed)


def uid_of(pod: Pod, claim: PodClaim) -> str:
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


def cpus_of(claim: Claim) -> int:
    """The CPUs of a claim in billionths, as its devices map them."""

    def of(result: Result) -> int:
        return quantity.parse(result.consumed or "1").nano

    return sum(map(of, claim.own_results))


#: A container, by its pod's uid and its name.
Key = tuple[str, str]


def id_of(key: Key) -> str:
    return "/".join(key)


def container_of(key: Key, environment: Sequence[str] = ()) -> Container:
    return Container(*key, id_of(key), tuple(environment))


class Now(NamedTuple):
    """The driver, allocated claims, the CPUs of running containers, and those with a claim."""

    driver: Driver
    held: Mapping[str, Held]
    running: Mapping[Key, int]
    owners: Collection[Key]


def container_problems(now: Now) -> Iterator[tuple[str, str]]:
    """The first of each kind of what is wrong with the containers that run now."""
    for find in (_strays, _intruders, _forgotten):
        yield from list(find(now))[:1]


def _strays(now: Now) -> Iterator[tuple[str, str]]:
    """Claims with CPUs outside of their devices (bug: core ids that repeat)."""
    known = now.driver.chooser.devices
    for uid, cpus in now.driver.store.claims.items():
        results = now.held[uid].claim.own_results
        within = 0
        for result in results:
            within |= known[result.device].cpus
        if stray := cpus & ~within:
            device = ", ".join(dict.fromkeys(result.device for result in results))
            text = f"claim {uid} of {device} gets CPUs {to_text(cpus)}"
            yield "CP722", f"{text}, of which {to_text(stray)} are elsewhere"


def _intruders(now: Now) -> Iterator[tuple[str, str]]:
    """Containers without a claim that run on CPUs of claims, or on reserved ones."""
    store = now.driver.store
    for (pod, name), cpus in now.running.items():
        if (pod, name) in now.owners:
            continue
        others = {"of claims": cpus & store.prepared, "reserved": cpus & ~store.available}
        shown = [f"{to_text(own)} ({what})" for what, own in others.items() if own]
        if shown:
            yield "CP723", f"container {name} of {pod} runs on CPUs {' and '.join(shown)}"


def _forgotten(now: Now) -> Iterator[tuple[str, str]]:
    """Claims that no running container has: a restart of the driver gives their CPUs away."""
    left = _restarted(now)
    for uid, cpus in now.driver.store.claims.items():
        if uid not in left:
            text = f"no running container has claim {uid}: when the driver restarts, its CPUs "
            yield "CP723", f"{text}{to_text(cpus)} are others' as well"


def _restarted(now: Now) -> Collection[str]:
    """The claims that the driver knows after it has restarted."""
    moment, owners = now.driver.take(), now.driver.owners.owners
    containers = []
    for key in now.running:
        claims = [uid for uid, owner in owners.items() if owner == key]
        containers.append(container_of(key, now.driver.environment(claims)))
    now.driver.synchronize(containers)
    left = set(now.driver.store.claims)
    now.driver.restore(moment)
    return left


#: Reasons that a pod's events have: its claims are not prepared, or a container is not created.
NOT_PREPARED, NOT_CREATED = "FailedPrepareDynamicResources", "CreateContainerError"
_PREPARING = "Failed to prepare dynamic resources: NodePrepareResources failed for ResourceClaim"


class _Moment(NamedTuple):
    kubelet: Any
    driver: Moment
    held: dict[str, Held]
    running: dict[Key, int]
    given: dict[Key, int]
    owners: frozenset[Key]


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
        self._held: dict[str, Held] = {}
        self._running: dict[Key, int] = {}
        # Of init containers: they are over when the pod runs.
        self._given: dict[Key, int] = {}
        self._owners: set[Key] = set()

    def admit(self, pod: Pod) -> Admission:
        """Bind one pod, prepare its claims, and create its containers."""
        base.count_admission(self.kubelet, pod)
        before = dict(self._running)
        try:
            new = allocate(pod, self._held, self.inputs)
        except StoppedError as error:
            return Admission(Refusal(UNSCHEDULABLE, str(error)), is_exact=False)
        except SchedulerError as error:
            return Admission(Refusal(UNSCHEDULABLE, str(error)))
        admission = self._below.bind(self._counted(pod, new))
        if admission.refused:
            return admission
        try:
            self._prepare(pod, new)
            self._create(pod)
        except _RefusedError as error:
            self.remove(pod.uid)
            return Admission(error.refusal)
        return Admission(moves=tuple(self._moves(before)))

    def _counted(self, pod: Pod, new: Mapping[str, Claim]) -> Pod:
        """The pod with the CPUs of its claims, where the driver's mapping tells how many they are.

        They count as overhead does: for the node and the pod's cgroup, but not for its class.
        """
        if not self.inputs.is_mapped:
            return pod
        cpus = sum(map(cpus_of, new.values()), ZERO.nano)
        own = pod.overhead.get(CPU, ZERO).plus(quantity.Quantity(cpus))
        return pod._replace(overhead={**pod.overhead, CPU: own})

    def _prepare(self, pod: Pod, new: Mapping[str, Claim]) -> None:
        for uid, claim in new.items():
            self._held[uid] = Held(claim, ())
        for entry in pod.claims:
            uid = uid_of(pod, entry)
            held = self._held[uid]
            self._held[uid] = held._replace(pods=tuple(dict.fromkeys((*held.pods, pod.uid))))
            try:
                self.driver.prepare(held.claim)
            except DraError as error:
                text = f"{_PREPARING} {held.claim.name}: {error}"
                raise _RefusedError(NOT_PREPARED, text) from None

    def _create(self, pod: Pod) -> None:
        """Plain init containers run one after the other, before all others."""
        uids = {claim.name: uid_of(pod, claim) for claim in pod.claims}
        for container in pod.all_containers:
            used = self.driver.environment(uids[name] for name in container.claims)
            made = container_of((pod.uid, container.name), (*used, *container.env))
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
        ids = {id_of(key): key for key in self._running}
        for name, cpus in updates.items():
            if cpus:
                self._running[ids[name]] = cpus

    def _moves(self, before: Mapping[Key, int]) -> Iterator[Move]:
        for key, old in before.items():
            if self._running[key] != old:
                yield Move(*key, old, self._running[key], key in self._owners)

    def remove(self, uid: str) -> tuple[Move, ...]:
        """Remove a pod that has ended. Nobody gets its CPUs before the next claim's container."""
        for key in [key for key in self._running if key[0] == uid]:
            self.driver.forget(container_of(key))
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

    def _placed(self, key: Key, below: Placed) -> Placed:
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
        problems = tuple(container_problems(self._now))
        if ended:
            return Remainder(free, findings=problems)
        size = base.largest_admitted(self, self._most(free), free, self._probe)
        return Remainder(free, Left(free, size, {}), findings=problems)

    def _most(self, free: int) -> int:
        """The CPUs of the largest claim that might be had: of one device, or of 32."""
        if self.inputs.config.cpu_device_mode == api.INDIVIDUAL:
            return min(free.bit_count(), MOST_DEVICES)
        return max((device.capacity or 0 for device in self.inputs.devices), default=0)

    def _probe(self, cpus: int) -> Pod:
        """A pod of one container with one claim, and as many CPUs requested if claims count not."""
        if self.inputs.config.cpu_device_mode == api.INDIVIDUAL:
            request = Request("cpus", api.DRIVER, number=cpus)
        else:
            request = Request("cpus", api.DRIVER, capacity=((api.CAPACITY, str(cpus)),))
        pod = base.probe(0 if self.inputs.is_mapped else cpus)
        (container,) = pod.containers
        claim = PodClaim("cpus", template="cpus", spec=Spec((request,)))
        return pod._replace(claims=(claim,), containers=(container._replace(claims=("cpus",)),))

    @property
    def _now(self) -> Now:
        return Now(self.driver, self._held, self._running, self._owners)

    def restart(self) -> list[tuple[Pod | None, Refusal]]:
        """No pod is refused: no container is created again when the driver restarts."""
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
        used = usage(self._held.values())
        shared = tuple(uid for uid, held in self._held.items() if not uid.startswith(held.pods[0]))
        consumed = tuple(sorted(used.consumed.items()))
        return self._below.key(), self.driver.store.prepared, used.devices, consumed, shared


def _started(below: runtimes.Started, cpus: int) -> runtimes.Started:
    """As the runtime starts it with the driver's cpuset, and what its slices leave of that."""
    effective = cpus & below.effective or cpus
    return below._replace(cpus=cpus, effective=effective, updated=to_text(cpus), outside=())
