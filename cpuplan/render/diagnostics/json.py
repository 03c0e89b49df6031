"""JSON: one document."""

from typing import Any

from cpuplan.base.emit import to_json
from cpuplan.base.text import printable
from cpuplan.diagnostics import Diagnostic
from cpuplan.diagnostics.source import Position
from cpuplan.render.diagnostics.report import Report, fingerprints, summary


def render(report: Report) -> str:
    """The stable form for programs; keys are only ever added while `version` is 1.

    {"version": 1, "diagnostics": [{"code", "severity": "error" | "warning" | "note", "message",
    "remedy", "file", "line", "column", "endColumn", "field", "label", "labels": [{"file", "line",
    "column", "endColumn", "message"}], "classes", "count", "fingerprint", "waived": {"reason",
    "expires"} | null, "docs"}], "summary": {"errors", "warnings", "notes", "waived", "elsewhere"}}.
    Lines and columns count from 1, in code points; `endColumn` is the column after the last one.
    Unknown places are null. `count` is how many findings one stands for that -v shows one by one;
    `classes` are those of nodes (`cluster/name`) that it was found on, if it is about some of them;
    `elsewhere` is the number of findings that --cluster and --node exclude.
    """
    data = {"version": 1, "diagnostics": findings(report), "summary": summary_data(report)}
    return to_json(data, sort_keys=False)


def summary_data(report: Report) -> dict[str, int]:
    """How many findings there are of each kind."""
    return {**summary(report.diagnostics), "elsewhere": report.elsewhere}


def findings(report: Report) -> list[dict[str, Any]]:
    """The data of each finding."""
    pairs = zip(report.listed, fingerprints(report, report.listed), strict=True)
    return [_finding(finding, fingerprint, report) for finding, fingerprint in pairs]


def _finding(finding: Diagnostic, fingerprint: str, report: Report) -> dict[str, Any]:
    waiver, labels = finding.waiver, finding.labels
    return {
        "code": finding.code,
        "severity": finding.severity.value,
        "message": finding.message,
        "remedy": finding.remedy,
        **_place(finding.position, report),
        "field": printable(finding.field),
        "label": finding.label,
        "labels": [{**_place(label.position, report), "message": label.text} for label in labels],
        "classes": [printable(name) for name in finding.classes],
        "count": finding.stands_for,
        "fingerprint": fingerprint,
        "waived": waiver and waiver._asdict(),
        "docs": f"cpuplan explain {finding.code}",
    }


def _place(position: Position | None, report: Report) -> dict[str, str | int | None]:
    if position is None:
        return {"file": None, "line": None, "column": None, "endColumn": None}
    return {
        "file": printable(report.shown(position.path)),
        "line": position.line or None,
        "column": position.column or None,
        "endColumn": position.end or None,
    }
