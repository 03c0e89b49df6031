"""The dynamic policy, which no kubelet has: exclusive sets move to make room.

The design of the CPU Manager of 2017 names it and leaves it open.

Exclusive sets may be re-packed as pods come and go. A pod gets what the static policy gives it;
only where that refuses it are others moved, as few CPUs as can be, under the same constraints:
reserved CPUs, whole cores with full-pcpus-only, the NUMA nodes (or sockets) that the topology
manager's policy asks for. Where the static policy hands out parts of cores in spite of
full-pcpus-only, or CPUs of others, this one does not. When a pod goes, containers that best-effort
had to admit across NUMA nodes are moved together, if there is room.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Generic, NamedTuple, TypeVar

from cpuplan.simulate.dynamic.repacking import (
    LIMIT,
    Item,
    choose,
    cut,
    repack,
    take,
    unit_size,
    units,
)
from cpuplan.upstream.kubelet.cpumanager.cpu_manager import CPUManager
from cpuplan.upstream.kubelet.cpumanager.policy_static import (
    StaticPolicy,
    generate_cpu_topology_hints,
)
from cpuplan.upstream.kubelet.cpumanager.state import CPUState
from cpuplan.upstream.kubelet.topologymanager.policy import (
    BEST_EFFORT,
    CONTAINER,
    NONE,
    POD,
    SINGLE,
    Policy,
)
from cpuplan.upstream.kubelet.topologymanager.scope import TopologyManager
from cpuplan.upstream.kubernetes.errors import AdmissionError, HangError, KubeletError
from cpuplan.upstream.kubernetes.pod import Container, Pod
from cpuplan.upstream.kubernetes.qos import guaranteed_cpus, pod_guaranteed_cpus

K = TypeVar("K", bound=Hashable)
#: Sets of CPUs by owner.
Sets = Mapping[K, int]


class Update(NamedTuple, Generic[K]):
    """What a container sees in the file that is projected into it: its CPUs before and after."""

    key: K
    old: int
    new: int


def order_updates(before: Sets[K], after: Sets[K]) -> list[Update[K]]:
    """The updates from one state to the next; both have the same owners.

    Owners that wait for each other shrink first to what they keep, which is an update more; one
    that keeps nothing then is changed while another still has its new CPUs.
    """
    now = dict(before)
    updates = []

    def change(key: K, cpus: int) -> None:
        updates.append(Update(key, now[key], cpus))
        now[key] = cpus

    while waiting := [key for key in now if now[key] != after[key]]:
        ready = [key for key in waiting if _is_free(key, after[key], now)]
        if ready:
            change(ready[0], after[ready[0]])
            continue
        shrinking = [key for key in waiting if now[key] & after[key] not in (0, now[key])]
        key = (shrinking or waiting)[0]
        change(key, now[key] & after[key] if shrinking else after[key])
    return updates


def _is_free(key: K, cpus: int, now: Sets[K]) -> bool:
    return not any(cpus & held for other, held in now.items() if other != key)


#: (pod UID, container name).
Key = tuple[str, str]
#: Stands for all containers in the shared pool.
SHARED_POOL: Key = ("", "")


class Admission(NamedTuple):
    """The CPUs of an admitted pod's containers, and the updates that other containers see.

    A container without exclusive CPUs has the shared pool. Without `is_exact` fewer CPUs might have
    been moved.
    """

    cpus: Mapping[str, int]
    updates: tuple[Update[Key], ...]
    is_exact: bool = True


class Regions:
    """Regions are sets of CPUs; a container's CPUs are within one of its regions."""

    def __init__(self, static: StaticPolicy, policy_name: str, scope: str) -> None:
        self.static, self.policy_name, self.scope = static, policy_name, scope

    def group(self, pod: Pod, container: Container) -> str:
        """Containers of a group are in the same region."""
        return pod.uid if self.scope == POD else f"{pod.uid}/{container.name}"

    def allowed(self, pod: Pod, container: Container) -> tuple[int, ...]:
        """Anywhere, unless the topology manager refuses what it does not prefer."""
        if self.policy_name in (NONE, BEST_EFFORT):
            return (self.static.allocatable,)
        return self.preferred(pod, container)

    def preferred(self, pod: Pod, container: Container) -> tuple[int, ...]:
        """What preferred hints stand for, on a machine without any exclusive CPUs yet."""
        static = self.static
        count = pod_guaranteed_cpus(pod, static.gates) if self.scope == POD else 0
        count = count or guaranteed_cpus(pod, container, static.gates)
        by_socket = static.options.align_by_socket
        hints = generate_cpu_topology_hints(
            static.topology, static.allocatable, 0, count, align_by_socket=by_socket
        )
        masks = [hint.affinity or 0 for hint in hints if hint.preferred]
        if self.policy_name == SINGLE:
            masks = [mask for mask in masks if mask.bit_count() == 1]
        return tuple(dict.fromkeys(static.aligned(mask) & static.allocatable for mask in masks))


