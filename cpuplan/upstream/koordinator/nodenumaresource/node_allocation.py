"""A node of the scheduler's cache: what its pods have of CPUs, and of resources by NUMA node.

Upstream: koordinator-sh/koordinator pkg/scheduler/plugins/nodenumaresource/node_allocation.go
  @ 989ca85c62abcca92b303aa12fd2ccff2ed30fed
"""

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

from cpuplan.upstream.koordinator.extension.node import amplified, amplify, of_milli, read_ratios
from cpuplan.upstream.koordinator.extension.numa_aware import NumaNodeResource
from cpuplan.upstream.koordinator.nodenumaresource.cpu_accumulator import Allocated
from cpuplan.upstream.koordinator.nodenumaresource.cpu_topology import CPUTopology
from cpuplan.upstream.koordinator.nodenumaresource.topology_options import TopologyOptions
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.pod import CPU, Resources, sum_of
from cpuplan.upstream.kubernetes.quantity import ZERO, Quantity

INVALID_TOPOLOGY = "node(s) invalid CPU Topology"
#: What pods with CPUs of one NUMA node, or of several, are on it.
IDLE, SHARED, SINGLE = "idle", "shared", "single"


class PodAllocation(NamedTuple):
    """What one pod has."""

    uid: str
    cpus: int = 0
    exclusive_policy: str = ""
    numa_nodes: tuple[NumaNodeResource, ...] = ()


class NodeAllocation:
    """What all pods have.

    `memo` keeps what was worked out for one pod after the other until something changes.
    """

    def __init__(self, options: TopologyOptions) -> None:
        self.options = options
        self.memo: dict[Hashable, Any] = {}
        self.pods: dict[str, PodAllocation] = {}
        self.allocated = Allocated()
        self.resources: dict[int, Resources] = {}
        self._users: dict[str, set[tuple[int, str]]] = {SINGLE: set(), SHARED: set()}

    def update(self, pod: PodAllocation) -> None:
        """Notes a pod, instead of what it had before; nothing on a node without known CPUs."""
        topology = self.options.topology
        if topology is None or not topology.is_valid:
            return
        self.release(pod.uid)
        self.memo = {}
        self.pods[pod.uid] = pod
        self.allocated = self.allocated.plus(pod.cpus, pod.exclusive_policy)
        used = topology.node_ids(pod.cpus)
        users = self._users[SHARED if len(used) > 1 else SINGLE]
        users.update((node, pod.uid) for node in used)
        for zone in pod.numa_nodes:
            self.resources[zone.node] = _sum(self.resources.get(zone.node, {}), zone.resources)

    def release(self, uid: str) -> None:
        """Forgets a pod; nothing happens for one that is not known."""
        pod = self.pods.pop(uid, None)
        if pod is None:
            return
        self.memo = {}
        self.allocated = self.allocated.minus(pod.cpus)
        for users in self._users.values():
            users.difference_update({user for user in users if user[1] == uid})
        for zone in pod.numa_nodes:
            self.resources[zone.node] = rest_of(self.resources[zone.node], zone.resources)

    def report(self, options: TopologyOptions) -> None:
        """The hardware, or what is kept back, has changed."""
        self.memo, self.options = {}, options

    def take(self) -> tuple[Any, ...]:
        """This moment, for `restore`."""
        users = {kind: frozenset(users) for kind, users in self._users.items()}
        return dict(self.pods), self.allocated, dict(self.resources), users

    def restore(self, moment: tuple[Any, ...]) -> None:
        self.memo = {}
        pods, self.allocated, resources, users = moment
        self.pods, self.resources = dict(pods), dict(resources)
        self._users = {kind: set(users[kind]) for kind in users}

    def key(self) -> Hashable:
        """What the next pod depends on: not who has which CPUs, only how they are taken."""
        resources = (
            (node, name, amount.nano)
            for node, kept in self.resources.items()
            for name, amount in kept.items()
        )
        return self.allocated, frozenset(resources), self._nodes(SINGLE), self._nodes(SHARED)

    def _nodes(self, kind: str) -> frozenset[int]:
        """The NUMA nodes with pods of a kind."""
        return frozenset(node for node, _ in self._users[kind])

    def statuses(self, count: int) -> list[str]:
        """IDLE, SINGLE or SHARED for NUMA nodes 0 to count - 1 (GetAllNUMANodeStatus)."""
        single, shared = self._nodes(SINGLE), self._nodes(SHARED)
        return [_status(node in single, node in shared) for node in range(count)]

    def available_cpus(self, *returned: int) -> tuple[int, Allocated]:
        """CPUs for pods, and who has the others, once those of each set are given back.

        KubeletError when the node has no CPUs that the scheduler knows.
        """
        options = self.options
        if options.topology is None:
            return 0, Allocated()
        if not options.topology.is_valid:
            raise KubeletError(INVALID_TOPOLOGY)
        allocated = self.allocated
        for cpus in returned:
            allocated = allocated.minus(cpus & allocated.cpus) if cpus else allocated
        taken = allocated.taken(options.max_ref_count)
        return options.topology.all & ~taken & ~options.reserved, allocated

    def numa_resources(
        self, zones: tuple[NumaNodeResource, ...], ratio: float
    ) -> tuple[dict[int, dict[str, Quantity]], dict[int, Resources]]:
        """(what is left of each zone, what pods have) (getAvailableNUMANodeResources).

        CPUs that are bound count amplified by `ratio`. Nobody changes what is returned.
        """
        known = self.memo.get((id(zones), ratio))
        if known is None:
            # The zones are kept, so that no others get their id.
            known = self.memo[id(zones), ratio] = (*self._numa_resources(zones, ratio), zones)
        return known[:2]

    def _numa_resources(
        self, zones: tuple[NumaNodeResource, ...], ratio: float
    ) -> tuple[dict[int, dict[str, Quantity]], dict[int, Resources]]:
        left, used = {}, {}
        for zone in zones:
            resources = self.resources.get(zone.node)
            if resources is not None:
                used[zone.node] = self._amplified(zone.node, resources, ratio)
            left[zone.node] = rest_of(zone.resources, used.get(zone.node, {}))
        return left, used

    def _amplified(self, node: int, resources: Resources, ratio: float) -> Resources:
        if ratio <= 1 or self.options.topology is None:
            return resources
        bound = 1000 * _count_in(self.options.topology, node, self.allocated.cpus)
        milli = resources.get(CPU, ZERO).milli - bound + amplify(bound, ratio)
        return {**resources, CPU: of_milli(milli)}


