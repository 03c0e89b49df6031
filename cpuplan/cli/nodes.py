"""Finding the node that a user names, in a project without errors."""

from collections.abc import Iterable
from pathlib import Path

from cpuplan import pipeline
from cpuplan.base.text import did_you_mean
from cpuplan.cli.output import narrow_to, print_diagnostics, settings
from cpuplan.cli.workers import making
from cpuplan.diagnostics import CpuplanError, diagnose, errors
from cpuplan.pipeline import Project
from cpuplan.plan import ConfiguredPlan, Plan


def load_plan(root: Path) -> tuple[Project, Plan] | None:
    """The project's plan; None, with the errors printed, if it has any."""
    project = pipeline.load(root, seconds=settings().time_limit)
    narrow_to(project)
    plan = solve_plan(project)
    return None if plan is None else (project, plan)


def solve_plan(project: Project) -> Plan | None:
    """The plan of a project that is read; None, with the errors printed, if it has any."""
    with making() as how:
        plan, problems = pipeline.solve(project, making=how)
    findings = pipeline.described(project, [*project.diagnostics, *problems])
    if errors(findings):
        print_diagnostics(findings)
        return None
    return plan


def find_nodes(
    plan: Plan, wanted: str | None, project: Project
) -> list[tuple[ConfiguredPlan, tuple[str, ...]]]:
    """A node, the nodes of a class or of an intent, or (None) all; `cluster/name` too.

    Raises CpuplanError (CP250).
    """
    if wanted is None:
        return [(node_plan, node_plan.node_class.nodes) for node_plan in plan.nodes]
    cluster, _, name = wanted.rpartition("/")
    classes = []
    for node_plan in plan.nodes:
        of = node_plan.node_class
        if name in (of.name, of.intent) and cluster in ("", of.cluster):
            classes.append((node_plan, of.nodes))
    if classes and not any(node == name for _, node in plan.by_node):
        return classes
    intents = {node_plan.node_class.intent for node_plan in plan.nodes}
    node_plan, node = find_node(plan, wanted, project, intents)
    return [(node_plan, (node,))]


def find_node(
    plan: Plan, wanted: str, project: Project, others: Iterable[str] = ()
) -> tuple[ConfiguredPlan, str]:
    """The plan of `name` or `cluster/name`, and the node's name. Raises CpuplanError (CP250).

    `others` are names that the command would take too.
    """
    cluster, slash, name = wanted.rpartition("/")
    clusters = (cluster,) if slash else settings().clusters
    matches = [
        (node_plan, node)
        for (in_cluster, node), node_plan in plan.by_node.items()
        if node == name and (not clusters or in_cluster in clusters)
    ]
    if len(matches) == 1:
        return matches[0]
    what = f"there is no node {wanted!r}"
    if matches:
        what = f"{len(matches)} nodes have the name {wanted!r}"
        names = [f"{node_plan.node_class.cluster}/{node}" for node_plan, node in matches]
        hint = f"use {' or '.join(names)}"
    elif name in _nodes(project):
        what = f"no intent selects node {wanted!r}, so it has no plan"
        hint = "change the selector of an intent so that it matches its labels or its name"
    else:
        hint = did_you_mean(wanted, [*(node for _, node in plan.by_node), *others])
    raise CpuplanError([diagnose("CP250", what=what, hint=hint)])


def _nodes(project: Project) -> set[str]:
    """The nodes of the inventory, planned or not."""
    from cpuplan.base.naming import expand_names

    names: set[str] = set()
    for document in project.documents.of_kind("Nodes"):
        for group in document.spec.nodes:
            names.update(expand_names(group.name))
    return names
