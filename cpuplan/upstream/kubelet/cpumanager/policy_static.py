"""The static policy of the CPU manager (pkg/kubelet/cm/cpumanager/policy_static.go).

Upstream: kubernetes/kubernetes pkg/kubelet/cm/cpumanager/policy_static.go
  @ 24e2b02af5543d7910c2bb074c7264df5a8f0467
"""

from collections.abc import Mapping
from typing import NamedTuple

from cpuplan.upstream.kubelet.cpumanager.cpu_assignment import (
    take_by_topology_numa_distributed,
    take_by_topology_numa_packed,
)
from cpuplan.upstream.kubelet.cpumanager.state import CPUState
from cpuplan.upstream.kubelet.cpumanager.topology import CPUTopology
from cpuplan.upstream.kubelet.policy_options import (
    NOT_BY_SOCKET,
    StaticPolicyOptions,
    can_align_by_socket,
    static_policy_options,
)
from cpuplan.upstream.kubelet.topologymanager.policy import ProviderHints, TopologyHint
from cpuplan.upstream.kubernetes import kube_features
from cpuplan.upstream.kubernetes.bits import masks_over, to_text
from cpuplan.upstream.kubernetes.errors import AdmissionError, KubeletError
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.pod import CPU, Container, Pod
from cpuplan.upstream.kubernetes.qos import (
    guaranteed_cpus,
    pod_guaranteed_cpus,
    validate_pod_scope_resources,
)
from cpuplan.upstream.kubernetes.strconv import quote


def generate_cpu_topology_hints(
    topology: CPUTopology,
    available: int,
    reusable: int,
    request: int,
    *,
    align_by_socket: bool = False,
) -> list[TopologyHint]:
    """The NUMA masks that can give `request` CPUs.

    Reusable CPUs that are free count twice.

    Preferred are masks as narrow as the narrowest that has so many CPUs at all, reserved ones
    included.
    """
    # CPUs that the topology does not know count as those of node 0 (a map's zero value in Go)
    stray = ~topology.all
    sizes, free, needed = {}, {}, 0
    for node, cpus in topology.numa_nodes.items():
        sizes[node] = cpus.bit_count()
        own = cpus | stray if node == 0 else cpus
        free[node] = (own & available).bit_count()
        if own & reusable:
            needed |= 1 << node
    if stray & reusable and 0 not in sizes:
        return []
    missing = request - reusable.bit_count()
    smallest = _smallest_size(sorted(sizes.values(), reverse=True), request)
    hints = []
    for mask, nodes in masks_over(tuple(topology.numa_nodes)):
        if needed & ~mask or sum(map(free.__getitem__, nodes)) < missing:
            continue
        preferred = len(nodes) == smallest or (
            align_by_socket and is_socket_aligned(topology, mask, smallest)
        )
        hints.append(TopologyHint(mask, preferred))
    return hints


def _smallest_size(sizes: list[int], request: int) -> int:
    """How many NUMA nodes, largest first, hold `request` CPUs; all nodes if none suffice."""
    total = 0
    for count, cpus in enumerate(sizes, 1):
        total += cpus
        if total >= request:
            return count
    return len(sizes)


