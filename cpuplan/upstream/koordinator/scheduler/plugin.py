"""The plugin on one node, pod after pod (plugin.go, scoring.go)."""

from typing import NamedTuple

from cpuplan.upstream.koordinator.annotations.pod import (
    BEST_EFFORT,
    DEFAULT,
    ResourceSpec,
    ResourceStatus,
    read_resource_spec,
    read_resource_status,
)
from cpuplan.upstream.koordinator.cpulists import parse_cpus
from cpuplan.upstream.koordinator.scheduler.admission import Admission
from cpuplan.upstream.koordinator.scheduler.amplification import amplify, of_milli
from cpuplan.upstream.koordinator.scheduler.node_allocation import INVALID_TOPOLOGY, PodAllocation
from cpuplan.upstream.koordinator.scheduler.policies import bind_policy
from cpuplan.upstream.koordinator.scheduler.request import Request
from cpuplan.upstream.koordinator.scheduler.resource_manager import allocate
from cpuplan.upstream.koordinator.scheduler.scoring import score
from cpuplan.upstream.koordinator.scheduler.status import ERROR, StatusError
from cpuplan.upstream.kubelet.bits import to_text
from cpuplan.upstream.kubelet.errors import KubeletError
from cpuplan.upstream.kubelet.pods.pod import CPU, Pod, Resources, sum_of
from cpuplan.upstream.kubelet.quantity import ZERO


def score_of(admission: Admission) -> int:
    """The node's score for a pod that passed its filter, 0 to 100 (Score)."""
    if admission.binds_cpus and not admission.options.has_cpus:
        return 0
    try:
        request = admission.request()
    except KubeletError:
        return 0
    if not admission.numa_policy:
        return _score_of_node(admission, request)
    try:
        given = allocate(admission.node.allocation, request)
    except StatusError:
        return 0
    requested, allocatable = _of_numa_nodes(admission, request, given)
    return _score(admission, requested, allocatable, request)


def _score(
    admission: Admission, requested: Resources, allocatable: Resources, request: Request
) -> int:
    scoring = admission.args.scoring
    return score(scoring, scoring.type, requested, allocatable, request.requests)


def _score_of_node(admission: Admission, request: Request) -> int:
    """By the node as a whole, bound CPUs amplified (scoreWithAmplifiedCPUs)."""
    node = admission.node
    requested, allocatable = node.requested, node.node.allocatable
    if admission.state.milli_cpu and request.ratio > 1:
        try:
            _, allocated = node.allocation.available_cpus()
        except KubeletError:
            return 0
        bound = 1000 * allocated.cpus.bit_count()
        milli = requested.get(CPU, ZERO).milli - bound + amplify(bound, request.ratio)
        requested = {**requested, CPU: of_milli(milli)}
    return _score(admission, requested, allocatable, request)


def _of_numa_nodes(
    admission: Admission, request: Request, given: PodAllocation
) -> tuple[Resources, Resources]:
    """(requested, allocatable) of the NUMA nodes that the pod would use, or of the node.

    Where CPUs are bound, all bound CPUs of the node count (bug of the scheduler).
    """
    node = admission.node
    requested, allocatable = node.requested, node.node.allocatable
    if given.numa_nodes:
        _, used = node.allocation.numa_resources(request.zones, request.ratio)
        # Of several zones of a NUMA node the first counts.
        first = {zone.node: zone.resources for zone in reversed(request.zones)}
        chosen = [zone.node for zone in given.numa_nodes]
        requested = sum_of(used.get(node_id, {}) for node_id in chosen)
        allocatable = sum_of(first.get(node_id, {}) for node_id in chosen)
    if given.cpus:
        bound = 1000 * node.allocation.allocated.cpus.bit_count()
        requested = {**requested, CPU: of_milli(amplify(bound, request.ratio))}
    return requested, allocatable


def reserve(admission: Admission) -> PodAllocation | None:
    """Gives the pod what it gets and notes it; None where it gets nothing of its own (Reserve).

    StatusError with the reasons why that is not possible.
    """
    if admission.numa_policy == BEST_EFFORT:
        admission.align()
    if not admission.binds_cpus and not admission.numa_policy:
        return None
    if admission.binds_cpus and not admission.options.has_cpus:
        raise StatusError(ERROR, [INVALID_TOPOLOGY])
    try:
        request = admission.request()
    except KubeletError as error:
        raise StatusError(ERROR, [str(error)]) from None
    given = allocate(admission.node.allocation, request)
    admission.node.allocation.update(given)
    return given


def observed(pod: Pod) -> PodAllocation | None:
    """What a pod on the node has by its annotations, whoever wrote them (pod_eventhandler.go).

    None without CPUs or NUMA nodes, and for annotations that cannot be read.
    """
    try:
        spec, status = read_resource_spec(pod.annotations), read_resource_status(pod.annotations)
        cpus = parse_cpus(status.cpuset)
    except KubeletError:
        return None
    if not cpus and not status.numa_nodes:
        return None
    return PodAllocation(pod.uid, cpus, spec.preferred_exclusive_policy, status.numa_nodes)


class Annotations(NamedTuple):
    """What is written on the pod (PreBind); None: as it was."""

    spec: ResourceSpec | None = None
    status: ResourceStatus | None = None


def pre_bind(admission: Admission, given: PodAllocation | None) -> Annotations:
    """The result, and the policies that the pod left open."""
    if given is None:
        return Annotations()
    cpus = to_text(given.cpus)
    status = ResourceStatus(cpus, given.numa_nodes)
    return Annotations(_completed(admission) if admission.binds_cpus else None, status)


def _completed(admission: Admission) -> ResourceSpec | None:
    state = admission.state
    labels, kubelet = admission.node.node.labels, admission.options.kubelet
    policy, is_required = bind_policy(
        labels, kubelet, state.required_policy, state.preferred_policy
    )
    try:
        spec = given = read_resource_spec(state.pod.annotations)
    except KubeletError:
        spec = given = ResourceSpec()
    if is_required and spec.required_bind_policy in ("", DEFAULT):
        spec = spec._replace(required_bind_policy=policy)
    if spec.preferred_bind_policy == DEFAULT:
        spec = spec._replace(preferred_bind_policy=policy)
    if not spec.required_bind_policy and not spec.preferred_bind_policy:
        spec = spec._replace(preferred_bind_policy=policy)
    return None if spec == given else spec
