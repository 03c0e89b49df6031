"""Findings of every kind, for the tests of all formats."""

from typing import Any

from cpuplan.diagnostics import Diagnostic, Label, Severity, Waiver, diagnose
from cpuplan.diagnostics.source import Position
from cpuplan.render.diagnostics.report import Report, ordered

RAN = "intents/ran.yaml"
TWICE = diagnose(
    "CP102",
    Position(RAN, 6, 5, 11),
    key="shared",
    label="again here",
    labels=[
        Label(Position(RAN, 3, 5, 11), "first here"),
        Label(Position("inventories/a.yaml", 1, 8, 10), "28 cores"),
        Label(Position("gone.yaml", 3, 1, 2), "also here"),
    ],
)
PLACE = Position("a,b:c%d/é.yaml", 3, 5, 9)
NASTY = "50% of it,\r\nall: \x1b[31m\x00 ]]> <&\"'\ufffe\udc80"
ERROR = Diagnostic(
    "CP102", NASTY, "do: this,\nthen that", PLACE, "here", (Label(Position("x", 1, 1), "there"),)
)
WARNING = Diagnostic("CP221", "w", "", Position("out/x", 0, 0), severity=Severity.WARNING)
NOTE = Diagnostic("CP296", "n", "", severity=Severity.NOTE)
WAIVED = WARNING._replace(waiver=Waiver("on, purpose", "2031-01-01"), message="x")
ALL = (ERROR, WARNING, NOTE, WAIVED)


def report(*findings: Diagnostic, **facts: Any) -> Report:
    return Report(ordered(findings), command="validate", **facts)
