"""Finding the node that a user names, in a project without errors."""

from collections.abc import Iterable
from pathlib import Path

from cpuplan import pipeline
from cpuplan.cli.output import print_diagnostics
from cpuplan.diagnostics import CpuplanError, diagnose, errors
from cpuplan.pipeline import Project
from cpuplan.plan import NodePlan, Plan


def load_plan(root: Path) -> tuple[Project, Plan] | None:
    """The project's plan; None, with the errors printed, if it has any."""
    project = pipeline.load(root)
    plan = solve_plan(project)
    return None if plan is None else (project, plan)


def solve_plan(project: Project) -> Plan | None:
    """The plan of a project that is read; None, with the errors printed, if it has any."""
    plan, problems = pipeline.solve(project)
    found = [*project.diagnostics, *problems]
    if errors(found):
        print_diagnostics(found)
        return None
    return plan


def find_node(plan: Plan, wanted: str, others: Iterable[str] = ()) -> tuple[NodePlan, str]:
    """The plan of `name` or `cluster/name`, and the node's name. Raises CpuplanError (CP250).

    `others` are names that the command would take too.
    """
    cluster, slash, name = wanted.rpartition("/")
    matches = [
        (each, node)
        for (in_cluster, node), each in plan.by_node.items()
        if node == name and (not slash or in_cluster == cluster)
    ]
    if len(matches) == 1:
        return matches[0]
    if matches:
        hint = "write " + " or ".join(f"{each.node_class.cluster}/{node}" for each, node in matches)
    else:
        from cpuplan.load.mistakes import did_you_mean

        hint = did_you_mean(wanted, [*(node for _, node in plan.by_node), *others])
    raise CpuplanError([diagnose("CP250", node=wanted, hint=hint)])
