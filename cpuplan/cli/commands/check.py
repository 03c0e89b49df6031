"""`cpuplan check`: does a node hold what was compiled for it?"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cpuplan.cli.answers import exit_code, min_verified_option
from cpuplan.cli.output import (
    answer_format_option,
    cluster_option,
    divided_option,
    echo_result,
    note,
    print_diagnostics,
    settings,
    shown_path,
)

if TYPE_CHECKING:
    from cpuplan.check.roots.root import Root
    from cpuplan.cli.answers import Statements
    from cpuplan.cli.roots import Place
    from cpuplan.diagnostics import Diagnostic
    from cpuplan.plan.expected.evidence import Answer, Threshold
    from cpuplan.plan.expected.state import Expected


@click.command()
@click.argument("node", default="")
@click.option(
    "--root",
    "roots",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    help="The node's root file system: /, /host in a container, or a copy; as a folder or a tar "
    "archive, which stays packed. Also what `cpuplan snapshot` collects, a sosreport, or a "
    "must-gather. Can be repeated, or be a folder of several: all are checked, each as the node "
    "of its host name.  [default: /, unless there are objects]",
)
@click.option(
    "--state",
    type=click.Path(exists=True, path_type=Path),
    help="What was compiled: the expected state of a class, or a folder with those of several, "
    "such as out/ of a project.  [default: out/ of the project]",
)
@click.option(
    "--objects",
    "files",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    help="Objects of the cluster in a file or folder, such as the output of `kubectl get "
    "nodes,noderesourcetopologies,pods -A -o yaml`. The NodeResourceTopology of NODE is compared; "
    "with mechanism koordinator its labels, annotations, pools and bound pods. Can be repeated.",
)
@click.option(
    "--coverage",
    is_flag=True,
    help="List every fact: whether it is held, differs, or is not verifiable here, and why.",
)
@min_verified_option
@answer_format_option
@cluster_option
@divided_option
def command(
    node: str,
    roots: tuple[Path, ...],
    state: Path | None,
    files: tuple[Path, ...],
    coverage: bool,
    threshold: "Threshold",
    output_format: str,
) -> int:
    """Compare NODE's boot arguments, files and running state with what was compiled for it.

    Without NODE, it is the planned node of the host name that the root has. Every fact is held,
    differs, or is not verifiable here. Nothing is read but the node and the expected state of its
    class, which `compile` writes. With objects of its cluster, also what exporters or Koordinator's
    programs publish of it is compared.

    Exit code 0: nothing differs; 1: something differs, or could not be read; 2: wrong usage, or no
    class has NODE; 7: nothing differs, but nothing of a node was looked at, or less than
    --min-verified asks for.
    """
    from cpuplan.cli.answers import Statements
    from cpuplan.plan.expected.folder import of_node

    place = state or settings().root / "out"
    root: Root | None = None
    if roots and not node and not files:
        from cpuplan.cli.roots import find_places, only_root

        places = find_places(roots)
        root = only_root(places)
        if root is None:
            return _of_many(places, place, output_format, threshold, coverage=coverage)
    elif len(roots) > 1:
        raise click.UsageError("give one --root with NODE or --objects, or several without")
    elif roots or not files or not node:
        root = _opened(roots[0] if roots else Path("/"), node)
    node = _full(node or _called(root, place))
    expected, name = of_node(place, node), node.rpartition("/")[2]
    statements = Statements(settings().root)
    answers: list[Answer] = []
    problems: list[Diagnostic] = []
    if files:
        answers, problems = _objects(files, place, expected, name, statements)
    if root and (roots or not files):  # else it has told the name of the node, no more
        answers += _on_node(root, expected, name, statements)
    answers += _compiled(expected, statements)
    code = _report(name, expected, answers, problems, statements, output_format, threshold)
    if coverage and output_format == "text":
        from cpuplan.render.answers.summary import coverage as table

        echo_result(table(answers))
    return _conclude(name, answers, threshold, code)


def _report(
    name: str,
    expected: "Expected",
    answers: "list[Answer]",
    problems: "list[Diagnostic]",
    statements: "Statements",
    output_format: str,
    threshold: "Threshold",
) -> int:
    """Print the findings on a node, and return the exit code."""
    from cpuplan.cli.answers import printed
    from cpuplan.render.answers.summary import unproven_node

    # Settings with one cause have one finding.
    findings = list(dict.fromkeys(answer.finding for answer in answers if answer.finding))
    unseen = [*problems, *unproven_node(name, answers, threshold)]
    findings = printed([*unseen, *findings], statements)
    if output_format == "json":
        _print_json(name, expected, answers, findings, threshold)
    elif output_format in ("junit", "prometheus"):
        _print_facts(name, expected, answers, output_format, unseen)
    else:
        print_diagnostics(findings, output_format)
    return exit_code(findings)


def _of_many(
    places: "Sequence[Place]",
    compiled: Path,
    output_format: str,
    threshold: "Threshold",
    *,
    coverage: bool,
) -> int:
    """Many nodes: what differs, and on how many of them."""
    from cpuplan.cli.answers import Statements, report_fleet
    from cpuplan.cli.roots import check_places
    from cpuplan.cli.workers import workers

    statements = Statements(settings().root)
    with workers() as who:
        checked, problems = check_places(places, compiled, statements, who)
    return report_fleet(
        checked,
        statements,
        output_format,
        with_coverage=coverage,
        problems=problems,
        threshold=threshold,
    )


def _full(node: str) -> str:
    """The node with its cluster, where --cluster names one."""
    clusters = settings().clusters
    return f"{clusters[0]}/{node}" if len(clusters) == 1 and "/" not in node else node


def _opened(path: Path, node: str) -> "Root":
    from cpuplan.check.roots.openings import root_of

    return root_of(path, node.rpartition("/")[2])


def _called(root: "Root | None", place: Path) -> str:
    """The planned node of a root, by its host name."""
    from cpuplan.check.roots.openings import node_of
    from cpuplan.plan.expected.folder import found_files, load

    clusters = settings().clusters
    nodes: list[str] = []
    for state in map(load, found_files(place)):
        if not clusters or state.cluster in clusters:
            nodes += state.nodes
    return node_of(root, nodes) if root else ""


def _on_node(
    root: "Root", expected: "Expected", name: str, statements: "Statements"
) -> "list[Answer]":
    from cpuplan.check.host import check

    return check(root, expected, name, statements.locate)


def _compiled(expected: "Expected", statements: "Statements") -> "list[Answer]":
    """Whether the documents at hand are those that the class was compiled from."""
    from cpuplan.diagnostics import diagnose
    from cpuplan.plan.expected import machine
    from cpuplan.plan.expected.evidence import COMPILED, Answer, Verdict

    intent, hardware = expected.intent, expected.hardware
    digest = machine.inputs_digest(statements.spec_of, intent, hardware, expected.cluster)
    if not expected.inputs or not digest:
        reason = "the documents of the class are not here"
        return [Answer(COMPILED, Verdict.UNVERIFIABLE, "", reason=reason)]
    origin = f"Intent/{intent}:spec"
    if digest == expected.inputs:
        return [Answer(COMPILED, Verdict.HELD, f"Intent/{intent}", origin=origin)]
    documents = f"Intent {intent}, Hardware {hardware} or Cluster {expected.cluster}"
    finding = diagnose("CP879", statements.locate(origin), found=documents, wanted=expected.name)
    return [Answer(COMPILED, Verdict.DIFFERS, f"Intent/{intent}", finding=finding, origin=origin)]


def _objects(
    files: Sequence[Path], place: Path, expected: "Expected", name: str, statements: "Statements"
) -> "tuple[list[Answer], list[Diagnostic]]":
    """What the objects in files say of the node and of what was compiled for its cluster."""
    from cpuplan.check.cluster.answers import check_node, check_objects
    from cpuplan.check.cluster.given_objects import read_objects
    from cpuplan.plan.expected.folder import objects_of

    objects, problems = read_objects(files, shown_path)
    answers = check_node(objects, expected, name, statements.locate)
    compiled = objects_of(place, expected.cluster) or ()
    return [*answers, *check_objects(objects, compiled, statements.locate)], problems


def _print_facts(
    name: str,
    expected: "Expected",
    answers: "list[Answer]",
    output_format: str,
    unseen: "list[Diagnostic]",
) -> None:
    from cpuplan.render.answers import junit, prometheus
    from cpuplan.render.answers.summary import Checked

    checked = Checked(name, expected.cluster, expected.name, expected.digest, answers)
    is_junit = output_format == "junit"
    echo_result(junit.render([checked], unseen) if is_junit else prometheus.render([checked]))


def _print_json(
    name: str,
    expected: "Expected",
    answers: "list[Answer]",
    findings: "list[Diagnostic]",
    threshold: "Threshold",
) -> None:
    from cpuplan.cli.report import Reporter
    from cpuplan.render.answers.json import render

    report = Reporter(settings(), findings, strict=True).report
    echo_result(render(name, expected, answers, report, threshold))


def _conclude(name: str, answers: "Sequence[Answer]", threshold: "Threshold", code: int) -> int:
    from cpuplan.render.answers.summary import sentence

    if len(answers) > 1:
        note(sentence(name, answers, threshold))
    elif not code:
        note(f"{name} matches its compiled settings")
    return code
