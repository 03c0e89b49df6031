"""Machines that the kubelet sees differently than the kernel, where its CPU manager acts on it."""

from typing import Any

from cpuplan.base.cpuset import CpuSet, cpus_text
from cpuplan.base.text import counted
from cpuplan.base.topology import Topology
from cpuplan.components import kubelet
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate, Position
from cpuplan.plan import NodePlan
from cpuplan.upstream.kubelet.policy_options import PREFER_UNCORE_CACHE
from cpuplan.upstream.kubelet.sysinfo import Deviation, Kind, deviations, unseen_cpus

#: The code of each kind, the name that its wording has for the kernel's groups, and the field of a
#: Hardware document.
CODES = {
    Kind.CORE: ("CP360", "cores", "cores"),
    Kind.NUMA_NODE: ("CP363", "nodes", "kubelet"),
    Kind.CACHE: ("CP361", "caches", "caches"),
}


def check(plan: NodePlan, locate: Locate) -> list[Diagnostic]:
    """Warnings at the Hardware document; those about caches where an option goes by them."""
    if plan.node_class.cpu_manager_policy != "static":
        return []
    hardware = plan.node_class.hardware

    def position(field: str) -> Position | None:
        return locate(plan.node_class.hardware_place(f"topology.{field}", of_key=True))

    problems = []
    if unseen := unseen_cpus(plan.topology):
        cause = _cause(unseen, plan.topology)
        cpus = cpus_text(unseen)
        at = position("kubelet")
        problems.append(diagnose("CP362", at, hardware=hardware, cpus=cpus, cause=cause))
    for deviation in deviations(plan.topology):
        code, noun, field = CODES[deviation.kind]
        if deviation.kind is Kind.CACHE and PREFER_UNCORE_CACHE not in kubelet.true_cpu_options(
            plan
        ):
            continue
        values: dict[str, Any] = {
            noun: counted(deviation.kernel, deviation.kind.value),
            "found": deviation.kubelet,
            "example": sentence(deviation),
        }
        problems.append(diagnose(code, position(field), hardware=hardware, **values))
    return problems


def sentence(deviation: Deviation) -> str:
    """The example in words."""
    example, noun = deviation.example, deviation.kind.value
    cpus = cpus_text(example.cpus)
    if example.is_merged:
        return f"it treats {cpus} as one {noun}, but there are {example.pieces}"
    return f"it treats {cpus} as {counted(example.pieces, noun)}, but there is one"


def _cause(unseen: CpuSet, topology: Topology) -> str:
    if unseen <= topology.kubelet.unlabelled:
        return "does not give the ids of their cores and sockets"
    if unseen.isdisjoint(topology.kubelet.unlabelled):
        return "assigns them to no NUMA node"
    return "assigns some to no NUMA node, and does not give the ids of others"
