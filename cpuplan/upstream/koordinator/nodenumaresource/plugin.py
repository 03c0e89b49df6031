"""The plugin on one node, pod after pod: PreFilter, Filter, Score, Reserve, PreBind.

Upstream: koordinator-sh/koordinator pkg/scheduler/plugins/nodenumaresource/plugin.go
  pkg/scheduler/plugins/nodenumaresource/topology_hint.go
  pkg/scheduler/plugins/nodenumaresource/pod_eventhandler.go
  @ 989ca85c62abcca92b303aa12fd2ccff2ed30fed
Upstream: koordinator-sh/koordinator pkg/scheduler/plugins/nodenumaresource/scoring.go
  @ a7a1b76bbf81abd26f9c377de1f31a60dd965f6e
"""

from functools import cached_property
from typing import NamedTuple

from cpuplan.upstream.koordinator.extension.node import amplified, amplify, of_milli, read_ratios
from cpuplan.upstream.koordinator.extension.numa_aware import (
    BEST_EFFORT,
    DEFAULT,
    FULL_PCPUS,
    REQUIRED,
    SPREAD_BY_PCPUS,
    NumaTopologySpec,
    ResourceSpec,
    ResourceStatus,
    read_numa_topology_spec,
    read_resource_spec,
    read_resource_status,
)
from cpuplan.upstream.koordinator.extension.qos import may_bind_cpus
from cpuplan.upstream.koordinator.nodenumaresource.cpu_accumulator import Wish
from cpuplan.upstream.koordinator.nodenumaresource.node_allocation import (
    INVALID_TOPOLOGY,
    PodAllocation,
    SchedulerNode,
)
from cpuplan.upstream.koordinator.nodenumaresource.resource_manager import (
    Request,
    allocate,
    topology_hints,
)
from cpuplan.upstream.koordinator.nodenumaresource.scoring import PluginArgs, score
from cpuplan.upstream.koordinator.nodenumaresource.topologymanager import (
    Hint,
    Nodes,
    ProviderHints,
    merge,
)
from cpuplan.upstream.koordinator.nodenumaresource.util import (
    ERROR,
    UNRESOLVABLE,
    UNSCHEDULABLE,
    StatusError,
    bind_policy,
    merged_numa_policy,
    node_numa_policy,
    node_policy,
    numa_strategy,
)
from cpuplan.upstream.koordinator.util import parse_cpus
from cpuplan.upstream.kubernetes.bits import to_text
from cpuplan.upstream.kubernetes.errors import KubeletError, PanicError
from cpuplan.upstream.kubernetes.fit import pod_requests
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.pod import CPU, Pod, Resources, sum_of
from cpuplan.upstream.kubernetes.quantity import ZERO

_GATES = Gates()
NOT_INTEGER = "the requested CPUs must be integer"


class PodState(NamedTuple):
    """A pod with its requests and policies; `binds_cpus` where it gets CPUs of its own anywhere."""

    pod: Pod
    requests: Resources
    numa: NumaTopologySpec
    binds_cpus: bool = False
    required_policy: str = ""
    preferred_policy: str = ""
    exclusive_policy: str = ""

    @property
    def milli_cpu(self) -> int:
        return self.requests.get(CPU, ZERO).milli

    @property
    def cpus(self) -> int:
        return self.milli_cpu // 1000


def pre_filter(pod: Pod, args: PluginArgs) -> PodState | None:
    """The state of a pod, None for one without requests, which the plugin does not look at.

    StatusError for annotations that cannot be read and for parts of CPUs that cannot be bound.
    """
    try:
        spec = read_resource_spec(pod.annotations)
        numa = read_numa_topology_spec(pod.annotations)
    except KubeletError as error:
        raise StatusError(ERROR, [str(error)]) from None
    requests = pod_requests(pod, _GATES)
    if not any(amount.nano for amount in requests.values()):
        return None
    state = PodState(pod, requests, numa)
    return _bound(state, spec, args) if may_bind_cpus(pod) else state


def _bound(state: PodState, spec: ResourceSpec, args: PluginArgs) -> PodState:
    """With CPUs, if the policy is one that binds: ConstrainedBurst and unknown ones do not."""
    default = args.default_bind_policy
    required = default if spec.required_bind_policy == DEFAULT else spec.required_bind_policy
    preferred = spec.preferred_bind_policy
    preferred = default if preferred in ("", DEFAULT) else preferred
    policy = required or preferred
    if policy not in (FULL_PCPUS, SPREAD_BY_PCPUS):
        return state
    if state.milli_cpu % 1000:
        raise StatusError(UNRESOLVABLE, [NOT_INTEGER])
    if not state.cpus:
        return state
    return state._replace(
        binds_cpus=True,
        required_policy=required,
        preferred_policy=policy,
        exclusive_policy=spec.preferred_exclusive_policy,
    )


