"""What will go wrong on a planned node: a kubelet that does not start, known mistakes.

The simulator is asked wherever that is cheap; what it takes thousands of pods to show is told by
its condition alone.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from cpuplan.components import kubelet as component
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate, Position
from cpuplan.facts.settings.kubelet import CPU_MANAGER_OPTIONS, FEATURE_GATES
from cpuplan.plan import ConfiguredPlan, NodePlan
from cpuplan.simulate import room, workloads
from cpuplan.simulate.allocators.base import HANG, Restarting, probe
from cpuplan.simulate.allocators.kubelet import KubeletAllocator
from cpuplan.simulate.files.kubelet_configuration import field_of, hint_for
from cpuplan.simulate.planned import Planned, planned
from cpuplan.solve import budget
from cpuplan.solve.budget import UndecidedError
from cpuplan.upstream.kubelet.cpumanager.policy_static import StaticPolicy
from cpuplan.upstream.kubelet.kubelet import StartError
from cpuplan.upstream.kubelet.policy_options import DEFAULT_MAX_NUMA_NODES, DISTRIBUTE_ACROSS_NUMA
from cpuplan.upstream.kubernetes.errors import HangError, PanicError

#: Stages of a start that look at the configuration alone.
_CONFIGURATION = ("decode", FEATURE_GATES.head, "validate", "allowedUnsafeSysctls")
#: From so many NUMA nodes on a list of chosen nodes can share its memory with others (Go: arrays of
#: 1, 2, 4, 8).
_SHARED_FROM = 5
_DISTRIBUTES = CPU_MANAGER_OPTIONS.field.format(option=DISTRIBUTE_ACROSS_NUMA)


def check(plan: ConfiguredPlan, locate: Locate) -> list[Diagnostic]:
    """All that is known of a class without its pods; CP7155 where the limit of work ends before."""
    of = plan.node_class
    with budget.simulated() as limit:
        try:
            return _check(plan, locate)
        except UndecidedError:
            field = "workloads" if plan.spec.workloads else "pools"
            place = locate(of.place(field, of_key=True))
            name, cluster = of.name, of.cluster
            return [diagnose("CP7155", place, name=name, cluster=cluster, limit=limit.words)]


def _check(plan: ConfiguredPlan, locate: Locate) -> list[Diagnostic]:
    facts = planned(plan)
    try:
        allocator = KubeletAllocator(facts)
    except StartError as error:
        return [_refused(plan, locate, error.stage, text, facts.config) for text in error.texts]
    except (PanicError, HangError) as error:
        return [_not_started(plan, f"it crashes: {error}")]
    policy = allocator.kubelet.cpus.policy
    if facts.balloons or facts.pools:
        return _check_nri_policy(plan, locate, facts)
    if facts.dra:
        from cpuplan.simulate.allocators.dra import DraAllocator  # for few plans

        return _pods(plan, locate, DraAllocator(facts))
    if facts.koordinator:
        return _check_koordinator(plan, locate, facts)
    if policy is None:
        return list(room.check(plan, locate, allocator))
    checks = (_check_overlap, _check_loop, _check_shared_slices)
    problems = [
        problem for check_one in checks for problem in check_one(plan, locate, allocator, policy)
    ]
    return problems or _pods(plan, locate, allocator)


def _pods(plan: ConfiguredPlan, locate: Locate, allocator: Restarting) -> list[Diagnostic]:
    """Whether an empty node has room for pods, else whether the workloads have."""
    empty = list(room.check(plan, locate, allocator))
    return [*empty, *workloads.check(plan, locate, allocator)]


def _check_nri_policy(plan: ConfiguredPlan, locate: Locate, facts: Planned) -> list[Diagnostic]:
    """Workloads for which the policy finds no CPUs; where it does not start is CP591."""
    from cpuplan.simulate.allocators.nri_balloons import BalloonsAllocator  # for few plans
    from cpuplan.simulate.allocators.nri_pools import PoolsAllocator

    try:
        allocator = PoolsAllocator(facts) if facts.pools else BalloonsAllocator(facts)
    except StartError as error:
        return [_not_started(plan, str(error))]
    return list(workloads.check(plan, locate, allocator))


def _check_koordinator(plan: ConfiguredPlan, locate: Locate, facts: Planned) -> list[Diagnostic]:
    """Workloads, as LSR pods or of a profile, for which koord-scheduler finds no CPUs."""
    from cpuplan.simulate.allocators.koordinator import KoordinatorAllocator  # for few plans

    try:
        allocator = KoordinatorAllocator(facts)
    except StartError:
        return []  # CP632: arguments with which the scheduler does not start
    checks = (room.check, workloads.check, workloads.check_profiled)
    return [problem for check_one in checks for problem in check_one(plan, locate, allocator)]


def _refused(
    plan: ConfiguredPlan, locate: Locate, stage: str, problem: str, config: dict[str, Any]
) -> Diagnostic:
    if stage not in _CONFIGURATION:
        return _not_started(plan, problem)
    field = field_of(problem, config)
    code = "CP702" if stage == FEATURE_GATES.head else "CP703"
    where = f"class {plan.node_class.name} in cluster {plan.node_class.cluster}"
    place, hint = _origin(plan, locate, field), hint_for(problem)
    return diagnose(code, place, where=where, problem=problem, hint=hint)


def _not_started(plan: NodePlan, problem: str) -> Diagnostic:
    return diagnose(
        "CP701", name=plan.node_class.name, cluster=plan.node_class.cluster, problem=problem
    )


def _origin(plan: ConfiguredPlan, locate: Locate, field: tuple[str, ...]) -> Position | None:
    """Where the intent says what a field of the configuration is."""
    settings = plan.settings.of(component.NAME)
    for key in (".".join(field), *field[:1]):
        for setting in settings:
            if setting.key == key or setting.key.startswith(f"{key}."):
                positions = (locate(reason.origin) for reason in setting.reasons)
                return next((position for position in positions if position), None)
    return None


def _check_overlap(
    plan: NodePlan, locate: Locate, allocator: KubeletAllocator, policy: StaticPolicy
) -> Iterator[Diagnostic]:
    """Averages that call elements free which are not (cpu_assignment.CPUAccumulator)."""
    topology = policy.topology
    cores = max((cpus.bit_count() for cpus in topology.cores.values()), default=0)
    sockets = [
        cpus for cpus in topology.sockets.values() if cpus.bit_count() > topology.cpus_per_socket
    ]
    if cores <= topology.cpus_per_core and not sockets:
        return
    # Hints are all combinations of NUMA nodes, and merging those of two managers takes the square
    # of that. With nine nodes one pod takes seconds, with sixteen hours, in the kubelet too, which
    # is why it refuses them by default.
    if len(topology.numa_nodes) > DEFAULT_MAX_NUMA_NODES:
        return
    firsts, seconds = _requests_for_cores(policy)
    for cpus in sockets:
        size, taken = (
            cpus.bit_count(),
            (cpus & policy.allocatable).bit_count() - topology.cpus_per_socket,
        )
        others = (policy.allocatable & ~cpus).bit_count()
        before = {1, topology.cpus_per_core, others}
        firsts |= {(count,) for count in before}
        if taken > 0:
            firsts |= {
                (taken,),
                *((count, taken) for count in before),
                *((taken, count) for count in before),
            }
        seconds |= {size, size + 1, size + 2, policy.allocatable.bit_count() - max(taken, 0)}
    if example := _find_overlap(allocator, [(), *sorted(firsts)], sorted(seconds)):
        node_class = plan.node_class
        is_planned = bool(plan.pool("offlined").cpus)
        cause = (
            node_class.place("pools.offlined")
            if is_planned
            else node_class.hardware_place("topology.cores", of_key=True)
        )
        yield diagnose("CP704", locate(cause), hardware=node_class.hardware, example=example)


def _requests_for_cores(policy: StaticPolicy) -> tuple[set[tuple[int, ...]], set[int]]:
    """Requests that leave part of a large core free, and requests that then take all of it.

    Smaller cores go first, those of the machine or of a NUMA node.
    """
    topology = policy.topology
    average = topology.cpus_per_core
    large = {cpus.bit_count() for cpus in topology.cores.values() if cpus.bit_count() > average}
    small = (
        sum(cpus for cpus in topology.cores.values() if cpus.bit_count() <= average)
        & policy.allocatable
    )
    firsts: set[tuple[int, ...]] = {
        (extra + (small & within).bit_count(),)
        for within in (0, topology.all, *topology.numa_nodes.values())
        for size in large
        for extra in range(1, size - average + 1)
    }
    return firsts, {count for size in large for count in range(size, 2 * size + 1)}


def _find_overlap(
    allocator: KubeletAllocator, firsts: Iterable[tuple[int, ...]], seconds: Iterable[int]
) -> str:
    """The first requests, and the one after them, that make two sets overlap."""
    start = allocator.take()
    try:
        for first in firsts:
            for gone in (False, True) if len(first) > 1 else (False,):
                allocator.restore(start)
                for number, count in enumerate(first):
                    allocator.admit(probe(count, str(number)))
                if gone:
                    allocator.kubelet.remove("0")
                if example := _overlap_after(allocator, first, seconds, gone=gone):
                    return example
        return ""
    finally:
        allocator.restore(start)


def _overlap_after(
    allocator: KubeletAllocator, first: tuple[int, ...], seconds: Iterable[int], *, gone: bool
) -> str:
    moment = allocator.take()
    for count in seconds:
        allocator.restore(moment)
        if count > 0 and not allocator.admit(probe(count, "last")).refused:
            overlap = allocator.overlap()
            if overlap:
                of = "that are reserved" if not overlap.other else "that another one has"
                before = (
                    f"after {_and(first)}" + " (the first has gone)" * gone
                    if first
                    else "as the first"
                )
                return (
                    f"a container of {count} CPUs, {before}, gets CPUs {of}, such as {overlap.cpu}"
                )
    return ""


def _and(counts: tuple[int, ...]) -> str:
    return " and ".join(f"one of {count}" for count in counts)


def _check_loop(
    plan: NodePlan, locate: Locate, allocator: KubeletAllocator, policy: StaticPolicy
) -> Iterator[Diagnostic]:
    """Groups of CPUs that no NUMA node can give (kubelet bug: distributed.best_combination)."""
    options, group = policy.options, policy.cpu_group_size
    nodes = policy.topology.numa_nodes.values()
    if not (options.distribute_cpus_across_numa and options.full_pcpus_only) or group < 2:
        return
    if not any((cpus & policy.allocatable).bit_count() % group for cpus in nodes):
        return
    start = allocator.take()
    for count in range(group, policy.allocatable.bit_count() + 1, group):
        refused = allocator.admit(probe(count)).refused
        allocator.restore(start)
        if refused and refused.reason == HANG:
            position = locate(plan.node_class.place(_DISTRIBUTES))
            yield diagnose("CP705", position, name=plan.node_class.name, count=count)
            return


def _check_shared_slices(
    plan: NodePlan, locate: Locate, _allocator: KubeletAllocator, policy: StaticPolicy
) -> Iterator[Diagnostic]:
    nodes = len(policy.topology.numa_nodes)
    if policy.options.distribute_cpus_across_numa and nodes >= _SHARED_FROM:
        position = locate(plan.node_class.place(_DISTRIBUTES))
        yield diagnose("CP706", position, hardware=plan.node_class.hardware, nodes=nodes)
