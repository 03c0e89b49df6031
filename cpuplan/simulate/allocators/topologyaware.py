"""A scheduler with NodeResourceTopologyMatch, then the kubelet as planned.

The object that the scheduler reads is as new as can be: the exporter has published it after the
last pod came. The strategy is the plugin's default, LeastAllocated.
"""

from collections.abc import Iterator
from typing import Any

from cpuplan.components.koordinator.koordlet import written
from cpuplan.components.nrt import EXPORTERS
from cpuplan.facts.settings.kubelet import TOPOLOGY_MANAGER_POLICY, TOPOLOGY_MANAGER_SCOPE
from cpuplan.facts.settings.objects import NRT_POLICIES
from cpuplan.simulate.allocators import base
from cpuplan.simulate.allocators.base import PANIC, UNSCHEDULABLE, Admission, Refusal, UnfitError
from cpuplan.simulate.allocators.kubelet import KubeletAllocator
from cpuplan.simulate.koordinator import machine_of
from cpuplan.simulate.planned import Planned
from cpuplan.upstream.koordinator.koordlet import states_noderesourcetopology
from cpuplan.upstream.koordinator.koordlet.states_noderesourcetopology import Node as KoordletNode
from cpuplan.upstream.koordinator.koordlet.states_noderesourcetopology import compute_zones
from cpuplan.upstream.kubelet.kubelet import Kubelet, Node
from cpuplan.upstream.kubernetes.bits import members
from cpuplan.upstream.kubernetes.errors import KubeletError, PanicError
from cpuplan.upstream.kubernetes.pod import Pod
from cpuplan.upstream.kubernetes.qos import GUARANTEED, guaranteed_cpus, pod_qos
from cpuplan.upstream.nrt import resourcemonitor
from cpuplan.upstream.nrt.api import POLICY, SCOPE
from cpuplan.upstream.nrt.filter import PASSED, judge_node
from cpuplan.upstream.nrt.resourcemonitor import Machine, Memory, NumaNode, Resources, Zone
from cpuplan.upstream.nrt.score import score_node

_STRATEGY = "LeastAllocated"


class TopologyAwareAllocator(KubeletAllocator):
    """The scheduler's filter stands before the kubelet, which may still refuse what passes it."""

    def __init__(self, facts: Planned, state: Node = Node()) -> None:  # noqa: B008 - a constant
        """UnfitError for machines that such a scheduler does not survive."""
        super().__init__(facts, state)
        numbers = [node.id for node in facts.machine.nodes]
        if numbers != list(range(len(numbers))):
            raise UnfitError("the scheduler crashes on numbers of NUMA nodes with gaps (CP532)")
        try:
            self.zones()
        except KubeletError as error:
            raise UnfitError(f"koordlet publishes nothing of the node: {error}") from None

    def admit(self, pod: Pod) -> Admission:
        """Filter and score the node as the scheduler does, then admit the pod."""
        base.count_admission(self.kubelet, pod)
        try:
            verdict = judge_node(self.published(), self.kubelet.allocatable, pod, self.qos(pod))
            if verdict != PASSED:
                text = f"NodeResourceTopologyMatch: {'; '.join(verdict.reasons)}"
                return Admission(Refusal(UNSCHEDULABLE, text))
            self._score(pod)
        except PanicError as error:
            text = f"the scheduler crashes on the pod, and again when it has restarted: {error}"
            return Admission(Refusal(PANIC, text))
        return self.bind(pod)

    def rank(self, pod: Pod) -> int | None:
        """The node's score for a pod; None where the scheduler does not pass it."""
        try:
            verdict = judge_node(self.published(), self.kubelet.allocatable, pod, self.qos(pod))
            return self._score(pod) if verdict == PASSED else None
        except PanicError:
            return None

    def _score(self, pod: Pod) -> int:
        return score_node(self.published(), pod, self.qos(pod), _STRATEGY, {})

    def published(self) -> dict[str, Any]:
        """What of the object the scheduler reads."""
        config = self.kubelet.config
        policy, scope = config[TOPOLOGY_MANAGER_POLICY.key], config[TOPOLOGY_MANAGER_SCOPE.key]
        told: dict[str, Any] = {
            "attributes": [{"name": POLICY, "value": policy}, {"name": SCOPE, "value": scope}]
        }
        if not EXPORTERS[self.facts.exporter].has_attributes:
            told = {NRT_POLICIES.key: [states_noderesourcetopology.topology_policy(policy, scope)]}
        return {**told, "zones": self.zones()}

    def zones(self) -> list[Zone]:
        """The zones that the exporter makes of the node and its pods; koordlet heeds no pods."""
        kubelet = self.kubelet
        machine, free = _machine(kubelet), _allocatable(kubelet)
        match self.facts.exporter:
            case "koordlet":
                known = machine_of(kubelet.machine)
                return written(compute_zones(known, KoordletNode(), huge_pages=False))
            case "resource-topology-exporter":
                return resourcemonitor.rte_zones(machine, free, list(_pods(kubelet)))
            case "nri-policy":
                return []  # its zones are of no NUMA node
        return resourcemonitor.nfd_zones(machine, free, list(_pods(kubelet)))


def _machine(kubelet: Kubelet) -> Machine:
    machine = kubelet.machine
    nodes = []
    for node in machine.nodes:
        cpus = tuple(cpu for core in node.cores for cpu in core.threads)
        nodes.append(NumaNode(node.id, cpus, tuple(machine.distances.get(node.id, ()))))
    return Machine(tuple(nodes), {})


def _allocatable(kubelet: Kubelet) -> Resources:
    """What the kubelet's pod-resources API names: nothing of managers that give out nothing."""
    cpus, memory = kubelet.cpus.policy, kubelet.memory.policy
    free = kubelet.machine.cpus & ~cpus.reserved if cpus else 0
    sizes = memory.allocatable(kubelet.memory.state) if memory else {}
    blocks = tuple(
        Memory(kind, size, (node,)) for node, kinds in sizes.items() for kind, size in kinds.items()
    )
    return Resources(tuple(members(free)), (), blocks)


def _pods(kubelet: Kubelet) -> Iterator[resourcemonitor.Pod]:
    """The running pods with what their containers have exclusively."""
    for pod in kubelet.active:
        qos = pod_qos(pod, kubelet.gates)
        has_whole = any(
            guaranteed_cpus(pod, container, kubelet.gates) for container in pod.all_containers
        )
        containers = tuple(
            _taken(kubelet, pod.uid, container.name)
            for container in pod.all_containers
            if not container.is_plain_init
        )
        yield resourcemonitor.Pod(pod.namespace, pod.name, qos == GUARANTEED, has_whole, containers)


def _taken(kubelet: Kubelet, uid: str, container: str) -> Resources:
    cpus = kubelet.cpus.state.cpus_of(uid, container)
    blocks = kubelet.memory.state.blocks_of(uid, container) or ()
    memory = tuple(Memory(block.type, block.size, block.numa_affinity) for block in blocks)
    return Resources(tuple(members(cpus or 0)), (), memory)
