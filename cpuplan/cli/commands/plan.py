"""`cpuplan plan`: what a change of the inputs costs each node."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cpuplan.base.progress import stage
from cpuplan.base.text import counted
from cpuplan.cli.options import Settings
from cpuplan.cli.output import (
    document_options,
    echo_result,
    filter_options,
    narrow_to,
    note,
    print_diagnostics,
    settings,
    time_limit_option,
    today,
    use_colour,
    work_options,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpuplan.change.impact.comparison import Comparison
    from cpuplan.change.impact.snapshot import Snapshot, Tree
    from cpuplan.diagnostics import Diagnostic
    from cpuplan.pipeline import Compiled, Project
    from cpuplan.render.plan.report import PlanReport
    from cpuplan.simulate.manifests import Item

#: Of --max-impact, from the least to the worst.
_IMPACTS = ("none", "live", "restart", "drain", "reboot", "reinstall")


def _limit(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    from cpuplan.change.impact.rollout import is_limit

    if not is_limit(value):
        raise click.BadParameter(
            f"{value!r} is neither a number of nodes from 1 on nor a percentage"
        )
    return value


@click.command()
@click.option(
    "--against",
    "ref",
    metavar="REF",
    help="Compare with out/ of this commit, branch or tag. Nothing is checked out.  [default: "
    "where the current branch left the main branch]",
)
@click.option(
    "--against-folder",
    "folder",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Compare with this folder: out/ of the project, or a copy of what was compiled. An empty "
    "folder stands for a project that was never compiled.",
)
@click.option(
    "--against-profiles",
    "profiles",
    metavar="PATH",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    help="Compare with what the node tuning operator makes of the PerformanceProfiles at PATH: the "
    "output of `oc get performanceprofiles -o yaml`, files in Git, or a must-gather. May be "
    "repeated.",
)
@click.option(
    "--max-impact",
    type=click.Choice(_IMPACTS),
    help="Fail with exit code 4 if a node would need more than this.",
)
@click.option("--exit-code", is_flag=True, help="Exit with code 3 if the plan has changes.")
@click.option(
    "--max-unavailable",
    metavar="NUMBER|PERCENT",
    default="1",
    show_default=True,
    callback=_limit,
    help="How many nodes of an intent are out of service at once, where no MachineConfigPool "
    "says so.",
)
@click.option(
    "--minutes-per-reboot",
    "minutes",
    metavar="N",
    type=click.IntRange(min=1),
    help="How long a node is away when it reboots, pods that leave first included: the plan then "
    "says how long each rollout takes.",
)
@click.option(
    "--pods",
    "files",
    multiple=True,
    metavar="FILE",
    type=click.Path(exists=True, path_type=Path),
    help="Manifests of pods that run on the nodes: where the mechanism changes, those that lose "
    "CPUs of their own are named; may be repeated.",
)
@document_options
@filter_options
@time_limit_option
@work_options
def command(  # noqa: PLR0913, PLR0917 - the options of the command
    ref: str | None,
    folder: Path | None,
    profiles: tuple[Path, ...],
    max_impact: str | None,
    exit_code: bool,
    max_unavailable: str,
    minutes: int | None,
    files: tuple[Path, ...],
    output_format: str,
) -> int:
    """Show what a change costs: which CPUs, settings and objects change, and what nodes bear.

    The project as it is now is compiled in memory and compared with out/ as it was. Nothing is
    written.

    For each class of nodes: CPUs that change pools, settings and the lines of the intent that
    changed them, files, capacity as the simulated kubelet gives it, and what happens on each node:
    nothing, live, restart, drain, reboot, or reinstall. Then the objects of each cluster, and the
    rounds in which the nodes go.

    Exit code 0: the plan was made; 1: the project has errors; 3: with --exit-code, the plan has
    changes; 4: the impact is above --max-impact, or above what the rollout of an intent allows.
    """
    if sum(map(bool, (ref, folder, profiles))) > 1:
        raise click.UsageError(
            "--against, --against-folder and --against-profiles exclude each other"
        )
    from cpuplan import pipeline
    from cpuplan.cli.workers import making
    from cpuplan.diagnostics import errors

    items, problems = _pods(files)
    if errors(problems):
        print_diagnostics(problems, "text")
        return 1
    before = None if profiles else _tree(ref, folder)
    project = pipeline.load(settings().root, seconds=settings().time_limit)
    narrow_to(project)
    before = before or _tree_of_profiles(project, profiles)
    with making(is_gate=bool(max_impact or exit_code)) as how:
        compiled = pipeline.compile_project(project, allow_removal=True, settle=True, making=how)
    if errors(compiled.diagnostics):
        print_diagnostics(compiled.diagnostics, "text")
        return 1
    report = _report(project, compiled, before, max_unavailable, items)
    whole = report.comparison
    _print(_narrowed(report._replace(minutes=minutes)), output_format)
    if problems:
        print_diagnostics(problems, "text")
    if excess := _excess(project, compiled, whole, max_impact):
        print_diagnostics(excess, "text")
        return 4
    return 3 if exit_code and not whole.is_empty else 0


def _tree(ref: str | None, folder: Path | None) -> "Tree":
    """What was compiled before."""
    from cpuplan.change.impact import snapshot

    if folder:
        return snapshot.tree_of_folder(folder)
    return snapshot.tree_of_commit(settings().root, ref)


@stage("compiling the profiles")
def _tree_of_profiles(project: "Project", paths: tuple[Path, ...]) -> "Tree":
    """What is compiled of profiles that a cluster has, in place of those of the intents."""
    from cpuplan import pipeline
    from cpuplan.change.impact.snapshot import Tree
    from cpuplan.diagnostics import CpuplanError, errors
    from cpuplan.pipeline.loading import with_profiles

    given = with_profiles(project, paths)
    compiled = pipeline.compile_project(given, allow_removal=True, settle=True)
    if problems := errors(compiled.diagnostics):
        raise CpuplanError(problems)
    name = ", ".join(map(str, paths))
    return Tree(name, name, compiled.files)


def _pods(files: tuple[Path, ...]) -> "tuple[list[Item], list[Diagnostic]]":
    """The pods of manifests, with their claims."""
    from cpuplan.cli import simulation

    if not files:
        return [], []
    given = simulation.read_pods(files, with_claims=True)
    return given.items, given.diagnostics


@stage("comparing")
def _report(
    project: "Project",
    compiled: "Compiled",
    before: "Tree",
    limit: str,
    items: "Sequence[Item]",
) -> "PlanReport":
    from cpuplan.change.impact import comparison, rollout, snapshot
    from cpuplan.change.impact.snapshot import Snapshot
    from cpuplan.render.plan.report import PlanReport

    snapshot.check_objects(before, compiled.files)
    old, new = Snapshot(before.files), Snapshot(compiled.files)
    changes = comparison.compare(project, compiled.plan, (old, new))
    return PlanReport(
        changes,
        before.name,
        before.source,
        rollout.rounds(changes, compiled.plan, (old, new), limit),
        verbose=settings().verbose,
        findings=_findings(project, compiled, old, changes, items),
    )


def _findings(
    project: "Project",
    compiled: "Compiled",
    old: "Snapshot",
    changes: "Comparison",
    items: "Sequence[Item]",
) -> "tuple[Diagnostic, ...]":
    """State files that kubelets of the new plan would refuse, and pods that lose their CPUs."""
    from cpuplan.change.impact import rollout
    from cpuplan.diagnostics import Findings, as_of
    from cpuplan.pipeline import described
    from cpuplan.plan import Plan
    from cpuplan.simulate import statefiles

    pairs = [change.pair for change in changes.changes]
    was = {
        pair.after: dict(old.classes[pair.before]) for pair in pairs if pair.after and pair.before
    }
    findings = Findings()
    for node in compiled.plan.nodes:
        of_class = statefiles.check(was, Plan((node,)), project.locate)
        findings.add(of_class, [node.node_class.full_name])
    plans = {node.node_class.key: node for node in compiled.plan.nodes}
    for problem, name in rollout.check_lost_cpus(changes.changes, old, plans, items):
        findings.add([problem], [name])
    of_today = as_of(described(project, findings.all()), today())
    return tuple(finding for finding in of_today if not finding.waiver)


def _narrowed(report: "PlanReport") -> "PlanReport":
    """Of the report what --cluster and --node leave."""
    from cpuplan.render.plan.report import narrowed

    given = settings()
    if not given.is_narrowed:
        return report
    left = narrowed(report, lambda cluster, node: _is_wanted(given, cluster, node))
    return left._replace(findings=tuple(filter(given.scope.has, report.findings)))


def _is_wanted(given: Settings, cluster: str, node: str) -> bool:
    """Nodes that are gone are in no scope of the project, so the options themselves decide."""
    names = (node, f"{cluster}/{node}")
    is_named = not given.nodes or any(name in given.nodes for name in names)
    return is_named and (not given.clusters or cluster in given.clusters)


def _print(report: "PlanReport", output_format: str) -> None:
    colour = output_format == "text" and use_colour() and not settings().output
    echo_result(_rendered(report, output_format, colour=colour), colour=colour)
    if output_format == "text":
        print_diagnostics(report.findings, "text")
    if report.elsewhere:
        note(f"note: {counted(report.elsewhere, 'node')} more, excluded by --cluster or --node")


@stage("summing up")
def _rendered(report: "PlanReport", output_format: str, *, colour: bool) -> str:
    if output_format == "json":
        from cpuplan.render.plan import data

        return data.render(report)
    if output_format == "markdown":
        from cpuplan.render.plan import markdown

        return markdown.render(report)
    from cpuplan.render.plan import text

    return text.render(report, colour=colour)


@stage("comparing")
def _excess(
    project: "Project", compiled: "Compiled", whole: "Comparison", asked: str | None
) -> "list[Diagnostic]":
    """CP683 where the impact is above the option, or above what the rollout of an intent allows."""
    from cpuplan.change.impact import rollout

    asked = "nothing" if asked == "none" else asked
    return list(rollout.check_limits(whole, compiled.plan, project.locate, asked))
