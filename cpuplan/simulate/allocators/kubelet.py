"""The kubelet with the planned configuration, whatever its policies are.

Before it sees a pod, the scheduler's filter of resources does.
"""

from collections.abc import Hashable
from types import MappingProxyType
from typing import NamedTuple

from cpuplan.simulate import runtimes
from cpuplan.simulate.allocators import base
from cpuplan.simulate.allocators.base import (
    HANG,
    PANIC,
    TOO_MANY_NODES,
    UNSCHEDULABLE,
    Admission,
    GivenDevices,
    Left,
    Move,
    Overlap,
    Placed,
    Refusal,
    Remainder,
)
from cpuplan.simulate.planned import Planned
from cpuplan.upstream.kubelet.cpumanager.state import CPUState
from cpuplan.upstream.kubelet.devicemanager.manager import DeviceState
from cpuplan.upstream.kubelet.kubelet import Kubelet, Node, StartError
from cpuplan.upstream.kubelet.memorymanager.state import MemoryState, NodeState
from cpuplan.upstream.kubernetes import quantity
from cpuplan.upstream.kubernetes.bits import members
from cpuplan.upstream.kubernetes.errors import (
    AdmissionError,
    HangError,
    KubeletError,
    PanicError,
    TooManySetsError,
    refusal,
)
from cpuplan.upstream.kubernetes.fit import check_requests, pod_requests
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.pod import (
    CPU,
    HUGEPAGES,
    MEMORY,
    Container,
    Pod,
    Resources,
    sum_of,
)
from cpuplan.upstream.kubernetes.qos import GUARANTEED, pod_qos
from cpuplan.upstream.kubernetes.quantity import ZERO
from cpuplan.upstream.openshift.managed import CAPACITY_SUFFIX


class Snapshot(NamedTuple):
    """The states of the managers, and the pods that run."""

    cpus: CPUState
    memory: MemoryState
    devices: DeviceState
    active: tuple[Pod, ...]


def take_snapshot(kubelet: Kubelet) -> Snapshot:
    """The moment between two pods: nothing stale, nothing to reuse."""
    kubelet.cpus.remove_stale_state()
    kubelet.memory.remove_stale_state()
    kubelet.devices.remove_stale_state()
    return Snapshot(
        _copy_cpus(kubelet.cpus.state),
        _copy_memory(kubelet.memory.state),
        kubelet.devices.state.copy(),
        tuple(kubelet.active),
    )


def restore_snapshot(kubelet: Kubelet, moment: Snapshot) -> None:
    """Restores the moment, without what init containers left to reuse.

    That is only for the pod that came last.
    """
    if kubelet.cpus.policy:
        kubelet.cpus.policy.cpus_to_reuse = {}
    if kubelet.memory.policy:
        kubelet.memory.policy.reusable = {}
    kubelet.devices.reusable = {}
    kubelet.devices.state = moment.devices.copy()
    kubelet.cpus.state, kubelet.memory.state = _copy_cpus(moment.cpus), _copy_memory(moment.memory)
    kubelet.active = list(moment.active)
    kubelet.topology_manager.forget_all()


def snapshot_key(kubelet: Kubelet) -> Hashable:
    """What the next pod's admission depends on beside its requests; equal moments have one key.

    Who has which CPUs is not in it, only which are left: nobody gives any back. Of devices it is
    how many are left near which NUMA nodes.
    """
    nodes = sorted(kubelet.memory.state.machine.items())
    machine = tuple((node, kept.assignments, kept.cells, _free(kept)) for node, kept in nodes)
    return kubelet.cpus.state.default, machine, kubelet.devices.key()


def _free(node: NodeState) -> tuple[tuple[str, int], ...]:
    """The free bytes of a NUMA node by type."""
    return tuple((kind, table.free) for kind, table in sorted(node.memory.items()))


def _copy_cpus(state: CPUState) -> CPUState:
    return CPUState(state.default, state.entries, state.pod_entries)