def is_socket_aligned(topology: CPUTopology, mask: int, smallest: int) -> bool:
    """Whether a mask spans the fewest sockets that `smallest` NUMA nodes need.

    Rule of align-by-socket, KEP-3327.
    """
    if not topology.num_sockets:
        return False
    nodes_per_socket = topology.num_numa_nodes // topology.num_sockets
    if not nodes_per_socket:
        return False
    return len(topology.sockets_of(mask)) == -(-smallest // nodes_per_socket)


def check_reserved(state: CPUState, reserved: int, *, is_strict: bool) -> None:
    """Reserved CPUs are all in the shared pool or, where the reservation is strict, none is."""
    inside, default = reserved & state.default, quote(to_text(state.default))
    if is_strict and inside:
        what = f"some of strictly reserved cpus: {quote(to_text(inside))}"
        raise KubeletError(f"{what} are present in defaultCpuSet: {default}")
    if not is_strict and inside != reserved:
        what = f"not all reserved cpus: {quote(to_text(reserved))}"
        raise KubeletError(f"{what} are present in defaultCpuSet: {default}")


def check_overlap(state: CPUState) -> None:
    """No container has CPUs of the shared pool."""
    default = quote(to_text(state.default))
    for pod, containers in sorted(state.entries.items()):
        for name, cpus in sorted(containers.items()):
            if cpus & state.default:
                overlap = f"{quote(to_text(cpus))} overlaps with default cpuset {default}"
                raise KubeletError(f"pod: {pod}, container: {name} cpuset: {overlap}")


def check_known(state: CPUState, everything: int, *, with_pods: bool) -> None:
    """The state names the CPUs of the machine, neither more nor fewer."""
    known = _known_cpus(state, with_pods=with_pods)
    if known != everything:
        available, in_state = quote(to_text(everything)), quote(to_text(known))
        problem = f"{available} doesn't match with CPUs in state {in_state}"
        raise KubeletError(f"current set of available CPUs {problem}")


def _known_cpus(state: CPUState, *, with_pods: bool) -> int:
    """Every CPU that a state mentions; those of whole pods only where these are managed."""
    known = state.default
    for containers in state.entries.values():
        for cpus in containers.values():
            known |= cpus
    if with_pods:
        for cpus in state.pod_entries.values():
            known |= cpus
    return known


class Reserved(NamedTuple):
    """CPUs that are never exclusive: a set (reservedSystemCPUs) or, without one, how many."""

    number: int
    cpus: int = 0


class Fork(NamedTuple):
    """What OpenShift's kubelet does differently."""

    is_openshift: bool = False
    workload_partitioning: bool = False


class StaticPolicy:
    """Exclusive CPUs for containers of Guaranteed pods that request whole CPUs.

    The state is passed to every step.
    """

    def __init__(
        self,
        topology: CPUTopology,
        reserved: Reserved,
        options: StaticPolicyOptions,
        gates: Gates,
        fork: Fork,
    ) -> None:
        self.topology, self.options, self.gates, self.fork = topology, options, gates, fork
        self.cpu_group_size = topology.cpus_per_core
        self.odd_uncore_remainders = kube_features.has_behaviour(
            gates.version, "cpu.odd_uncore_remainders", is_openshift=fork.is_openshift
        )
        self.cpus_to_reuse: dict[str, int] = {}
        self.reserved = reserved.cpus or self._reserve(reserved.number)
        self.reserved_physical = topology.siblings_of(self.reserved)
        if self.reserved.bit_count() != reserved.number:
            sizes = f"size of {to_text(self.reserved)} did not equal {reserved.number}"
            raise KubeletError(
                f"[cpumanager] unable to reserve the required amount of CPUs ({sizes})"
            )

    def _reserve(self, count: int) -> int:
        """Taken as any other CPUs, by the options: these change which CPUs are reserved."""
        try:
            return self.take_by_topology(self.topology.all, count)
        except KubeletError:
            return 0

    @property
    def allocatable(self) -> int:
        """What can be exclusive at all (GetAllocatableCPUs)."""
        return self.topology.all & ~self.reserved

    def available(self, state: CPUState) -> int:
        """What can be exclusive now (GetAvailableCPUs)."""
        return state.default & ~self.reserved

    def start(self, state: CPUState) -> None:
        """Fills an empty state, or checks one that was read (validateState).

        KubeletError: the kubelet does not start.
        """
        everything = self.topology.all
        if self.options.strict_cpu_reservation or self.fork.workload_partitioning:
            everything &= ~self.reserved
        if state.default:
            self._validate_state(state, everything)
            return
        if state.entries:
            raise KubeletError("default cpuset cannot be empty")
        state.default = everything

    def _validate_state(self, state: CPUState, everything: int) -> None:
        # With workload partitioning OpenShift's kubelet does not look at reserved CPUs.
        is_strict = self.options.strict_cpu_reservation
        if is_strict or not self.fork.workload_partitioning:
            check_reserved(state, self.reserved, is_strict=is_strict)
        check_overlap(state)
        if self.fork.is_openshift and not self.fork.workload_partitioning:
            # OpenShift's kubelet refuses its own state under strict-cpu-reservation
            everything = self.topology.all
        with_pods = self.gates.enabled("PodLevelResourceManagers")
        check_known(state, everything, with_pods=with_pods)

    def ignores(self, pod: Pod) -> bool:
        """Whether a pod's own resources keep the managers away from it."""
        return pod.has_own_resources and self.gates.ignores_pod_level

    def allocate(
        self, state: CPUState, pod: Pod, container: Container, affinity: TopologyHint
    ) -> None:
        """Exclusive CPUs for a container, if it has any; KubeletError refuses the pod."""
        count = guaranteed_cpus(pod, container, self.gates)
        if count == 0 or self.ignores(pod):
            return
        # Before looking whether the container has its CPUs already: after a restart of the kubelet
        # a running pod is refused when it has more CPUs than are left to others (kubelet bug
        # 129078).
        self.enforce_smt_alignment(state, count)
        cpus = state.cpus_of(pod.uid, container.name)
        if cpus is None:
            cpus = self.allocate_cpus(
                state, count, affinity.affinity, self.cpus_to_reuse.get(pod.uid, 0)
            )
            state.set_cpus(pod.uid, container.name, cpus)
        self._update_cpus_to_reuse(pod, container, cpus)

    def enforce_smt_alignment(self, state: CPUState, count: int) -> None:
        """full-pcpus-only: AdmissionError for part of a core, or for more CPUs than are left.

        Half free cores count as free here, CPUs that are reused do not.
        """
        if not self.options.full_pcpus_only:
            return
        per_core = self.cpu_group_size
        not_multiple = (
            f"SMT Alignment Error: requested {count} cpus not multiple cpus per core = {per_core}"
        )
        if count % per_core:
            raise AdmissionError("SMTAlignmentError", not_multiple)
        if not kube_features.has_behaviour(self.gates.version, "cpu.physical_cpus_check"):
            return
        physical = (state.default & ~self.reserved_physical).bit_count()
        if count > physical:
            if not physical and not kube_features.has_behaviour(
                self.gates.version, "cpu.physical_cpus_text"
            ):
                raise AdmissionError("SMTAlignmentError", not_multiple)
            text = (
                f"available physical CPUs = {physical}, requested CPUs = {count}, CPUs per "
                f"core = {per_core}"
            )
            raise AdmissionError(
                "SMTAlignmentError", f"SMT Alignment Error: not enough free physical CPUs: {text}"
            )

    def allocate_cpus(
        self, state: CPUState, count: int, affinity: int | None, reusable: int
    ) -> int:
        """Takes `count` CPUs out of the shared pool: aligned ones first, then any.

        These are two runs of the allocator.
        """
        allocatable = self.available(state) | reusable
        result = 0
        if affinity is not None:
            aligned = allocatable & self.aligned(affinity)
            part = min(count, aligned.bit_count())
            result = self.take_by_topology(aligned, part, self._hinted(affinity))
        result |= self.take_by_topology(allocatable & ~result, count - result.bit_count())
        state.default &= ~result
        return result

    def aligned(self, affinity: int) -> int:
        """All CPUs of the NUMA nodes or (align-by-socket) of the sockets that they belong to."""
        if not self.options.align_by_socket:
            return self.topology.in_numa_nodes(affinity)
        return sum(self.topology.sockets[socket] for socket in self.topology.sockets_of(affinity))

    def _hinted(self, affinity: int) -> int:
        """How many NUMA nodes a distribution has at least."""
        by_hint = kube_features.has_behaviour(self.gates.version, "cpu.distribution_by_hint")
        return affinity.bit_count() if by_hint else 0

    def take_by_topology(self, available: int, count: int, hinted: int = 0) -> int:
        """The allocator that the options choose; `hinted` as it has it."""
        options, spread = self.options, self.options.distribute_cpus_across_cores
        if options.distribute_cpus_across_numa:
            group = self.cpu_group_size if options.full_pcpus_only else 1
            return take_by_topology_numa_distributed(
                self.topology, available, count, group, spread=spread, hinted=hinted
            )
        return take_by_topology_numa_packed(
            self.topology,
            available,
            count,
            spread=spread,
            align_by_uncore_cache=options.prefer_align_cpus_by_uncorecache,
            odd_uncore_remainders=self.odd_uncore_remainders,
        )

    def _update_cpus_to_reuse(self, pod: Pod, container: Container, cpus: int) -> None:
        """Plain init containers leave their CPUs to the next containers of the pod.

        They are lost when a container of another pod comes in between.
        """
        reusable = self.cpus_to_reuse.get(pod.uid, 0)
        left = reusable | cpus if container.is_plain_init else reusable & ~cpus
        self.cpus_to_reuse = {pod.uid: left}

    def remove_container(self, state: CPUState, pod: str, container: str) -> None:
        """Returns CPUs to the shared pool that no other container of the pod uses.

        The set of a whole pod returns with its last container.
        """
        cpus = state.cpus_of(pod, container)
        if cpus is None:
            return
        state.delete(pod, container)
        siblings = state.entries.get(pod, {})
        if self.gates.enabled("PodLevelResourceManagers") and pod in state.pod_entries:
            if not siblings:
                state.default |= state.pod_entries[pod]
                state.delete_pod(pod)
            return
        for in_use in siblings.values():
            cpus &= ~in_use
        state.default |= cpus

    def topology_hints(
        self, state: CPUState, pod: Pod, container: Container
    ) -> ProviderHints | None:
        """Hints for a container (GetTopologyHints); None without a preference."""
        count = guaranteed_cpus(pod, container, self.gates)
        if count == 0 or self.ignores(pod):
            return None
        cpus = state.cpus_of(pod.uid, container.name)
        if cpus is not None:
            return {CPU: self._hints(cpus, 0, count) if cpus.bit_count() == count else []}
        return {CPU: self._hints(self.available(state), self.cpus_to_reuse.get(pod.uid, 0), count)}

    def pod_topology_hints(self, state: CPUState, pod: Pod) -> ProviderHints | None:
        """Hints for all containers of a pod at once (GetPodTopologyHints)."""
        count = pod_guaranteed_cpus(pod, self.gates)
        if count == 0 or self.ignores(pod):
            return None
        if pod.has_own_resources and self.gates.pod_level_managers:
            try:
                validate_pod_scope_resources(pod, self.gates)
            except KubeletError:
                return {CPU: []}
        assigned = 0
        for container in pod.all_containers:
            cpus = state.cpus_of(pod.uid, container.name)
            if cpus is not None:
                if cpus.bit_count() != guaranteed_cpus(pod, container, self.gates):
                    return {CPU: []}
                assigned |= cpus
        if assigned.bit_count() == count:
            return {CPU: self._hints(assigned, 0, count)}
        return {
            CPU: self._hints(
                self.available(state), self.cpus_to_reuse.get(pod.uid, 0) | assigned, count
            )
        }

    def _hints(self, available: int, reusable: int, count: int) -> list[TopologyHint]:
        by_socket = self.options.align_by_socket
        return generate_cpu_topology_hints(
            self.topology, available, reusable, count, align_by_socket=by_socket
        )


def new_static_policy(
    topology: CPUTopology,
    reserved: Reserved,
    options: Mapping[str, str],
    gates: Gates,
    *,
    topology_policy: str = "none",
    fork: Fork = Fork(),  # noqa: B008 - a constant
) -> StaticPolicy:
    """NewStaticPolicy; KubeletError where a kubelet with these options does not start."""
    chosen = static_policy_options(options, gates)
    if chosen.align_by_socket and topology_policy == NOT_BY_SOCKET:
        option = "CPUManager align-by-socket policy option"
        raise KubeletError(
            f"Topolgy manager {topology_policy} policy is incompatible with {option}"
        )
    is_possible = can_align_by_socket(topology.num_sockets, topology.num_numa_nodes)
    if chosen.align_by_socket and not is_possible:
        reason = "hardware where number of sockets are more than number of NUMA"
        raise KubeletError(f"Align by socket is not compatible with {reason}")
    return StaticPolicy(topology, reserved, chosen, gates, fork)


def allocate_pod(policy: StaticPolicy, state: CPUState, pod: Pod, affinity: TopologyHint) -> None:
    """Takes one set for the pod and divides it; other containers share the rest of the set.

    KubeletError refuses the pod; the shared pool has then lost the set, or not, as in the kubelet.
    """
    count = pod_guaranteed_cpus(pod, policy.gates)
    if count == 0:
        return
    try:
        validate_pod_scope_resources(pod, policy.gates)
    except KubeletError as error:
        raise AdmissionError("EmptyPodSharedPoolError", str(error)) from None
    policy.enforce_smt_alignment(state, count)
    bubble = policy.allocate_cpus(state, count, affinity.affinity, 0)
    state.pod_entries[pod.uid] = bubble
    assigned = _partition(policy, pod, bubble)
    for name, cpus in assigned.items():
        state.set_cpus(pod.uid, name, cpus)


def _partition(policy: StaticPolicy, pod: Pod, bubble: int) -> dict[str, int]:
    """The CPUs of each container by name.

    Init containers may use every CPU that no earlier sidecar has.
    """
    assigned: dict[str, int] = {}
    left = bubble
    for container in pod.init_containers:
        count = guaranteed_cpus(pod, container, policy.gates)
        if count:
            assigned[container.name] = policy.take_by_topology(left, count)
            if container.is_restartable:
                left &= ~assigned[container.name]
        elif not container.is_restartable:
            assigned[container.name] = left
    for container in pod.containers:
        count = guaranteed_cpus(pod, container, policy.gates)
        if count:
            assigned[container.name] = policy.take_by_topology(left, count)
            left &= ~assigned[container.name]
    return {container.name: assigned.get(container.name, left) for container in pod.all_containers}
