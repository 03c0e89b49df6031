"""How commands report what they checked: findings on nodes, their statements, and totals."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import click

from cpuplan.base.progress import stage
from cpuplan.cli.output import echo_result, fails, note, print_diagnostics, settings
from cpuplan.diagnostics import UNPROVEN, Diagnostic
from cpuplan.diagnostics.source import Position, Source
from cpuplan.plan.expected.evidence import SOMETHING, Threshold
from cpuplan.render.answers.summary import (
    Checked,
    by_class,
    distinct,
    findings,
    fleet_coverage,
    fleet_sentence,
    groups,
    unproven,
)

#: Where a project has its intents.
FOLDER = "intents"


class Statements:
    """The documents of a project, valid or not; none where there is no project."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @cached_property
    def sources(self) -> dict[tuple[str, str], Source]:
        """Documents by kind and name."""
        from cpuplan.language.read import files, yaml

        sources: dict[tuple[str, str], Source] = {}
        if not (self.root / FOLDER).is_dir():  # a node, and no project
            return sources
        for name, data in files.read_inputs(self.root).texts.items():
            for source in yaml.decode(name, data)[0]:
                if document := _name(source):
                    sources.setdefault(document, source)
        return sources

    def spec_of(self, kind: str, name: str) -> object:
        """The spec of a document, as YAML has it; None where there is none."""
        source = self.sources.get((kind, name))
        return source.data.get("spec") if source and isinstance(source.data, dict) else None

    def locate(self, origin: str) -> Position | None:
        """Where the statement `Kind/name:field.path` stands; None where no document has it."""
        from cpuplan.language.read import statements

        document, field = statements.split(origin)
        source = self.sources.get(document) if document else None
        return statements.position(source, field) if source else None


def _name(source: Source) -> tuple[str, str] | None:
    data = source.data
    metadata = data.get("metadata") if isinstance(data, dict) else None
    if not isinstance(data, dict) or not isinstance(metadata, dict):
        return None
    kind, name = data.get("kind"), metadata.get("name")
    return (kind, name) if isinstance(kind, str) and isinstance(name, str) else None


#: As `cli.main` lists it.
_TOO_LITTLE = 7


def printed(findings: list[Diagnostic], statements: "Statements") -> list[Diagnostic]:
    """The findings with the project's waivers; no line of a node's file is shown with them.

    Boot arguments hold passwords, configurations tokens: what stands on a line beside a finding
    stays on the node.
    """
    from cpuplan.check.machine.presence import SYSTEM

    places = (finding.position.path for finding in findings if finding.position)
    settings().private = frozenset(path for path in places if SYSTEM not in path)
    sources = [source for (kind, _), source in statements.sources.items() if kind == "Waivers"]
    if not findings or not sources:
        return findings
    from cpuplan.language.read import documents, waivers

    return waivers.waive(findings, documents.from_sources(sources)[0])


def min_verified_option(command: Any) -> Any:
    """`--min-verified`, for commands that say of nodes that they hold."""
    return click.option(
        "--min-verified",
        "threshold",
        metavar="N|N%",
        default="1",
        callback=_threshold,
        help="Facts of each node that must be looked at, or their share of those that the node "
        "could show: 12, or 80%. Of less, nothing is said to hold.  [default: 1]",
    )(command)


def _threshold(_context: Any, _option: Any, text: str) -> "Threshold":
    from cpuplan.plan.expected.evidence import parse_threshold

    try:
        return parse_threshold(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def exit_code(findings: Sequence[Diagnostic]) -> int:
    """0 where everything holds, 1 where something differs, 7 where too little was looked at.

    Whatever differs counts; a warning that is waived does not.
    """
    from cpuplan.plan.expected.evidence import UNREAD

    codes = {finding.code for finding in findings if fails([finding], strict=True)}
    if codes & UNPROVEN and codes <= UNPROVEN | UNREAD:
        return _TOO_LITTLE
    return 1 if codes else 0


def report_fleet(
    checked: Sequence[Checked],
    statements: "Statements",
    output_format: str,
    *,
    with_coverage: bool = False,
    problems: "Sequence[Diagnostic]" = (),
    threshold: Threshold = SOMETHING,
) -> int:
    """Print the findings by what differs, and return the exit code.

    `problems` are about what was not looked at.
    """

    with stage("summing up"):
        named = distinct(checked)
        differences = groups(named)
        listed = findings(named, differences, verbose=settings().verbose)
        unseen = [*problems, *unproven(named, threshold, verbose=settings().verbose)]
        listed = printed([*unseen, *listed], statements)
    if output_format == "json":
        from cpuplan.cli.report import Reporter
        from cpuplan.render.answers import json

        full = Reporter(settings(), listed, strict=True).report
        echo_result(json.render_fleet(checked, differences, full, threshold))
    elif output_format == "junit":
        from cpuplan.render.answers import junit

        echo_result(junit.render(checked, unseen))
    elif output_format == "prometheus":
        from cpuplan.render.answers import prometheus

        echo_result(prometheus.render(node for node in checked if node.is_node))
    else:
        print_diagnostics(listed, output_format)
    if with_coverage and output_format == "text":
        echo_result(fleet_coverage(named))
    if output_format == "text":
        classes = by_class(named, every=settings().verbose, threshold=threshold)
        if classes:
            echo_result(classes)
    note(fleet_sentence(named, threshold))
    return exit_code(listed)