def _copy_memory(state: MemoryState) -> MemoryState:
    copied = MemoryState()
    copied.machine = {node: kept.copy() for node, kept in state.machine.items()}
    copied.entries = {pod: dict(containers) for pod, containers in state.entries.items()}
    copied.pod_entries = dict(state.pod_entries)
    return copied


class Load(NamedTuple):
    """The number of pods on a node, and the sum of their requests."""

    pods: int = 0
    requests: Resources = MappingProxyType({})

    def plus(self, requests: Resources) -> "Load":
        """The load with one more pod."""
        return Load(self.pods + 1, sum_of((self.requests, requests)))

    def fits(self, requests: Resources, allocatable: Resources) -> bool:
        """Whether the scheduler would bind a pod with these requests to the node."""
        try:
            check_requests(requests, self.requests, self.pods, allocatable)
        except AdmissionError:
            return False
        return True


def lacks(pod: Pod, allocatable: Resources, gates: Gates) -> str:
    """Why the scheduler binds no pod with these resources to the node; empty if it may.

    Huge pages, with which a kubelet with the memory manager would crash, and the cores of managed
    pods: nothing but the kubelet offers these.
    """
    for name, amount in sorted(pod_requests(pod, gates).items()):
        is_offered = allocatable.get(name, ZERO).nano
        is_known = name.startswith(HUGEPAGES) or name.endswith(CAPACITY_SUFFIX)
        if is_known and amount.nano and not is_offered:
            return f"the node has no {name}, so the scheduler never binds the pod to it"
    return ""


class KubeletAllocator:
    """A kubelet on a planned node; the pods of the state files run there."""

    def __init__(self, facts: Planned, state: Node = Node()) -> None:  # noqa: B008 - a constant
        self.facts = facts
        self.kubelet = facts.start(state)
        self.kubelet.active = running(self.kubelet)
        self.gates = self.kubelet.gates

    def admit(self, pod: Pod) -> Admission:
        """Admit one pod that the scheduler binds to the node."""
        base.count_admission(self.kubelet, pod)
        return self.bind(pod)

    def bind(self, pod: Pod) -> Admission:
        """The same where the work of the pod is counted already."""
        try:
            stored = self.facts.runtime.admit(pod)
        except KubeletError as error:
            return Admission(Refusal(*refusal(error)))
        unbound = lacks(stored, self.kubelet.allocatable, self.gates)
        if unbound:
            return Admission(Refusal(UNSCHEDULABLE, unbound))
        devices = self.kubelet.devices
        devices.open.clear()
        refused = _refused(self.kubelet, stored)
        names = sorted({choice.resource for choice in devices.open})
        return Admission(refused, undetermined=tuple(names))

    def remove(self, uid: str) -> tuple[Move, ...]:
        """Remove a pod that has ended. The kubelet moves no other."""
        self.kubelet.remove(uid)
        return ()

    def place(self, pod: Pod) -> tuple[Placed, ...]:
        """The containers as they run now: the shared pool shrinks with every pod that comes."""
        cpus, memory = self.kubelet.cpus, self.kubelet.memory
        config, runtime = self.kubelet.config, self.facts.runtime
        started = runtimes.start(runtime, config, cpus.state, pod, self.gates)
        return tuple(
            Placed(
                container.name,
                started[container.name].cpus_given
                or cpus.cpus_of(pod.uid, container.name)
                or self.kubelet.machine.cpus,
                cpus.state.cpus_of(pod.uid, container.name) is not None,
                tuple(sorted(memory.nodes_of(pod.uid, container.name))),
                started[container.name],
                given_devices(self.kubelet, pod, container),
            )
            for container in pod.all_containers
        )

    def qos(self, pod: Pod) -> str:
        return pod_qos(pod, self.gates)

    def sees(self, pod: Pod) -> Hashable:
        return None

    def remainder(self, *, ended: bool = False) -> Remainder:
        """What is left, what overlaps, and what a restart would do."""
        pool = self.kubelet.cpus.state.default or self.kubelet.machine.cpus
        remainder = Remainder(pool, overlap=self.overlap())
        if ended:
            return remainder
        return remainder._replace(left=self.left(), after_restart=tuple(self.restart()))

    def take(self) -> Snapshot:
        return take_snapshot(self.kubelet)

    def restore(self, moment: Snapshot) -> None:
        restore_snapshot(self.kubelet, moment)

    def key(self) -> Hashable:
        return snapshot_key(self.kubelet)

    def overlap(self) -> Overlap | None:
        """The first CPU with two exclusive owners (kubelet bug: cpu_assignment.CPUAccumulator)."""
        policy = self.kubelet.cpus.policy
        if policy is None:
            return None
        owners: dict[int, str] = {}
        for uid, containers in self.kubelet.cpus.state.entries.items():
            for cpus in containers.values():
                for cpu in members(cpus):
                    other = owners.setdefault(cpu, uid)
                    if other != uid or policy.reserved >> cpu & 1:
                        return Overlap(uid, cpu, "" if other == uid else other)
        return None

    def left(self) -> Left | None:
        """What further containers could have; None if no container has exclusive CPUs."""
        policy = self.kubelet.cpus.policy
        if policy is None:
            return None
        return base.left_for_probes(self, self.kubelet, policy.available(self.kubelet.cpus.state))

    def restart(self) -> list[tuple[Pod | None, Refusal]]:
        """Who is refused when the kubelet restarts and admits its running pods again.

        Nobody on OpenShift, where the kubelet's unit removes the state files before each start.
        """
        if self.facts.fork.is_openshift:
            return []
        pods = list(self.kubelet.active)
        self.take()
        try:
            again = self.facts.start(self.kubelet.stop())
        except StartError as error:
            return [(None, Refusal(error.stage, str(error)))]
        again.begin_readmission()
        refusals: list[tuple[Pod | None, Refusal]] = []
        for pod in pods:
            base.count_admission(again, pod)
            if refused := _refused(again, pod):
                refusals.append((pod, refused))
        return refusals


