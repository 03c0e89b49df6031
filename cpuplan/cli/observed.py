"""Findings on nodes, as every command prints them, and what they end with: what was not looked at
never passes.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from cpuplan.cli.output import fails, settings
from cpuplan.diagnostics import UNPROVEN, Diagnostic

if TYPE_CHECKING:
    from cpuplan.cli.statements import Statements
    from cpuplan.plan.expected.evidence import Threshold

#: As `cli.main` lists it.
_TOO_LITTLE = 7


def observed(findings: list[Diagnostic], statements: "Statements") -> list[Diagnostic]:
    """The findings with the project's waivers; no line of a node's file is shown with them.

    Boot arguments hold passwords, configurations tokens: what stands on a line beside a finding
    stays on the node.
    """
    from cpuplan.check.machine.files import SYSTEM

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
    from cpuplan.plan.expected.evidence import parse

    try:
        return parse(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def exit_code(findings: Sequence[Diagnostic]) -> int:
    """0 where everything holds, 1 where something differs, 7 where too little was looked at.

    Whatever differs counts; a warning that is waived does not.
    """
    from cpuplan.plan.expected.situation import UNREAD

    codes = {finding.code for finding in findings if fails([finding], strict=True)}
    if codes & UNPROVEN and codes <= UNPROVEN | UNREAD:
        return _TOO_LITTLE
    return 1 if codes else 0
