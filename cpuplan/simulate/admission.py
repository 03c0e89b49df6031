"""Pods on a simulated node, one after the other: who gets what, who is refused, what is left, what
a restart does.
"""

from collections.abc import Iterable
from typing import NamedTuple

from cpuplan.kubelet import quantity, snapshot
from cpuplan.kubelet.bits import members
from cpuplan.kubelet.cpu import state as cpustate
from cpuplan.kubelet.errors import HangError, KubeletError, PanicError, refusal
from cpuplan.kubelet.memory import state as memorystate
from cpuplan.kubelet.node import Kubelet, Node, StartError
from cpuplan.kubelet.pods.defaults import apply_defaults
from cpuplan.kubelet.pods.pod import CPU, MEMORY, Container, Pod
from cpuplan.kubelet.pods.qos import GUARANTEED, pod_qos
from cpuplan.kubelet.topology.hints import TopologyHint
from cpuplan.kubelet.topology.topologymanager import NONE, SINGLE
from cpuplan.simulate.planned import Planned

#: The pod that asks what is left, and its memory: next to nothing.
_PROBE = "probe"
_PROBE_MEMORY = quantity.of(1)
#: Reasons that are none of the kubelet's: it comes to an end itself.
HANG, PANIC = "HangError", "PanicError"
ENDS = (HANG, PANIC)


class Refusal(NamedTuple):
    """Reason and message of the pod's status; or that the kubelet itself comes to an end over the
    pod.
    """

    reason: str
    message: str


class Placed(NamedTuple):
    """A container that was admitted: its CPUs (own ones, or the shared pool of the moment) and its
    memory's nodes.
    """

    name: str
    cpus: int
    is_exclusive: bool
    numa_nodes: tuple[int, ...]


class Outcome(NamedTuple):
    """What became of a pod."""

    pod: Pod
    qos: str
    containers: tuple[Placed, ...] = ()
    refused: Refusal | None = None


class Left(NamedTuple):
    """What is left for exclusive use: CPUs; the largest request of one container that would still
    be admitted.

    By NUMA node it is that of a container with a device there, all CPUs on the node; None where
    nothing aligns them.
    """

    cpus: int
    largest: int
    by_numa_node: dict[int, tuple[int, int | None]]  # free CPUs, as a set, and the largest request


class NodeOutcome(NamedTuple):
    """A node after all pods have come."""

    outcomes: tuple[Outcome, ...]
    left: Left | None  # None without the static policy, and after the kubelet's end
    default: int  # the shared pool: where all other containers run
    # None: the kubelet does not come up again
    after_restart: tuple[tuple[Pod | None, Refusal], ...] = ()


def admit(kubelet: Kubelet, pod: Pod) -> Refusal | None:
    """Admit one pod; what refuses it."""
    try:
        kubelet.admit(pod)
    except KubeletError as error:
        return Refusal(*refusal(error))
    except HangError:
        return Refusal(HANG, "the kubelet loops for ever and admits no further pod")
    except PanicError as error:
        return Refusal(PANIC, f"the kubelet crashes, and again when it has restarted: {error}")
    return None


class Overlap(NamedTuple):
    """A CPU that a pod has for itself and another pod too; `other` is empty where it is a reserved
    CPU.
    """

    pod: str
    cpu: int
    other: str


def overlap(kubelet: Kubelet) -> Overlap | None:
    """The first CPU that two have for themselves (kubelet bug: see `assignment.CPUAccumulator`)."""
    policy = kubelet.cpus.policy
    owners: dict[int, str] = {}
    for uid, containers in kubelet.cpus.state.entries.items() if policy else ():
        for cpus in containers.values():
            for cpu in members(cpus):
                other = owners.setdefault(cpu, uid)
                if other != uid or (policy and policy.reserved >> cpu & 1):
                    return Overlap(uid, cpu, "" if other == uid else other)
    return None


def prepared(kubelet: Kubelet, pod: Pod) -> Pod:
    """The pod as the API server hands it to the kubelet."""
    return apply_defaults(pod, kubelet.gates)


def run(kubelet: Kubelet, pods: Iterable[Pod]) -> list[Outcome]:
    """Admit the pods in order. After its end, a kubelet admits nobody."""
    outcomes = []
    end = None
    for given in pods:
        pod = prepared(kubelet, given)
        refused = end or admit(kubelet, pod)
        end = refused if refused and refused.reason in ENDS else end
        outcomes.append(outcome(kubelet, pod, refused))
    return [placed(kubelet, each) for each in outcomes]


def outcome(kubelet: Kubelet, pod: Pod, refused: Refusal | None) -> Outcome:
    return Outcome(pod, pod_qos(pod, kubelet.gates), (), refused)