def _refused(kubelet: Kubelet, pod: Pod) -> Refusal | None:
    try:
        kubelet.admit(pod)
    except KubeletError as error:
        return Refusal(*refusal(error))
    except TooManySetsError as error:
        return Refusal(TOO_MANY_NODES, str(error))
    except HangError:
        return Refusal(HANG, "the kubelet loops forever and admits no further pod")
    except PanicError as error:
        return Refusal(PANIC, f"the kubelet crashes, and again when it has restarted: {error}")
    return None


def given_devices(kubelet: Kubelet, pod: Pod, container: Container) -> tuple[GivenDevices, ...]:
    """The devices of a container, by resource."""
    devices = kubelet.devices
    given = devices.devices_of(pod.uid, container.name)
    return tuple(
        GivenDevices(resource, ids, devices.nodes_of(resource, ids))
        for resource, ids in given.items()
    )


def running(kubelet: Kubelet) -> list[Pod]:
    """Pods that only the state files know: containers with exclusive CPUs or memory."""
    cpus: dict[str, dict[str, int]] = kubelet.cpus.state.entries
    memory = kubelet.memory.state.entries
    pods = []
    for uid in sorted({*cpus, *memory}):
        containers = []
        for name in sorted({*cpus.get(uid, {}), *memory.get(uid, {})}):
            resources = {MEMORY: quantity.of(0)}
            if name in cpus.get(uid, {}):
                resources[CPU] = quantity.of(cpus[uid][name].bit_count())
            for block in memory.get(uid, {}).get(name, ()):
                resources[block.type] = quantity.of(block.size, quantity.BINARY)
            containers.append(Container(name, resources, resources))
        pods.append(Pod(uid, (), tuple(containers), name=uid, given_qos=GUARANTEED))
    return pods
