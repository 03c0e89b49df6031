"""Koordinator on a node: koord-scheduler chooses CPUs, koordlet sets them, the kubelet admits."""

import re
from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

from cpuplan.simulate.allocators import base
from cpuplan.simulate.allocators.base import (
    PANIC,
    TOO_MANY_NODES,
    UNSCHEDULABLE,
    Admission,
    Allocator,
    Left,
    Move,
    Overlap,
    Placed,
    Refusal,
    Remainder,
)
from cpuplan.simulate.allocators.kubelet import KubeletAllocator
from cpuplan.simulate.koordinator import Inputs, as_created, kubelet_of, machine_of
from cpuplan.simulate.planned import Planned
from cpuplan.upstream.crio.cgmgr import UNLIMITED
from cpuplan.upstream.koordinator.extension import qos
from cpuplan.upstream.koordinator.extension.constants import QOS, RESOURCE_SPEC, RESOURCE_STATUS
from cpuplan.upstream.koordinator.extension.numa_aware import SINGLE_NUMA_NODE
from cpuplan.upstream.koordinator.koordlet import cpuset, states_noderesourcetopology
from cpuplan.upstream.koordinator.koordlet.states_noderesourcetopology import (
    NodeTopology,
    manifest,
)
from cpuplan.upstream.koordinator.nodenumaresource.node_allocation import NodeObject, SchedulerNode
from cpuplan.upstream.koordinator.nodenumaresource.plugin import Admission as Attempt
from cpuplan.upstream.koordinator.nodenumaresource.plugin import (
    Annotations,
    observed,
    pre_bind,
    pre_filter,
    reserve,
)
from cpuplan.upstream.koordinator.nodenumaresource.scoring import read_args
from cpuplan.upstream.koordinator.nodenumaresource.topology_options import (
    TopologyOptions,
    read_topology_options,
)
from cpuplan.upstream.koordinator.nodenumaresource.util import ERROR, StatusError, node_numa_policy
from cpuplan.upstream.koordinator.util import parse_cpus
from cpuplan.upstream.koordinator.webhook import cluster_colocation_profile as webhook
from cpuplan.upstream.koordinator.webhook import resource_amplification
from cpuplan.upstream.kubelet.kubelet import Kubelet, Node, StartError
from cpuplan.upstream.kubernetes.bits import members, to_text
from cpuplan.upstream.kubernetes.errors import KubeletError, PanicError, TooManySetsError
from cpuplan.upstream.kubernetes.json import dump
from cpuplan.upstream.kubernetes.pod import Pod, Resources

_NODE_NAME = "node"


class Koordlet:
    """The agent beside a kubelet; pods carry the annotations of the scheduler."""

    def __init__(self, kubelet: Kubelet, inputs: Inputs) -> None:
        self.kubelet, self.inputs = kubelet, inputs
        self.machine = machine_of(kubelet.machine)

    def reported(self, pods: Mapping[str, Pod]) -> NodeTopology | None:
        """The NodeResourceTopology now; None where koordlet cannot make one."""
        kubelet, inputs = self.kubelet, self.inputs
        node = states_noderesourcetopology.Node(
            inputs.labels, inputs.node_annotations, kubelet.capacity, kubelet.allocatable
        )
        config, state = kubelet_of(kubelet.config), kubelet.cpus.dump() or ""
        try:
            return states_noderesourcetopology.compute_node_topology(
                self.machine, node, list(pods.values()), config, state
            )
        except KubeletError:
            return None

    def options(self, pods: Mapping[str, Pod]) -> TopologyOptions:
        """What the scheduler makes of it."""
        reported = self.reported(pods)
        if reported is None:
            return TopologyOptions()
        return read_topology_options(manifest(_NODE_NAME, self.machine, reported))

    def shared(self, pods: Mapping[str, Pod]) -> int:
        """The CPU shared pool of all NUMA nodes."""
        reported = self.reported(pods)
        pools = reported.ls_pools if reported else ()
        return sum(parse_cpus(pool.cpuset) for pool in pools) or self.kubelet.machine.cpus

    def cpus_of(self, pod: Pod, pods: Mapping[str, Pod]) -> tuple[int, bool] | None:
        """(CPUs, whether they are the pod's own) as koordlet writes them for all its containers.

        None where the kubelet's are left.
        """
        reported = self.reported(pods)
        if reported is None:
            return None
        try:
            given = cpuset.pod_cpus(pod, reported)
            cpus = parse_cpus(_without_gaps(given.cpuset or ""))
        except KubeletError:  # an annotation that somebody wrote
            return None
        if given.source == cpuset.LEFT:
            return None
        if given.source == cpuset.CLEARED:
            return cpuset.be_cgroup(self.machine, reported, pods.values()), False
        return cpus, given.source == cpuset.RESOURCE_STATUS


