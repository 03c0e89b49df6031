"""What the NRI balloons policy would make of a plan, and partitions that nothing enforces."""

from collections.abc import Iterator

from cpuplan.base.cpuset import CpuSet, cpus_text
from cpuplan.components import chosen
from cpuplan.components.checks.nri import shared
from cpuplan.components.checks.nri.shared import KUBELET, Problem
from cpuplan.components.nri import balloons, policies, types
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.language.model.vocabulary import ALIGNING, PARTITION
from cpuplan.plan import NodePlan
from cpuplan.upstream.kubernetes.errors import PanicError
from cpuplan.upstream.nri.api import RESERVED, NriError


def check(plan: NodePlan, locate: Locate) -> list[Diagnostic]:
    """Statements that balloons cannot keep, else what the policy gets wrong."""
    wrong = shared.refused(plan, locate, _contradictions(plan))
    return wrong or [
        *_check_policy(plan, locate),
        *_check_left(plan, locate),
        *shared.check_runtime(plan, locate),
    ]


def _contradictions(plan: NodePlan) -> Iterator[Problem]:
    without = "no container has shared CPUs beside those of its balloon"
    yield from shared.contradictions(plan, without)
    yield from _qos_problems(plan)


def _qos_problems(plan: NodePlan) -> Iterator[Problem]:
    """QoS sets that share CPUs, or of which nothing is left."""
    qos = plan.spec.qos
    if not (qos.best_effort or qos.other):
        return
    field = "qos.bestEffort" if qos.best_effort else "qos.other"
    own = policies.available(plan) - plan.pool("reserved").cpus
    sets = {"bestEffort": own, "other": own}
    sets |= {pool.name: pool.cpus & own for pool in plan.sets if pool.name in sets}
    if common := sets["bestEffort"] & sets["other"]:
        text = f"{cpus_text(common)} would be for all pods, and a CPU is in one balloon"
        yield field, text, f"give both sets, without common CPUs, {KUBELET}"
    elif not all(one.cpus for one in types.fixed(plan)):
        text = "partitions and reserved CPUs leave nothing of the set"
        yield field, text, f"give it CPUs of its own, {KUBELET}"


def _check_policy(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """Ask the port of the policy which CPUs the balloons of the planned machine get."""
    name = plan.node_class.name
    try:
        policy = balloons.started(plan)
    except (NriError, PanicError) as error:
        yield shared.not_started(plan, locate, error)
        return
    got = {balloon.name: CpuSet.from_bits(balloon.cpus) for balloon in policy.state.balloons}
    reserved = plan.pool("reserved")
    for one in [types.Fixed(RESERVED, reserved.cpus, reserved.because), *types.fixed(plan)]:
        cpus = got.get(f"{one.name}[0]", CpuSet())
        if cpus != one.cpus:
            problem = f"the balloon of {one.name} gets {cpus_text(cpus)} instead of {one.cpus}"
            position, hint = locate(_place(plan, one.name)), f"give it whole cores, {KUBELET}"
            yield diagnose("CP591", position, name=name, problem=problem, hint=hint)


def _place(plan: NodePlan, name: str) -> str:
    if name.startswith(PARTITION):
        return plan.node_class.place(f"pools.isolated.partitions.{name.removeprefix(PARTITION)}")
    return plan.node_class.place("qos.bestEffort" if name == types.BEST_EFFORT else f"pools.{name}")


def _check_left(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    if not types.unassigned(plan):
        position = locate(plan.node_class.place("pools.isolated"))
        pods = "pods of no partition and no namespace of reserved CPUs"
        yield diagnose(
            "CP593",
            position,
            name=plan.node_class.name,
            pods=pods,
            hint="make a partition smaller, so that the isolated pool has more CPUs than its "
            "partitions",
        )


def check_unenforced(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """Partitions whose pods may come to other isolated CPUs."""
    isolated = plan.pool("isolated").cpus
    for pool in plan.sets:
        if not pool.name.startswith(PARTITION) or not pool.cpus or pool.cpus == isolated:
            continue
        if not _is_aligned(plan, pool.name, pool.cpus):
            yield diagnose("CP592", locate(_place(plan, pool.name)), partition=pool.name)


def _is_aligned(plan: NodePlan, name: str, cpus: CpuSet) -> bool:
    """Whether the kubelet keeps pods there: by their device, on NUMA nodes that are its own."""
    if plan.node_class.cpu_manager_policy != "static" or plan.spec.pools.isolated is None:
        return False
    partition = plan.spec.pools.isolated.partitions.get(name.removeprefix(PARTITION))
    nodes = (there for there in plan.topology.numa_nodes.values() if there & cpus)
    inside = all(there & plan.pool("isolated").cpus <= cpus for there in nodes)
    near = partition is not None and partition.near is not None
    return inside and near and chosen.topology_policy(plan) in ALIGNING
