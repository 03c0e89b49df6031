"""Machines on which the driver finds no CPUs."""

from collections.abc import Iterator

from cpuplan.base.topology import UNKNOWN
from cpuplan.components.dra import driver
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.plan import NodePlan


def check(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP569 where the inventory says that the kernel has no NUMA nodes."""
    for problem in _problems(plan):
        position = locate(plan.node_class.hardware_place(""))
        yield diagnose("CP569", position, hardware=plan.node_class.hardware, problem=problem)


def _problems(plan: NodePlan) -> Iterator[str]:
    topology = plan.topology
    own = topology.online - plan.pool("offlined").cpus - driver.reserved(plan)
    if topology.kubelet.no_numa_nodes or all(topology[cpu].numa_node == UNKNOWN for cpu in own):
        yield "its kernel has no NUMA nodes"