def placed(kubelet: Kubelet, of: Outcome) -> Outcome:
    """The outcome with the containers as they run now that all pods are in: the shared pool shrinks
    to the end.
    """
    if of.refused:
        return of
    uid = of.pod.uid
    containers = tuple(
        Placed(
            container.name,
            kubelet.cpus.cpus_of(uid, container.name) or kubelet.machine.cpus,
            kubelet.cpus.state.cpus_of(uid, container.name) is not None,
            tuple(sorted(kubelet.memory.nodes_of(uid, container.name))),
        )
        for container in of.pod.all_containers
    )
    return of._replace(containers=containers)


def left(kubelet: Kubelet) -> Left | None:
    """What further containers could have; asked of the kubelet, which is then as it was. None
    without own CPUs.
    """
    policy = kubelet.cpus.policy
    if policy is None:
        return None
    moment = snapshot.take(kubelet)
    free = policy.available(kubelet.cpus.state)
    nodes = policy.topology.numa_nodes
    single = kubelet.topology_manager.policy.name == SINGLE
    most = (
        max(((free & cpus).bit_count() for cpus in nodes.values()), default=0)
        if single
        else free.bit_count()
    )
    largest = _largest(kubelet, moment, most, free)
    aligned = kubelet.topology_manager.policy.name != NONE
    by_node = {
        node: (
            free & cpus,
            _largest(kubelet, moment, (free & cpus).bit_count(), cpus, node) if aligned else None,
        )
        for node, cpus in nodes.items()
    }
    return Left(free, largest, by_node)


def _largest(
    kubelet: Kubelet, moment: snapshot.Snapshot, most: int, within: int, node: int | None = None
) -> int:
    """The largest request from `most` down whose CPUs come from `within`, with a device on
    `node`.
    """
    if node is not None:
        kubelet.devices.hints[_PROBE, _PROBE] = {
            "device": [TopologyHint(1 << node, preferred=True)]
        }
        kubelet.devices.pod_hints[_PROBE] = {"device": [TopologyHint(1 << node, preferred=True)]}
    try:
        for count in range(most, 0, -1):
            refused = admit(kubelet, probe(count))
            got = kubelet.cpus.state.cpus_of(_PROBE, _PROBE) or 0
            snapshot.restore(kubelet, moment)
            if not refused and not got & ~within:
                return count
        return 0
    finally:
        kubelet.devices.hints.clear()
        kubelet.devices.pod_hints.clear()
        kubelet.topology_manager.forget(_PROBE)


def probe(cpus: int, uid: str = _PROBE, container: str = _PROBE) -> Pod:
    """A Guaranteed pod of one container."""
    resources = {CPU: quantity.of(cpus), MEMORY: _PROBE_MEMORY}
    return Pod(uid, (), (Container(container, resources, resources),), name=uid)


def running(kubelet: Kubelet) -> list[Pod]:
    """Pods of which only the state files tell: containers with CPUs or memory of their own."""
    cpus: dict[str, dict[str, int]] = kubelet.cpus.state.entries
    memory = kubelet.memory.state.entries
    found = []
    for uid in sorted({*cpus, *memory}):
        containers = []
        for name in sorted({*cpus.get(uid, {}), *memory.get(uid, {})}):
            resources = {MEMORY: quantity.of(0)}
            if name in cpus.get(uid, {}):
                resources[CPU] = quantity.of(cpus[uid][name].bit_count())
            for block in memory.get(uid, {}).get(name, ()):
                resources[block.type] = quantity.of(block.size, quantity.BINARY)
            containers.append(Container(name, resources, resources))
        found.append(Pod(uid, (), tuple(containers), name=uid, given_qos=GUARANTEED))
    return found


def start(planned: Planned, state: Node) -> Kubelet:
    """The kubelet on a node with these state files, the pods in them running. StartError if it
    refuses them.
    """
    kubelet = planned.start(state)
    kubelet.active = running(kubelet)
    return kubelet


def restart(planned: Planned, kubelet: Kubelet) -> list[tuple[Pod | None, Refusal]]:
    """Who is refused when the kubelet restarts and admits its running pods again."""
    pods = list(kubelet.active)
    snapshot.take(kubelet)
    try:
        again = planned.start(kubelet.stop())
    except StartError as error:
        return [(None, Refusal(error.stage, str(error)))]
    again.begin_readmission()
    return [(pod, refused) for pod in pods if (refused := admit(again, pod))]


def read_state(texts: Iterable[str]) -> Node:
    """State files, told apart by what is in them."""
    node = Node()
    for text in texts:
        node = node._replace(**{"memory_state" if '"machineState"' in text else "cpu_state": text})
    return node


#: The names of the state files, by field of `Node`.
FILES = {"cpu_state": cpustate.FILE, "memory_state": memorystate.FILE}