def _without_gaps(cpus: str) -> str:
    """The list as the kernel and runc read it: the pool of a full NUMA node is empty."""
    return ",".join(filter(None, cpus.split(",")))


#: Requests above the largest one that are tried to explain it: more than the threads of a core.
_SIZES = 8
_PART_OF_CORE = "not multiple cpus per core"


def left_by_koordinator(allocator: Allocator, node: SchedulerNode) -> Left | None:
    """None where the scheduler knows no CPUs of the node."""
    topology = node.options.topology
    if topology is None or not topology.is_valid:
        return None
    free, _ = node.allocation.available_cpus()
    is_aligned = node_numa_policy(node.node.labels, node.options) == SINGLE_NUMA_NODE
    groups = [group.cpus for group in topology.nodes] if is_aligned else [topology.all]
    most = max((free & cpus).bit_count() for cpus in groups)
    size = base.largest_admitted(allocator, most, free, lsr_probe)
    if size == most < free.bit_count():
        reason = f"no NUMA node has {size + 1} free CPUs, which {SINGLE_NUMA_NODE} requires"
        return Left(free, size, {}, reason)
    return Left(free, size, {}, _because(allocator, size, most))


def _because(allocator: Allocator, size: int, most: int) -> str:
    """Why more is refused; parts of cores count where nothing else is in the way."""
    moment, reason = allocator.take(), ""
    for count in range(size + 1, min(size + _SIZES, most) + 1):
        refused = allocator.admit(lsr_probe(count)).refused
        allocator.restore(moment)
        reason = refused.message if refused else reason
        if refused and not reason.endswith(_PART_OF_CORE):
            break
    return reason


def lsr_probe(count: int) -> Pod:
    """An LSR pod as the webhook takes it."""
    priority = qos.PRIORITIES[qos.PROD][2]
    return base.probe(count)._replace(labels={QOS: qos.LSR}, priority=priority)


#: Reasons of refusals: the webhook lets no such pod be created; the scheduler fails.
DENIED, FAILED = "Denied", "SchedulerError"
#: More masks of NUMA nodes than four nodes have.
_MASKS = re.compile(r"\[[01]+(?: [01]+){15,}\]")


class _Moment(NamedTuple):
    kubelet: Any
    scheduler: Any
    pods: dict[str, Pod]