#: The regions of a container.
RegionsOf = Callable[[Pod, Container], tuple[int, ...]]


class DynamicPolicy:
    """A CPU manager with this policy, beside a topology manager without devices or memory."""

    def __init__(
        self,
        static: StaticPolicy,
        alignment: Policy,
        *,
        scope: str = CONTAINER,
        state: CPUState | None = None,
        active: Iterable[Pod] = (),
        limit: int = LIMIT,
    ) -> None:
        """Start with the pods `active` and what a state gives them; without one, with none."""
        self.static, self.alignment, self.scope, self.limit = static, alignment, scope, limit
        self.gates, self.topology = static.gates, static.topology
        self._regions = Regions(static, alignment.name, scope)
        self.active: list[Pod] = list(active)
        self._starting: list[Pod] = []
        self.cpus = CPUManager(static, self.gates, lambda: [*self.active, *self._starting])
        if state is None:
            static.start(self.cpus.state)
        else:
            self.cpus.state = CPUState(state.default, state.entries)
        self._everything = self.state.default | self._taken()
        self._manager = TopologyManager(alignment, scope, (self.cpus,), self.gates)
        #: Whether the last admission or removal was searched through: a pod refused without had
        #: perhaps room.
        self.is_exact = True

    @property
    def state(self) -> CPUState:
        return self.cpus.state

    def admit(self, pod: Pod) -> Admission:
        """Room for a pod, by the static policy's choice or else by the least movement of others.

        KubeletError refuses it, with the static policy's reason, and leaves everything as it was.
        """
        before = self._sets()
        saved = CPUState(self.state.default, self.state.entries)
        self.is_exact = True
        self._starting = [pod]
        try:
            try:
                self._manager.admit(pod)
                self._check(pod, before)
                assigned = dict(self.state.entries.get(pod.uid, {}))
            except (KubeletError, HangError) as refused:
                self.cpus.state = saved
                assigned = self._make_room(pod)
                if not assigned:
                    raise (
                        refused if isinstance(refused, KubeletError) else KubeletError(str(refused))
                    ) from None
        finally:
            self._starting = []
        self.active.append(pod)
        self._settle(pod)
        names = [container.name for container in pod.all_containers]
        own = {name: assigned.get(name, self.state.default) for name in names}
        return Admission(own, self._updates(before, without=pod.uid), self.is_exact)

    def remove(self, uid: str) -> tuple[Update[Key], ...]:
        """A pod is gone; what the others see change."""
        before = {key: cpus for key, cpus in self._sets().items() if key[0] != uid}
        self.is_exact = True
        self.active = [pod for pod in self.active if pod.uid != uid]
        self._manager.forget(uid)
        self.state.delete_pod(uid)
        self._recount()
        if self.alignment.name == BEST_EFFORT:
            self._mend()
        return self._updates(before, without=uid)

    def _check(self, pod: Pod, before: Sets[Key]) -> None:
        """AdmissionError where the static policy gave parts of cores, or CPUs of others."""
        taken = self._everything & ~before[SHARED_POOL] | self.static.reserved
        for container in self._exclusive(pod, with_init=True):
            cpus = self.state.cpus_of(pod.uid, container.name) or 0
            count = guaranteed_cpus(pod, container, self.gates)
            if cpus & taken or cpus.bit_count() != count:
                raise KubeletError(f"no {count} CPUs are free")
            if self.static.options.full_pcpus_only and self.topology.siblings_of(cpus) != cpus:
                text = f"SMT Alignment Error: no {count} CPUs are free in whole cores"
                raise AdmissionError("SMTAlignmentError", text)

    def _exclusive(self, pod: Pod, *, with_init: bool = False) -> list[Container]:
        """The containers of a pod that have CPUs of their own as long as it runs."""
        if self.static.ignores(pod):
            return []
        return [
            container
            for container in pod.all_containers
            if guaranteed_cpus(pod, container, self.gates)
            and (with_init or not container.is_plain_init)
        ]

    def _sets(self) -> dict[Key, int]:
        """The exclusive CPUs of every container that has some, and the shared pool."""
        sets: dict[Key, int] = {}
        for uid, containers in self.state.entries.items():
            for name, cpus in containers.items():
                sets[uid, name] = cpus
        sets[SHARED_POOL] = self.state.default
        return sets

    def _taken(self) -> int:
        """The CPUs that containers have for themselves."""
        taken = 0
        for containers in self.state.entries.values():
            for cpus in containers.values():
                taken |= cpus
        return taken

    def _recount(self) -> None:
        self.state.default = self._everything & ~self._taken()

    def _settle(self, pod: Pod) -> None:
        """Ends the plain init containers of a pod.

        What only they used stays assigned to them, as in the kubelet, and is not moved.
        """
        running = 0
        for container in self._exclusive(pod):
            running |= self.state.cpus_of(pod.uid, container.name) or 0
        for container in pod.init_containers:
            cpus = self.state.cpus_of(pod.uid, container.name)
            if cpus is not None and container.is_plain_init:
                self.state.delete(pod.uid, container.name)
                if cpus & ~running:
                    self.state.set_cpus(pod.uid, container.name, cpus & ~running)
                running |= cpus
        self._recount()

    def _updates(self, before: Sets[Key], *, without: str) -> tuple[Update[Key], ...]:
        """The updates of containers of other pods; those in the shared pool get one each."""
        after = {key: cpus for key, cpus in self._sets().items() if key in before}
        shared = [
            (pod.uid, container.name)
            for pod in self.active
            for container in pod.all_containers
            if pod.uid != without
            and not container.is_plain_init
            and container not in self._exclusive(pod)
        ]
        updates: list[Update[Key]] = []
        for update in order_updates({key: before[key] for key in after}, after):
            keys = shared if update.key == SHARED_POOL else [update.key]
            updates += [update._replace(key=key) for key in keys]
        return tuple(updates)

    def _make_room(self, pod: Pod) -> dict[str, int]:
        """The sets of a new pod, others being moved; empty when no movement helps.

        Its plain init containers use what its other containers have, or else get CPUs as if they
        ran with them.
        """
        counts = [
            guaranteed_cpus(pod, container, self.gates)
            for container in self._exclusive(pod, with_init=True)
        ]
        if not counts or any(count % unit_size(self.static) for count in counts):
            return {}
        for with_init in (False, True):
            items = self._items(self._regions.allowed) | self._new_items(pod, with_init=with_init)
            sets = self._repack(items)
            if sets is None:
                continue
            own = {name: cpus for (uid, name), cpus in sets.items() if uid == pod.uid}
            init = {} if with_init else self._init_sets(pod, own)
            if init is not None:
                self._apply(sets)
                return {**own, **init}
        return {}

    def _new_items(self, pod: Pod, *, with_init: bool) -> dict[Key, Item]:
        return {
            (pod.uid, container.name): self._item(pod, container, 0, self._regions.allowed)
            for container in self._exclusive(pod, with_init=with_init)
        }

    def _init_sets(self, pod: Pod, own: Mapping[str, int]) -> dict[str, int] | None:
        """CPUs of the pod's app containers for its plain init containers; None if too few."""
        sidecars = {container.name for container in pod.init_containers}
        usable = sum(cpus for name, cpus in own.items() if name not in sidecars)
        init = {}
        for container in pod.init_containers:
            count = guaranteed_cpus(pod, container, self.gates)
            if not count or not container.is_plain_init:
                continue
            regions = [region & usable for region in self._regions.allowed(pod, container)]
            room = next((cpus for cpus in regions if cpus.bit_count() >= count), None)
            if room is None:
                return None
            init[container.name] = take(self.static, room, count)
        return init

    def _items(self, regions: RegionsOf) -> dict[Key, Item]:
        """What may be moved."""
        items = {}
        for pod in self.active:
            for container in self._exclusive(pod):
                cpus = self.state.cpus_of(pod.uid, container.name)
                if cpus is not None:
                    items[pod.uid, container.name] = self._item(pod, container, cpus, regions)
        return items

    def _item(self, pod: Pod, container: Container, old: int, regions: RegionsOf) -> Item:
        group = self._regions.group(pod, container)
        count = guaranteed_cpus(pod, container, self.gates)
        return Item(group, count, old, regions(pod, container))

    def _repack(self, items: Mapping[Key, Item]) -> dict[Key, int] | None:
        cells = cut(list(items.values()), self._units(items))
        layout = repack(list(items.values()), cells, limit=self.limit)
        self.is_exact = self.is_exact and layout.is_exact
        if layout.shares is None:
            return None
        return choose(self.static, items, cells, layout.shares)

    def _units(self, items: Mapping[Key, Item]) -> list[int]:
        """The CPUs or (full-pcpus-only) whole cores that can be given to `items`.

        CPUs that init containers left are not among them.
        """
        usable = self.static.allocatable
        for key, cpus in self._sets().items():
            if key != SHARED_POOL and key not in items:
                usable &= ~cpus
        return units(self.static, usable)

    def _apply(self, sets: Mapping[Key, int]) -> None:
        for (uid, name), cpus in sets.items():
            self.state.set_cpus(uid, name, cpus)
        self._recount()

    def _mend(self) -> None:
        """Moves containers into preferred regions, one by one, without driving others out."""
        for pod in self.active:
            for container in self._exclusive(pod):
                if self._is_aligned(pod, container):
                    continue
                items = self._items_to_mend(self._regions.group(pod, container))
                if not all(item.regions for item in items.values()):
                    continue
                sets = self._repack(items)
                if sets:
                    self._apply(sets)

    def _items_to_mend(self, wanted: str) -> dict[Key, Item]:
        """All movable items; the mended group and aligned containers stay in preferred regions."""

        def regions(pod: Pod, container: Container) -> tuple[int, ...]:
            if self._regions.group(pod, container) == wanted or self._is_aligned(pod, container):
                return self._regions.preferred(pod, container)
            return (self.static.allocatable,)

        return self._items(regions)

    def _is_aligned(self, pod: Pod, container: Container) -> bool:
        """Whether a container, or in the scope of pods its pod, is within a preferred region."""
        cpus = self.state.cpus_of(pod.uid, container.name) or 0
        if self.scope == POD:
            for other in self._exclusive(pod):
                cpus |= self.state.cpus_of(pod.uid, other.name) or 0
        return any(not cpus & ~region for region in self._regions.preferred(pod, container))