def _count_in(topology: CPUTopology, node: int, cpus: int) -> int:
    """The CPUs of a NUMA node; those that the machine lacks count to node 0."""
    unknown = cpus & ~topology.all if node == 0 else 0
    return (cpus & topology.in_node.get(node, 0) | unknown).bit_count()


def _status(is_single: bool, is_shared: bool) -> str:
    if is_shared:
        return SHARED
    return SINGLE if is_single else IDLE


def _sum(first: Resources, second: Resources) -> dict[str, Quantity]:
    """quota.Add."""
    total = dict(first)
    for name, amount in second.items():
        total[name] = total[name].plus(amount) if name in total else amount
    return total


def rest_of(first: Resources, second: Mapping[str, Quantity]) -> dict[str, Quantity]:
    """`first` without `second`, never below 0 (quota.SubtractWithNonNegativeResult)."""
    rest = dict(first)
    for name, amount in first.items():
        other = second.get(name)
        if other is not None:
            amount = amount.minus(other)  # noqa: PLW2901 (a value)
        rest[name] = amount if amount.nano > 0 else ZERO
    rest.update({name: ZERO for name in second if name not in first})
    return rest


class NodeObject(NamedTuple):
    """What the Node's object and its NodeResourceTopology say."""

    name: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    allocatable: Resources
    options: TopologyOptions = TopologyOptions()


class Moment(NamedTuple):
    """The state of a node between two pods."""

    options: TopologyOptions
    requests: Mapping[str, Resources]
    allocation: Any


class SchedulerNode:
    """A node, the requests of its pods, and what the plugin gave to them."""

    def __init__(self, node: NodeObject) -> None:
        self.node, self.options = node, node.options
        self.allocation = NodeAllocation(node.options)
        self.requests: dict[str, Resources] = {}

    def release(self, uid: str) -> None:
        """The pod is gone, or was never bound."""
        self.allocation.release(uid)
        self.requests.pop(uid, None)

    def report(self, options: TopologyOptions) -> None:
        """The NodeResourceTopology was written anew."""
        self.options = options
        self.allocation.report(options)

    def take(self) -> Moment:
        """This moment between two pods, for `restore`."""
        return Moment(self.options, dict(self.requests), self.allocation.take())

    def restore(self, moment: Moment) -> None:
        self.report(moment.options)
        self.requests = dict(moment.requests)
        self.allocation.restore(moment.allocation)

    def key(self) -> Hashable:
        """What the next pod's scheduling depends on beside all requests."""
        return self.allocation.key(), self.options.reserved

    @property
    def requested(self) -> Resources:
        return sum_of(self.requests.values())

    def amplified_zones(self) -> tuple[tuple[NumaNodeResource, ...], Mapping[str, float]]:
        """(zones, ratios): those of the NodeResourceTopology, where it has ratios, or of the node.

        KubeletError for an annotation of the node that cannot be read.
        """
        if self.options.ratios is not None:
            return self.options.numa_nodes, self.options.ratios
        ratios = read_ratios(self.node.annotations)
        if not ratios:
            return self.options.numa_nodes, {}
        zones = (
            zone._replace(resources=amplified(zone.resources, ratios, zone.resources))
            for zone in self.options.numa_nodes
        )
        return tuple(zones), ratios