class KoordinatorAllocator:
    """koord-scheduler with its plugin NodeNUMAResource, then the kubelet as planned.

    Without a plan for Koordinator, it is as on nodes where nothing was configured for it.
    """

    def __init__(self, facts: Planned, state: Node = Node()) -> None:  # noqa: B008 - a constant
        """Start both; StartError for arguments with which the scheduler does not start."""
        self.facts = facts
        self.inputs = facts.koordinator or Inputs()
        self._below = KubeletAllocator(facts, state)
        self.kubelet, self.gates = self._below.kubelet, self._below.gates
        try:
            self._args = read_args(self.inputs.arguments)
        except KubeletError as error:
            raise StartError("koord-scheduler", error) from None
        allocatable = _amplified(self.inputs, self.kubelet.allocatable)
        self.kubelet.allocatable |= allocatable
        self._pods: dict[str, Pod] = {}
        self._koordlet = Koordlet(self.kubelet, self.inputs)
        labels, annotations = self.inputs.labels, self.inputs.node_annotations
        options = self._koordlet.options(self._pods)
        self.node = SchedulerNode(NodeObject(_NODE_NAME, labels, annotations, allocatable, options))

    def admit(self, pod: Pod) -> Admission:
        """Create a pod, schedule it here, and have the kubelet admit it."""
        base.count_admission(self.kubelet, pod)
        created = as_created(pod, self.inputs.profiles)
        if problems := webhook.refusals(created):
            return Admission(Refusal(DENIED, "; ".join(problems)))
        try:
            bound = self._schedule(created)
        except StatusError as error:
            reason = FAILED if error.code == ERROR else UNSCHEDULABLE
            return Admission(Refusal(reason, f"koord-scheduler: {_shortened(str(error))}"))
        except TooManySetsError as error:
            return Admission(Refusal(TOO_MANY_NODES, f"koord-scheduler {error.words}"))
        except PanicError as error:
            text = "koord-scheduler crashes when it looks at the node, and places no pod any more"
            return Admission(Refusal(PANIC, f"{text}: {error}"))
        admission = self._below.bind(bound)
        if admission.refused:
            self.node.release(pod.uid)
        else:
            self._pods[pod.uid] = bound
            self._report_anew()
        return admission

    def _schedule(self, pod: Pod) -> Pod:
        """The pod with the annotations that the scheduler writes."""
        state = pre_filter(pod, self._args)
        if state is None:
            return pod
        attempt = Attempt(self.node, state, self._args)
        attempt.filter()
        bound = _annotated(pod, pre_bind(attempt, reserve(attempt)))
        self.node.requests[pod.uid] = state.requests
        if seen := observed(bound):
            self.node.allocation.update(seen)
        return bound

    def _report_anew(self) -> None:
        """CPUs that the kubelet binds are reserved from then on."""
        if self.kubelet.cpus.policy is not None:
            self.node.report(self._koordlet.options(self._pods))

    def remove(self, uid: str) -> tuple[Move, ...]:
        """Remove a pod that has ended. No other moves, but for the shared pools."""
        self.node.release(uid)
        self._pods.pop(uid, None)
        self._below.remove(uid)
        self._report_anew()
        return ()

    def qos(self, pod: Pod) -> str:
        """Koordinator's class, if the pod has one."""
        return qos.given_qos(self._known(pod)) or self._below.qos(pod)

    def sees(self, pod: Pod) -> Hashable:
        return tuple(sorted(pod.labels.items())), tuple(sorted(pod.annotations.items()))

    def _known(self, pod: Pod) -> Pod:
        """The pod as it was created."""
        known = self._pods.get(pod.uid)
        return as_created(pod, self.inputs.profiles) if known is None else known

    def place(self, pod: Pod) -> tuple[Placed, ...]:
        """The containers as they run now."""
        placed = self._below.place(pod)
        given = self._koordlet.cpus_of(self._pods[pod.uid], self._pods)
        if given is None:
            return placed
        cpus, is_own = given
        return tuple(_placed(container, cpus, is_own=is_own) for container in placed)

    def remainder(self, *, ended: bool = False) -> Remainder:
        """The CPUs of LS pods, and what is left for LSE and LSR pods."""
        remainder = Remainder(self._koordlet.shared(self._pods), overlap=self.overlap())
        if ended:
            return remainder
        left = left_by_koordinator(self, self.node)
        return remainder._replace(left=left, after_restart=tuple(self.restart()))

    def overlap(self) -> Overlap | None:
        """The first CPU that koord-scheduler and the kubelet's static policy both gave away."""
        owners = {
            cpu: uid
            for uid, given in self.node.allocation.pods.items()
            for cpu in members(given.cpus)
        }
        for uid, containers in self.kubelet.cpus.state.entries.items():
            for cpu in members(sum(containers.values()) if uid not in owners.values() else 0):
                if cpu in owners:
                    return Overlap(uid, cpu, owners[cpu])
        return None

    def restart(self) -> list[tuple[Pod | None, Refusal]]:
        """Who is refused when the kubelet restarts; CPUs stand in the annotations of pods."""
        return self._below.restart()

    def take(self) -> _Moment:
        return _Moment(self._below.take(), self.node.take(), dict(self._pods))

    def restore(self, moment: _Moment) -> None:
        self._below.restore(moment.kubelet)
        self.node.restore(moment.scheduler)
        self._pods = dict(moment.pods)

    def key(self) -> Hashable:
        return self._below.key(), self.node.key()


def _amplified(inputs: Inputs, reported: Resources) -> Resources:
    """What the node offers, once koord-manager has multiplied what the kubelet reports."""
    return (
        resource_amplification.amplify(
            resource_amplification.Node(inputs.node_annotations, reported), None
        ).allocatable
        or {}
    )


def _placed(container: Placed, cpus: int, *, is_own: bool) -> Placed:
    """As koordlet has it: it takes the quota off pods with CPUs of their own."""
    started = container.started._replace(
        cpus=cpus,
        effective=cpus,
        updated=to_text(cpus),
        quota=UNLIMITED if is_own else container.started.quota,
        outside=(),
    )
    return container._replace(cpus=cpus, is_exclusive=is_own, started=started)


def _shortened(message: str) -> str:
    """Without the masks of NUMA nodes where there are many: with 8 nodes there are 255."""
    return _MASKS.sub(lambda match: f"[{len(match[0].split())} masks]", message)


def _annotated(pod: Pod, written: Annotations) -> Pod:
    annotations = dict(pod.annotations)
    if written.spec is not None:
        annotations[RESOURCE_SPEC] = dump(written.spec.as_json())
    if written.status is not None:
        annotations[RESOURCE_STATUS] = dump(written.status.as_json())
    return pod._replace(annotations=annotations)
