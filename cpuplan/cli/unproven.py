"""`--min-verified`, and the exit code of a check: what was not looked at never passes."""

from collections.abc import Sequence
from typing import Any

import click

from cpuplan.cli.output import fails
from cpuplan.diagnostics import Diagnostic
from cpuplan.expected import evidence
from cpuplan.expected.situation import UNREAD

#: As `cli.main` lists it.
_UNPROVEN = 7


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


def _threshold(_context: Any, _option: Any, text: str) -> evidence.Threshold:
    try:
        return evidence.parse(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def exit_code(findings: Sequence[Diagnostic]) -> int:
    """0 where everything holds, 1 where something differs, 7 where too little was looked at.

    Whatever differs counts; a warning that is waived does not.
    """
    if not fails(findings, strict=True):
        return 0
    codes = {finding.code for finding in findings if fails([finding], strict=True)}
    is_unproven = bool(codes & evidence.UNPROVEN)
    return _UNPROVEN if is_unproven and codes <= evidence.UNPROVEN | UNREAD else 1
