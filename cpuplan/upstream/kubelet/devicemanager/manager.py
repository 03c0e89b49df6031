"""The device manager of a running kubelet (pkg/kubelet/cm/devicemanager/manager.go).

It takes devices out of Go maps and asks plugins which ones they would rather give out: which of
several devices a container gets is not determined then. Such a `Choice` is made by `choose`.

Upstream: kubernetes/kubernetes pkg/kubelet/cm/devicemanager/manager.go
  @ 24e2b02af5543d7910c2bb074c7264df5a8f0467
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from cpuplan.upstream.kubelet.devicemanager.pod_devices import Given, Plugin, PodDevices, Pool
from cpuplan.upstream.kubelet.devicemanager.topology_hints import (
    generate_device_topology_hints,
    has_topology_alignment,
    numa_nodes_to_combine,
)
from cpuplan.upstream.kubelet.manager import ActivePods
from cpuplan.upstream.kubelet.topologymanager.policy import (
    NONE,
    Policy,
    TopologyHint,
)
from cpuplan.upstream.kubernetes.bits import members
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.kube_features import Gates, has_behaviour
from cpuplan.upstream.kubernetes.pod import Container, Pod, Resources, aggregate
from cpuplan.upstream.kubernetes.strconv import quote

#: By resource, as ProviderHints.
Hints = dict[str, list[TopologyHint] | None]


class Choice(NamedTuple):
    """`needed` of the devices `among` are taken, and nobody knows which.

    It `matters` where they differ in NUMA nodes that decide about pods.
    """

    pod: str
    container: str
    pool: Pool
    among: int
    needed: int
    matters: bool = True

    @property
    def resource(self) -> str:
        return self.pool.plugin.resource

    def kinds(self) -> list[int]:
        """The devices by their NUMA nodes."""
        kinds = (bits & self.among for bits in self.pool.by_mask.values())
        return [bits for bits in kinds if bits]


def selections(choice: Choice) -> list[int]:
    """All that can be taken, devices near the same NUMA nodes being alike."""
    partial = [(0, choice.needed)]
    for kind in choice.kinds():
        partial = [
            (taken | _first(kind, number), left - number)
            for taken, left in partial
            for number in range(min(left, kind.bit_count()) + 1)
        ]
    return [taken for taken, left in partial if not left]


def _first(devices: int, number: int) -> int:
    taken = 0
    for at in members(devices)[:number]:
        taken |= 1 << at
    return taken


def lowest(choice: Choice) -> int:
    """The first of the devices, in the order in which their plugin lists them."""
    return _first(choice.among, choice.needed)


class DeviceState(NamedTuple):
    """What the manager keeps between two pods."""

    pods: PodDevices
    allocated: dict[str, frozenset[str]]

    def copy(self) -> "DeviceState":
        return DeviceState(self.pods.copy(), dict(self.allocated))


class DeviceManager:
    """Which container has which devices."""

    def __init__(
        self,
        plugins: Iterable[Plugin],
        policy: Policy,
        gates: Gates,
        active: ActivePods,
        *,
        is_openshift: bool = False,
    ) -> None:
        self.pools = {plugin.resource: Pool(plugin) for plugin in plugins}
        self.state = DeviceState(PodDevices(), {})
        self.reusable: dict[str, Given] = {}
        self.choose: Callable[[Choice], int] = lowest
        #: The choices since somebody looked that may decide about later pods.
        self.open: list[Choice] = []
        self._numa_nodes, self._active = policy.numa.nodes, active
        self._is_aligned = policy.name != NONE
        self.only_with_devices = has_behaviour(
            gates.version, "devices.nodes_with_devices", is_openshift=is_openshift
        )

    def healthy(self) -> dict[str, int]:
        """How many devices of each resource can be given out (GetCapacity)."""
        return {name: pool.healthy.bit_count() for name, pool in self.pools.items()}

    def free(self, resource: str) -> int:
        """The devices of a resource that nobody has."""
        pool = self.pools[resource]
        return pool.healthy & ~pool.known(self.state.allocated.get(resource, frozenset()))

    def key(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """How many devices are left near which NUMA nodes: all that decides about the next pod."""
        return tuple((name, self._left(name)) for name in sorted(self.pools))

    def _left(self, resource: str) -> tuple[int, ...]:
        free = self.free(resource)
        kinds = self.pools[resource].by_mask.values() if self._is_aligned else (free,)
        return tuple((kind & free).bit_count() for kind in kinds)

    def devices_of(self, pod: str, container: str) -> dict[str, tuple[str, ...]]:
        """The devices of a container by resource, as its plugin lists them."""
        given = self.state.pods.of_container(pod, container)
        return {name: self._listed(name, ids) for name, ids in sorted(given.items()) if ids}

    def nodes_of(self, resource: str, ids: Iterable[str]) -> tuple[int, ...]:
        """The NUMA nodes that devices are near, as far as their plugin says."""
        pool = self.pools.get(resource)
        known = pool.known(frozenset(ids)) if pool else 0
        own = [pool.devices[at].nodes or () for at in members(known)] if pool else []
        return tuple(sorted({node for nodes in own for node in nodes}))

    def _listed(self, resource: str, ids: frozenset[str]) -> tuple[str, ...]:
        pool = self.pools.get(resource)
        if pool is None:
            return tuple(sorted(ids))
        known = pool.ids(pool.known(ids))
        return (*known, *sorted(ids.difference(known)))

    def remove_stale_state(self) -> None:
        """Free the devices of pods that are not active any more (UpdateAllocatedDevices)."""
        if not self.state.pods.entries:
            return
        active = self._active()
        if active is None:
            return
        stale = self.state.pods.entries.keys() - {pod.uid for pod in active}
        for uid in stale:
            self.state.pods.delete(uid)
        if stale:
            self.state = self.state._replace(allocated=self.state.pods.devices())

    def _is_ready(self) -> bool:
        """Whether the kubelet knows its pods; before, no plugin has registered again either."""
        return self._active() is not None

    def _requests(self, limits: Resources) -> dict[str, int]:
        """Of the limits those on devices: requests are the same (isDevicePluginResource)."""
        known = self.pools.keys() | self.state.allocated.keys()
        return {name: amount.value for name, amount in limits.items() if name in known}

    def topology_hints(self, pod: Pod, container: Container) -> Hints:
        self.remove_stale_state()
        hints: Hints = {}
        reusable = self.reusable.get(pod.uid, {})
        for resource, request in self._requests(container.limits).items():
            given = self.state.pods.of_container(pod.uid, container.name)
            of_resource = given.get(resource, frozenset())
            reused = reusable.get(resource, frozenset())
            hints[resource] = self._hints(resource, request, of_resource, reused)
        return hints

    def pod_topology_hints(self, pod: Pod) -> Hints:
        """Hints for all containers at once: what init containers leave is not looked at here."""
        self.remove_stale_state()
        hints: Hints = {}
        for resource, request in self._requests(aggregate(pod, "limits")).items():
            given = self.state.pods.of_pod(pod.uid, resource)
            hints[resource] = self._hints(resource, request, given, frozenset())
        return hints

    def _hints(
        self, resource: str, request: int, given: frozenset[str], reused: frozenset[str]
    ) -> list[TopologyHint] | None:
        """None without NUMA nodes, empty where the devices are not there."""
        pool = self.pools.get(resource)
        if pool is None or not has_topology_alignment(pool) or not self._is_ready():
            return None
        available, reusable = self.free(resource), pool.known(reused)
        if given:
            if len(given) != request:
                return []
            available, reusable = pool.bits(given), 0
        elif (available | reusable).bit_count() < request:
            return []
        nodes = numa_nodes_to_combine(
            pool, self._numa_nodes, only_with_devices=self.only_with_devices
        )
        return generate_device_topology_hints(pool, nodes, available, reusable, request)

    def allocate(self, pod: Pod, container: Container, affinity: TopologyHint) -> None:
        """Devices for a container, by the name of the resource; KubeletError refuses the pod.

        The kubelet goes through the limits of a container in no order: where two resources are
        missing, it may name the other one.
        """
        reusable = self.reusable = {pod.uid: self.reusable.get(pod.uid, {})}
        left = reusable[pod.uid]
        requests = sorted(self._requests(container.limits).items())
        if requests:
            self.remove_stale_state()
        for resource, request in requests:
            reused = left.get(resource, frozenset())
            self._allocate_resource(pod, container, resource, request, reused, affinity)
        for resource, ids in self.state.pods.of_container(pod.uid, container.name).items():
            reused = left.get(resource, frozenset())
            left[resource] = reused | ids if container.is_plain_init else reused - ids

    def allocate_pod(self, pod: Pod, affinity: TopologyHint) -> None:
        """Pods with resources of their own get no devices."""

    def _allocate_resource(
        self,
        pod: Pod,
        container: Container,
        resource: str,
        request: int,
        reused: frozenset[str],
        affinity: TopologyHint,
    ) -> None:
        given = self.state.pods.of_container(pod.uid, container.name).get(resource)
        if given is not None and len(given) != request:
            who = f"pod {quote(pod.uid)} container {quote(container.name)}"
            change = f"from {len(given)} to {request}"
            raise KubeletError(f"{who} changed request for resource {quote(resource)} {change}")
        if not self._is_ready():  # a restart of the kubelet, while the container runs
            return
        pool = self._usable(resource, given or frozenset())
        if given is not None or request == 0:
            return
        taking = _Taking(pod.uid, container.name, pool, request)
        self._take(taking, pool.known(reused), affinity)
        ids = frozenset(pool.ids(taking.taken))
        if ids:
            self.state.pods.insert(pod.uid, container.name, resource, ids)

    def _usable(self, resource: str, given: frozenset[str]) -> Pool:
        """The pool of a resource; KubeletError where nothing can come from it."""
        pool = self.pools.get(resource)
        if pool is None:
            raise KubeletError(f"cannot allocate unregistered device {resource}")
        if not pool.healthy:
            problem = "no healthy devices present; cannot allocate unhealthy devices"
            raise KubeletError(f"{problem} {resource}")
        if pool.known(given).bit_count() < len(given) or pool.known(given) & ~pool.healthy:
            problem = "previously allocated devices are no longer healthy; "
            raise KubeletError(f"{problem}cannot allocate unhealthy devices {resource}")
        return pool

    def _take(self, taking: "_Taking", reusable: int, affinity: TopologyHint) -> None:
        """What init containers leave, then what is near the affinity, then any."""
        if self._take_from(taking, reusable):
            return
        pool, resource = taking.pool, taking.pool.plugin.resource
        available = self.free(resource)
        if available.bit_count() < taking.needed:
            counts = f"Requested: {taking.needed}, Available: {available.bit_count()}"
            raise KubeletError(f"requested number of devices unavailable for {resource}. {counts}")
        for devices in self._by_affinity(pool, available, affinity):
            if self._take_from(taking, devices):
                return

    def _by_affinity(self, pool: Pool, available: int, affinity: TopologyHint) -> Sequence[int]:
        """Devices near the affinity, others with NUMA nodes, those without (filterByAffinity).

        A plugin that prefers devices may take one without NUMA nodes before one with others.
        """
        if not has_topology_alignment(pool) or affinity.affinity is None:
            return (available,)
        aligned = available & pool.near(affinity.affinity)
        rest = available & ~aligned
        if pool.plugin.may_prefer:
            return aligned, rest
        return aligned, rest & ~pool.without_nodes, rest & pool.without_nodes

    def _take_from(self, taking: "_Taking", devices: int) -> bool:
        """Take of the devices as many as are needed; whether that is all (allocateRemainingFrom).

        The kubelet takes them in the order of a Go map.
        """
        fresh = devices & ~taking.taken
        if fresh.bit_count() > taking.needed:
            fresh = self._chosen(taking, fresh)
        if not fresh:
            return False
        taking.taken |= fresh
        taking.needed -= fresh.bit_count()
        resource = taking.pool.plugin.resource
        before = self.state.allocated.get(resource, frozenset())
        self.state.allocated[resource] = before.union(taking.pool.ids(fresh))
        return taking.needed == 0

    def _chosen(self, taking: "_Taking", among: int) -> int:
        choice = Choice(taking.pod, taking.container, taking.pool, among, taking.needed)
        choice = choice._replace(matters=self._is_aligned and len(choice.kinds()) > 1)
        if choice.matters:
            self.open.append(choice)
        return self.choose(choice)


class _Taking:
    """The devices that a container has got so far of a resource, and how many more it needs."""

    def __init__(self, pod: str, container: str, pool: Pool, needed: int) -> None:
        self.pod, self.container, self.pool, self.needed = pod, container, pool, needed
        self.taken = 0
