"""Machines on which policies mean nothing, and machines that koord-scheduler miscounts."""

from collections.abc import Iterator

from cpuplan.base.cpuset import cpus_text
from cpuplan.components.published.exporters import can_have_zones
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.facts.settings.objects import BIND_POLICY
from cpuplan.plan import NodePlan

#: (field, its value, why it means nothing).
Meaningless = tuple[str, str, str]
_ONE_THREAD = "its cores have one thread"
_ARM = "on Arm, Koordinator supports {} only"


def check(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP634 for policies, CP636 for CPUs that are counted wrongly."""
    node_class = plan.node_class
    for field, value, problem in (*_of_node(plan), *_of_workloads(plan)):
        yield diagnose(
            "CP634",
            locate(node_class.place(field)),
            field=field,
            value=value,
            hardware=node_class.hardware,
            problem=problem,
        )
    for place, problem, hint in (*_split_cores(plan), *_without_zones(plan)):
        yield diagnose(
            "CP636", locate(place), hardware=node_class.hardware, problem=problem, hint=hint
        )


def _of_node(plan: NodePlan) -> Iterator[Meaningless]:
    given = plan.spec.koordinator
    for field, value in (
        ("koordinator.cpuBindPolicy", given.cpu_bind_policy),
        (f"koordinator.scheduler.{BIND_POLICY.key}", given.scheduler.default_cpu_bind_policy),
    ):
        if value == "SpreadByPCPUs" and (why := _why(plan, "FullPCPUs")):
            yield field, value, why
    policy = given.numa_topology_policy
    if policy not in (None, "None") and len(plan.topology.numa_nodes) == 1:
        yield "koordinator.numaTopologyPolicy", str(policy), "it has one NUMA node"


def _of_workloads(plan: NodePlan) -> Iterator[Meaningless]:
    for index, workload in enumerate(plan.spec.koordinator.workloads):
        place = f"koordinator.workloads.{index}"
        for field, value, meaningless, instead in (
            (
                "requiredCPUBindPolicy",
                workload.required_cpu_bind_policy,
                "SpreadByPCPUs",
                "FullPCPUs",
            ),
            (
                "preferredCPUBindPolicy",
                workload.preferred_cpu_bind_policy,
                "SpreadByPCPUs",
                "FullPCPUs",
            ),
            (
                "preferredCPUExclusivePolicy",
                workload.preferred_cpu_exclusive_policy,
                "PCPULevel",
                "NUMANodeLevel",
            ),
        ):
            if value == meaningless and (why := _why(plan, instead)):
                yield f"{place}.{field}", str(value), why


def _why(plan: NodePlan, instead: str) -> str:
    """Why a policy about threads of cores means nothing; empty where it does mean something."""
    if plan.node_class.architecture == "aarch64":
        return _ARM.format(instead)
    return _ONE_THREAD if plan.topology.threads_per_core == 1 else ""


def _split_cores(plan: NodePlan) -> Iterator[tuple[str, str, str]]:
    """Cores of which some threads are off: threads per core is then no whole number."""
    online = plan.topology.online - plan.pool("offlined").cpus
    left = [siblings & online for siblings in plan.topology.cores.values() if siblings & online]
    sizes = {len(threads) for threads in left}
    if len(sizes) > 1:
        odd = next(threads for threads in left if len(threads) == min(sizes))
        problem = (
            f"some cores have {max(sizes)} threads online and others {min(sizes)}, such as that of "
            f"{cpus_text(odd)}"
        )
        offlined = plan.pool("offlined").cpus
        field = "pools.offlined" if offlined else "selector"
        hint = "switch off whole cores, or all second threads"
        yield plan.node_class.place(field), problem, hint


def _without_zones(plan: NodePlan) -> Iterator[tuple[str, str, str]]:
    """A NUMA policy where koordlet can publish no zones that the scheduler finds."""
    policy = plan.spec.koordinator.numa_topology_policy
    if policy in (None, "None") or can_have_zones(plan):
        return
    nodes = ", ".join(map(str, plan.topology.numa_facts))
    problem = f"its NUMA nodes are {nodes}, and zones are counted from 0 without gaps"
    place = plan.node_class.place("koordinator.numaTopologyPolicy")
    yield place, problem, "leave numaTopologyPolicy out for these nodes"