class Admission:
    """A pod with a node. The mask of NUMA nodes that is found is kept for what comes later."""

    def __init__(self, node: SchedulerNode, state: PodState, args: PluginArgs) -> None:
        self.node, self.state, self.args = node, state, args
        self.options = node.options
        self.hint: Hint | None = None

    @cached_property
    def node_policy(self) -> str:
        return node_policy(self.node.node.labels, self.options.kubelet)

    @cached_property
    def numa_policy(self) -> str:
        """The node's or the pod's; StatusError where they differ."""
        of_node = node_numa_policy(self.node.node.labels, self.options)
        return merged_numa_policy(of_node, self.state.numa.policy)

    @cached_property
    def binds_cpus(self) -> bool:
        """Whether the pod gets CPUs: on a node with a bind policy every pod that requests some."""
        if self.state.binds_cpus:
            return True
        if not self.node_policy or not self.state.milli_cpu:
            return False
        if self.state.milli_cpu % 1000:
            raise StatusError(UNRESOLVABLE, [NOT_INTEGER])
        return True

    def request(self) -> Request:
        """What is asked of the node, with the mask that was found; KubeletError for its ratios."""
        node, state = self.node, self.state
        zones, ratios = node.amplified_zones()
        requests = state.requests
        if self.binds_cpus:
            requests = amplified(requests, ratios, [CPU])
        labels = node.node.labels
        policy, is_required = bind_policy(
            labels, self.options.kubelet, state.required_policy, state.preferred_policy
        )
        return Request(
            uid=state.pod.uid,
            requests=requests,
            original=state.requests,
            cpus=state.cpus,
            binds_cpus=self.binds_cpus,
            wish=Wish(policy, state.exclusive_policy),
            is_required=is_required,
            strategy=numa_strategy(labels, self.args.default_strategy),
            zones=zones,
            ratio=ratios.get(CPU, 0),
            hint=self.hint.affinity if self.hint else None,
        )

    def filter(self) -> None:
        """StatusError with the reasons why the pod does not fit; PanicError where this crashes."""
        numa_policy = self.numa_policy
        self._check_amplified_cpus()
        if self.binds_cpus:
            required = self._check_policies()
            if required and not numa_policy:
                self._try()
                return
        if numa_policy not in ("", BEST_EFFORT):
            self.align()

    def _check_policies(self) -> str:
        """The policy that is required, by the node before the pod."""
        asked = self.state.required_policy
        required = self.node_policy or asked
        if not self.options.has_cpus:
            raise StatusError(UNRESOLVABLE, [INVALID_TOPOLOGY])
        if asked and asked != required:
            conflict = "node(s) cpu bind policy conflicts with pod's required cpu bind policy"
            raise StatusError(UNRESOLVABLE, [conflict])
        topology = self.options.topology
        size = topology.cpus_per_core if topology else 1
        if required == FULL_PCPUS and not size:
            raise PanicError("runtime error: integer divide by zero")
        if required == FULL_PCPUS and self.state.cpus % size:
            raise StatusError(UNRESOLVABLE, ["node(s) requested cpus not multiple cpus per core"])
        return required

    def _check_amplified_cpus(self) -> None:
        """On a node with amplified CPUs, bound ones count as many as they are multiplied by."""
        milli, node = self.state.milli_cpu, self.node
        if not milli:
            return
        try:
            ratio = (read_ratios(node.node.annotations) or {}).get(CPU, -1)
        except KubeletError:
            invalid = "node(s) invalid CPU amplification ratio"
            raise StatusError(UNRESOLVABLE, [invalid]) from None
        if ratio <= 1:
            return
        milli = amplify(milli, ratio) if self.binds_cpus else milli
        try:
            _, allocated = node.allocation.available_cpus()
        except KubeletError as error:
            raise StatusError(UNRESOLVABLE, [str(error)]) from None
        bound = 1000 * allocated.cpus.bit_count()
        requested = node.requested.get(CPU, ZERO).milli
        if requested >= bound > 0:
            requested += amplify(bound, ratio) - bound
        if milli > node.node.allocatable.get(CPU, ZERO).milli - requested:
            raise StatusError(UNSCHEDULABLE, ["Insufficient amplified cpu"])

    def align(self) -> None:
        """Finds NUMA nodes by the policy (FilterByNUMANode, Admit)."""
        nodes = [zone.node for zone in self.options.numa_nodes]
        if not nodes:
            raise StatusError(UNRESOLVABLE, ["node(s) missing NUMA resources"])
        numa = self.state.numa
        exclusive = numa.single_node_exclusive or (REQUIRED if numa.policy else "")
        known = Nodes(nodes, self.node.allocation.statuses(len(nodes)), exclusive)
        verdict = merge(self.numa_policy, known, [self._hints()])
        if verdict.hint.affinity is not None:
            known.may_use(verdict.hint.affinity)
        if not verdict.is_admitted:
            raise StatusError(UNSCHEDULABLE, verdict.reasons)
        before, self.hint = self.hint, verdict.hint
        try:
            self._try()
        except StatusError:
            self.hint = before
            raise

    def _hints(self) -> ProviderHints:
        try:
            request = self.request()
        except KubeletError as error:
            raise StatusError(UNSCHEDULABLE, [str(error)]) from None
        try:
            return topology_hints(self.node.allocation, request, self.numa_policy, self.args)
        except KubeletError:
            insufficient = "node(s) Insufficient NUMA Node resources"
            raise StatusError(UNSCHEDULABLE, [insufficient]) from None

    def _try(self) -> None:
        """StatusError if nothing can be allocated."""
        try:
            request = self.request()
        except KubeletError as error:
            raise StatusError(UNRESOLVABLE, [str(error)]) from None
        allocate(self.node.allocation, request)


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
