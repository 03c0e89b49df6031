"""What a layout should be like, most important first: objectives as data, for `model` to reach one after the other.

Together they leave no choice, so that every machine finds the same layout: where reserved, shared and offlined are
fixed, isolated has what is left. Pools that list their CPUs have nothing to choose and are passed over.
"""

from enum import Enum
from typing import NamedTuple

from cpuplan.cpuset import CpuSet
from cpuplan.diagnostics import Reason
from cpuplan.solve.kinds import LEFT_OVER
from cpuplan.solve.rules import Layout, Listed, Problem
from cpuplan.topology import Topology


class Aim(Enum):
    """What is made as small or as large as the rules allow."""

    BOOT_CPU = "the pool has the lowest online CPU"
    FEW_SPLIT_CORES = "as few cores as possible are split between pools"
    FEW_NUMA_NODES = "the pool is on as few NUMA nodes as possible"
    LOWEST_CORES = "as many CPUs as possible of the lowest kind of core, then of the next"
    HIGHEST_CORES = "as many CPUs as possible of the highest kind of core, then of the one below"
    FEW_LEFT_OVER = "as few CPUs as possible are in no pool"


class Goal(NamedTuple):
    """An aim for one pool (or for the layout), and the sentence that explains a layout by it."""

    aim: Aim
    pool: str = ""
    reason: Reason | None = None


GOALS = (
    # The boot CPU keeps time, takes the first interrupts and can never be isolated fully, so it outranks neatness.
    Goal(
        Aim.BOOT_CPU,
        "reserved",
        Reason("reserved takes the lowest cores, so that CPU {first} stays with the operating system", "goal boot-cpu"),
    ),
    Goal(Aim.FEW_SPLIT_CORES),
    # What is spread on purpose says so with `per: numaNode`.
    Goal(
        Aim.FEW_NUMA_NODES,
        "reserved",
        Reason("reserved stays on one NUMA node, so that the others are whole", "goal reserved-packed"),
    ),
    Goal(
        Aim.FEW_NUMA_NODES,
        "shared",
        Reason("shared stays on one NUMA node, so that the others are whole", "goal shared-packed"),
    ),
    Goal(Aim.LOWEST_CORES, "reserved"),
    Goal(
        Aim.LOWEST_CORES,
        "shared",
        Reason("shared takes the lowest cores that reserved leaves", "goal shared-lowest"),
    ),
    Goal(
        Aim.HIGHEST_CORES,
        "offlined",
        Reason("offlined takes the highest cores, so that whole caches can sleep", "goal offlined-highest"),
    ),
)

#: For a conflict: the CPUs that nobody takes, at best.
LEAST_LEFT_OVER = (Goal(Aim.FEW_LEFT_OVER, LEFT_OVER), *GOALS, Goal(Aim.HIGHEST_CORES, LEFT_OVER))


def reasons(problem: Problem, pool: str, layout: Layout) -> list[Reason]:
    """The goals that explain where a pool's CPUs are: those that can be seen in the layout, which may be an old one."""
    cpus, topology = layout[pool], problem.topology
    constraints = [constraint for rule in problem.rules for constraint in rule.constraints]
    if not cpus or any(isinstance(constraint, Listed) and constraint.pool == pool for constraint in constraints):
        return []
    return [
        goal.reason._replace(text=goal.reason.text.format(first=topology.online.first))
        for goal in GOALS
        if goal.pool == pool and goal.reason and _is_seen(goal, cpus, topology, layout)
    ]


def _is_seen(goal: Goal, cpus: CpuSet, topology: Topology, layout: Layout) -> bool:
    others = topology.online - cpus - layout.get("reserved", cpus)
    if goal.aim is Aim.BOOT_CPU:
        return topology.online.first in cpus
    if goal.aim is Aim.FEW_NUMA_NODES:
        return len(topology.numa_nodes) > 1 and any(cpus <= node for node in topology.numa_nodes.values())
    if goal.aim is Aim.LOWEST_CORES:
        return bool(others) and cpus.first < others.first
    return topology.online.last in cpus
