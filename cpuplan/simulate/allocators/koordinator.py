"""Koordinator on a node: koord-scheduler chooses CPUs, koordlet sets them, the kubelet admits."""

from collections.abc import Hashable
from typing import Any, NamedTuple

from cpuplan.koordinator import qos
from cpuplan.koordinator.annotations.values import dump
from cpuplan.koordinator.cpulists import parse_cpus
from cpuplan.koordinator.keys import QOS, RESOURCE_SPEC, RESOURCE_STATUS
from cpuplan.koordinator.koordlet import cpusets, nodetopology
from cpuplan.koordinator.koordlet.manifest import manifest
from cpuplan.koordinator.koordlet.node import Node as KoordletNode
from cpuplan.koordinator.koordlet.nodetopology import NodeTopology
from cpuplan.koordinator.scheduler.admission import Admission as Attempt
from cpuplan.koordinator.scheduler.amplification import amplified
from cpuplan.koordinator.scheduler.args import read_args
from cpuplan.koordinator.scheduler.node import NodeObject, SchedulerNode
from cpuplan.koordinator.scheduler.options import TopologyOptions
from cpuplan.koordinator.scheduler.plugin import Annotations, observed, pre_bind, reserve
from cpuplan.koordinator.scheduler.pod_state import pre_filter
from cpuplan.koordinator.scheduler.status import ERROR, StatusError
from cpuplan.koordinator.scheduler.topology_options import read_topology_options
from cpuplan.koordinator.webhooks import pods as webhook
from cpuplan.kubelet.bits import members, to_text
from cpuplan.kubelet.errors import KubeletError, PanicError
from cpuplan.kubelet.node import Node, StartError
from cpuplan.kubelet.pods.pod import CPU, Pod
from cpuplan.runtime.cgroups import UNLIMITED
from cpuplan.simulate import koordinated
from cpuplan.simulate.allocators import probes
from cpuplan.simulate.allocators.base import (
    PANIC,
    UNSCHEDULABLE,
    Admission,
    Left,
    Move,
    Overlap,
    Placed,
    Refusal,
    Remainder,
)
from cpuplan.simulate.allocators.kubelet import KubeletAllocator
from cpuplan.simulate.koordinated import Inputs
from cpuplan.simulate.planned import Planned

#: Reasons of refusals: the webhook lets no such pod be created; the scheduler fails.
DENIED, FAILED = "Denied", "SchedulerError"
_NAME = "node"
#: Requests above the largest one that are tried to explain it: more than the threads of a core.
_SIZES = 8
_PART_OF_CORE = "not multiple cpus per core"


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
        allocatable = amplified(self.kubelet.allocatable, self.inputs.ratios, [CPU])
        self.kubelet.allocatable |= allocatable
        self._pods: dict[str, Pod] = {}
        self._machine = koordinated.machine_of(facts.machine)
        labels, annotations = self.inputs.labels, self.inputs.node_annotations
        options = self._options()
        self.node = SchedulerNode(NodeObject(_NAME, labels, annotations, allocatable, options))

    def _reported(self) -> NodeTopology | None:
        """What koordlet reports now; None where it cannot."""
        node = KoordletNode(
            self.inputs.labels,
            self.inputs.node_annotations,
            self.kubelet.capacity,
            self.kubelet.allocatable,
        )
        config = koordinated.kubelet_of(self.kubelet.config)
        state = self.kubelet.cpus.dump() or ""
        try:
            return nodetopology.compute(
                self._machine, node, list(self._pods.values()), config, state
            )
        except KubeletError:
            return None

    def _options(self) -> TopologyOptions:
        reported = self._reported()
        if reported is None:
            return TopologyOptions()
        return read_topology_options(manifest(_NAME, self._machine, reported))

    def admit(self, pod: Pod) -> Admission:
        """Create a pod, schedule it here, and have the kubelet admit it."""
        created = koordinated.as_created(pod, self.inputs.profiles)
        if problems := webhook.refusals(created):
            return Admission(Refusal(DENIED, "; ".join(problems)))
        try:
            bound = self._schedule(created)
        except StatusError as error:
            reason = FAILED if error.code == ERROR else UNSCHEDULABLE
            return Admission(Refusal(reason, f"koord-scheduler: {error}"))
        except PanicError as error:
            text = "koord-scheduler crashes when it looks at the node, and places no pod any more"
            return Admission(Refusal(PANIC, f"{text}: {error}"))
        admission = self._below.admit(bound)
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
            self.node.report(self._options())

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
        return koordinated.as_created(pod, self.inputs.profiles) if known is None else known

    def place(self, pod: Pod) -> tuple[Placed, ...]:
        """The containers with the CPUs that koordlet writes for the whole pod now."""
        known, reported = self._pods[pod.uid], self._reported()
        placed = self._below.place(pod)
        if reported is None:
            return placed
        given = cpusets.pod_cpus(known, reported)
        if given.source == cpusets.LEFT:
            return placed
        cpus = parse_cpus(given.cpuset or "")
        if given.source == cpusets.CLEARED:
            cpus = cpusets.be_cgroup(self._machine, reported, self._pods.values())
        own = given.source == cpusets.RESOURCE_STATUS
        return tuple(_placed(container, cpus, is_own=own) for container in placed)

    def remainder(self, *, ended: bool = False) -> Remainder:
        """The CPUs of LS pods, and what is left for LSE and LSR pods."""
        reported = self._reported()
        pools = reported.ls_pools if reported else ()
        shared = sum(parse_cpus(pool.cpuset) for pool in pools) or self.kubelet.machine.cpus
        remainder = Remainder(shared, overlap=self.overlap())
        if ended or not self.node.options.has_cpus:
            return remainder
        free, _ = self.node.allocation.available_cpus()
        size = probes.largest(self, free.bit_count(), free, _probe)
        return remainder._replace(
            left=Left(free, size, {}, self._because(size, free)),
            after_restart=tuple(self.restart()),
        )

    def _because(self, size: int, free: int) -> str:
        """Why more is refused; parts of cores count where nothing else is in the way."""
        moment, reason = self.take(), ""
        for count in range(size + 1, min(size + _SIZES, free.bit_count()) + 1):
            refused = self.admit(_probe(count)).refused
            self.restore(moment)
            reason = refused.message if refused else reason
            if refused and not reason.endswith(_PART_OF_CORE):
                break
        return reason

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


def _probe(count: int) -> Pod:
    """An LSR pod as the webhook takes it."""
    priority = qos.PRIORITIES[qos.PROD][2]
    return probes.probe(count)._replace(labels={QOS: qos.LSR}, priority=priority)


def _annotated(pod: Pod, written: Annotations) -> Pod:
    annotations = dict(pod.annotations)
    if written.spec is not None:
        annotations[RESOURCE_SPEC] = dump(written.spec.as_json())
    if written.status is not None:
        annotations[RESOURCE_STATUS] = dump(written.status.as_json())
    return pod._replace(annotations=annotations)
