"""QoS sets: CPUs on which the pods of each QoS class are meant to run, and do run.

KEP-30, Per-QoS-Class CPU Affinity Hints, which no kubelet has built.

BestEffort and Burstable pods have slices whose AllowedCPUs the kernel enforces. Guaranteed pods
have none of their class: exclusive CPUs come out of what reservedSystemCPUs leaves, and only
strict-cpu-reservation keeps the others off the rest.

Upstream: kubernetes/kubernetes pkg/kubelet/cm/qos_container_manager_linux.go
  pkg/kubelet/cm/pod_container_manager_linux.go @ 24e2b02af5543d7910c2bb074c7264df5a8f0467
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from cpuplan.base.cpuset import EMPTY, CpuSet
from cpuplan.upstream.kubelet.cpumanager.state import CPUState
from cpuplan.upstream.kubelet.policy_options import STRICT_RESERVATION
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.pod import Pod
from cpuplan.upstream.kubernetes.qos import BEST_EFFORT, BURSTABLE, GUARANTEED, pod_qos

STATIC_POLICY = "static policy of the CPU manager"
NOTHING = "nothing"
ALL_PODS = "kubepods.slice"
SLICES = {BEST_EFFORT: "kubepods-besteffort.slice", BURSTABLE: "kubepods-burstable.slice"}

#: Kinds of problems.
OUTSIDE, OVERLAP, NOT_STARTED = "outside", "overlap", "not started"


class QosSets(NamedTuple):
    """The seed's sets. `all` are the online CPUs; a set that is None has all of them."""

    all: CpuSet
    reserved: CpuSet = EMPTY
    best_effort: CpuSet | None = None
    other: CpuSet | None = None

    def wanted(self, qos: str) -> CpuSet:
        """The CPUs of a class: BE of the seed for BestEffort, OTHER for other classes."""
        chosen = self.best_effort if qos == BEST_EFFORT else self.other
        return self.all if chosen is None else chosen & self.all

    @property
    def isolcpus(self) -> CpuSet:
        """ALL - BE - OTHER."""
        return self.all - self.wanted(BEST_EFFORT) - self.wanted(GUARANTEED)

    @property
    def hidden(self) -> CpuSet:
        """CPUs that no container has exclusively: reservedSystemCPUs without shared CPUs."""
        return self.reserved | (self.all - self.wanted(GUARANTEED))

    @property
    def allocatable(self) -> int:
        """CPUs by the seed: min(ALL - reserved, #OTHER)."""
        return min(len(self.all - self.reserved), len(self.wanted(GUARANTEED)))

    @property
    def assignable(self) -> int:
        """CPUs that the kubelet offers with `hidden` reserved.

        Fewer than by the seed where OTHER has some of the reserved CPUs: the seed's figure would
        let the scheduler bind pods whose exclusive CPUs do not exist.
        """
        return len(self.all - self.hidden)


class Enforcement(NamedTuple):
    """What enforces the sets: the kubelet's policy, and AllowedCPUs by the name of a slice."""

    is_static: bool = True
    strict_reservation: bool = True
    allowed: Mapping[str, CpuSet] = MappingProxyType({})
    cgroup_version: int = 2

    def limit(self, qos: str) -> CpuSet | None:
        """The CPUs of the slice that pods of a class are in; None where nothing limits it."""
        whole, own = self.allowed.get(ALL_PODS), self.allowed.get(SLICES.get(qos, ""))
        if own is None:
            return whole
        return own if whole is None else effective(own, whole)


def effective(cpus: CpuSet, limit: CpuSet | None) -> CpuSet:
    """The CPUs of a cgroup below another (version 2): all of the other's where it has none of them.

    The kernel takes an intersection that is empty for no wish (kernel/cgroup/cpuset.c,
    update_cpumasks_hier).
    """
    if limit is None:
        return cpus
    return (cpus & limit) or limit


class Problem(NamedTuple):
    """Why a container does not run as it is meant to, and the CPUs in question.

    OUTSIDE: it also runs on CPUs that are not in its set. OVERLAP: on CPUs that others have
    exclusively. NOT_STARTED: on cgroup version 1 writing a cpuset fails that is not within the
    slice's.
    """

    kind: str
    cpus: CpuSet


class Placement(NamedTuple):
    """Where a container should run, what the kubelet writes, where it runs, and by which means."""

    pod: str
    container: str
    qos: str
    wanted: CpuSet
    written: CpuSet
    cpus: CpuSet
    mechanism: str
    problems: tuple[Problem, ...] = ()


def place(
    pods: Iterable[Pod], state: CPUState, sets: QosSets, enforcement: Enforcement, gates: Gates
) -> list[Placement]:
    """The cpuset of every container, with the kubelet's current state.

    Without the static policy the kubelet writes no cpusets, and the state is not used.
    """
    placed = []
    for pod in pods:
        qos = pod_qos(pod, gates)
        taken = _exclusive_of_others(state, pod.uid) if enforcement.is_static else EMPTY
        for container in pod.all_containers:
            own = state.cpus_of(pod.uid, container.name) if enforcement.is_static else None
            pool = CpuSet.from_bits(state.default) if enforcement.is_static else sets.all
            written = pool if own is None else CpuSet.from_bits(own)
            mechanism = STATIC_POLICY if own is not None else _mechanism(enforcement)
            meant = Placement(
                pod.uid, container.name, qos, sets.wanted(qos), written, written, mechanism
            )
            placed.append(_enforce(meant, taken, enforcement))
    return placed


def _exclusive_of_others(state: CPUState, pod: str) -> CpuSet:
    """The exclusive CPUs of other pods."""
    bits = 0
    for uid, containers in state.entries.items():
        for cpus in containers.values():
            bits |= cpus if uid != pod else 0
    return CpuSet.from_bits(bits)


def _mechanism(enforcement: Enforcement) -> str:
    """What restricts a container without exclusive CPUs where its pod has no slice."""
    return (
        STRICT_RESERVATION if enforcement.is_static and enforcement.strict_reservation else NOTHING
    )


def _enforce(meant: Placement, taken: CpuSet, enforcement: Enforcement) -> Placement:
    """What the kernel makes of the cpuset that was written, and what is wrong with it."""
    problems = []
    limit, mechanism = enforcement.limit(meant.qos), meant.mechanism
    if limit is not None:
        name = SLICES.get(meant.qos, ALL_PODS)
        mechanism = f"AllowedCPUs of {name if name in enforcement.allowed else ALL_PODS}"
        if enforcement.cgroup_version == 1 and not meant.written <= limit:
            problems.append(Problem(NOT_STARTED, meant.written - limit))
    cpus = effective(meant.written, limit)
    stray, both = cpus - meant.wanted, cpus & taken
    if stray:
        problems.append(Problem(OUTSIDE, stray))
    if both:
        problems.append(Problem(OVERLAP, both))
    return meant._replace(cpus=cpus, mechanism=mechanism, problems=tuple(problems))
