"""Whether a pod fits on a node (plugin.go, Filter; topology_hint.go, FilterByNUMANode)."""

from functools import cached_property

from cpuplan.upstream.koordinator.annotations.node import read_ratios
from cpuplan.upstream.koordinator.annotations.pod import BEST_EFFORT, FULL_PCPUS, REQUIRED
from cpuplan.upstream.koordinator.scheduler.amplification import amplified, amplify
from cpuplan.upstream.koordinator.scheduler.args import PluginArgs
from cpuplan.upstream.koordinator.scheduler.cpus.cpu_accumulator import Wish
from cpuplan.upstream.koordinator.scheduler.hints import topology_hints
from cpuplan.upstream.koordinator.scheduler.node import SchedulerNode
from cpuplan.upstream.koordinator.scheduler.node_allocation import INVALID_TOPOLOGY
from cpuplan.upstream.koordinator.scheduler.pod_state import NOT_INTEGER, PodState
from cpuplan.upstream.koordinator.scheduler.policies import (
    bind_policy,
    merged_numa_policy,
    node_numa_policy,
    node_policy,
    numa_strategy,
)
from cpuplan.upstream.koordinator.scheduler.request import Request
from cpuplan.upstream.koordinator.scheduler.resource_manager import allocate
from cpuplan.upstream.koordinator.scheduler.status import UNRESOLVABLE, UNSCHEDULABLE, StatusError
from cpuplan.upstream.koordinator.scheduler.topology_policy import Hint, Nodes, ProviderHints, merge
from cpuplan.upstream.kubelet.errors import KubeletError, PanicError
from cpuplan.upstream.kubelet.pods.pod import CPU
from cpuplan.upstream.kubelet.quantity import ZERO


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
