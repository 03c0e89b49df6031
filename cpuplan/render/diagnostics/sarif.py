"""SARIF 2.1.0 (OASIS), which GitHub, Azure DevOps and editors show beside the lines of a change.

Paths are relative to SRCROOT, the repository; its own place is left open (section 3.14.14), so that
the same findings are the same bytes everywhere. GitHub takes 25,000 results of a run and shows
5,000 of them:
https://docs.github.com/code-security/reference/code-scanning/sarif-files/sarif-support
"""

from collections.abc import Iterable
from posixpath import normpath
from typing import Any
from urllib.parse import quote

from cpuplan import __version__
from cpuplan.codes import CODES
from cpuplan.diagnostics import Diagnostic, Label, Severity
from cpuplan.emit import to_json
from cpuplan.printable import printable
from cpuplan.render.diagnostics.report import Report, fingerprints, message_of, summarize
from cpuplan.source import Position

ROOT = "SRCROOT"
SHOWN = 5_000
MOST = 25_000
_WORST_FIRST = (Severity.ERROR, Severity.WARNING, Severity.NOTE)


def render(report: Report) -> str:
    """Waived findings are there always, as suppressed ones."""
    found, left = _most(report.diagnostics)
    codes = sorted({d.code for d in found})
    prints = fingerprints(report, found)
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "cpuplan",
                        "version": __version__,
                        "rules": [_rule(code) for code in codes],
                    }
                },
                "invocations": [_invocation(report, left)],
                "originalUriBaseIds": {
                    ROOT: {"description": {"text": "The top folder of the repository."}}
                },
                "columnKind": "unicodeCodePoints",
                "results": [
                    _result(d, codes.index(d.code), fingerprint, report)
                    for d, fingerprint in zip(found, prints, strict=True)
                ],
            }
        ],
    }
    return to_json(log, sort_keys=False)


def notice(report: Report) -> str:
    """What code hosts will not show; empty where they show all."""
    found, left = _most(report.diagnostics)
    if left:
        counts = summarize(left)
        return f"SARIF has {MOST} findings, worst first, the limit of GitHub; left out: {counts}"
    return (
        f"GitHub shows {SHOWN} of {len(found)} findings, worst first" if len(found) > SHOWN else ""
    )


def _most(
    diagnostics: tuple[Diagnostic, ...],
) -> tuple[tuple[Diagnostic, ...], tuple[Diagnostic, ...]]:
    """The results and what is left out: all in their order, or the worst first where a code host
    does not show all.
    """
    if len(diagnostics) <= SHOWN:
        return diagnostics, ()
    found = sorted(diagnostics, key=lambda d: (bool(d.waiver), _WORST_FIRST.index(d.severity)))
    return tuple(found[:MOST]), tuple(found[MOST:])


def _invocation(report: Report, left: Iterable[Diagnostic]) -> dict[str, Any]:
    """Whether cpuplan did its work; what it found is told by the results."""
    invocation: dict[str, Any] = {"executionSuccessful": report.finished}
    texts = [text for text in (notice(report), _elsewhere(report)) if text]
    if texts:
        invocation["toolExecutionNotifications"] = [
            {"level": "warning", "message": {"text": text}} for text in texts
        ]
    return invocation


def _elsewhere(report: Report) -> str:
    return (
        f"{report.elsewhere} findings are excluded by --cluster or --node"
        if report.elsewhere
        else ""
    )


def _rule(code: str) -> dict[str, Any]:
    entry = CODES[code]
    return {
        "id": code,
        "name": "".join(word.capitalize() for word in entry.title.replace("-", " ").split()),
        "shortDescription": {"text": entry.title},
        "fullDescription": {"text": entry.about},
        "help": {"text": f"{entry.about}\n\nMore: cpuplan explain {code}"},
        "defaultConfiguration": {"level": entry.severity},
    }


def _result(diagnostic: Diagnostic, rule: int, fingerprint: str, report: Report) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": diagnostic.code,
        "ruleIndex": rule,
        "level": diagnostic.severity.value,
        "message": {"text": message_of(diagnostic)},
        # GitHub shows no result without a place.
        "locations": [
            _location(diagnostic.position or Position(".", 0, 0), diagnostic.label, report)
        ],
    }
    if diagnostic.field:
        result["locations"][0]["logicalLocations"] = [
            {"fullyQualifiedName": printable(diagnostic.field)}
        ]
    if diagnostic.labels:
        result["relatedLocations"] = [
            _related(number, label, report)
            for number, label in enumerate(diagnostic.labels, start=1)
        ]
    result["partialFingerprints"] = {"cpuplan/v2": fingerprint}
    if diagnostic.stands_for > 1:
        result["occurrenceCount"] = diagnostic.stands_for
    if diagnostic.waiver:
        why = f"{diagnostic.waiver.reason} (until {diagnostic.waiver.expires})"
        result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": why}]
    return result


def _related(number: int, label: Label, report: Report) -> dict[str, Any]:
    return {"id": number, **_location(label.position, label.text, report)}


def _location(position: Position, text: str, report: Report) -> dict[str, Any]:
    region = {"startLine": position.line or 1}
    if position.line:
        region["startColumn"] = position.column
        if position.end > position.column:
            region["endColumn"] = position.end
    location: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": _artifact(report.shown(position.path)),
            "region": region,
        }
    }
    return {**location, "message": {"text": text}} if text else location


def _artifact(path: str) -> dict[str, str]:
    """A URI reference without dot segments (section 3.4.3) relative to SRCROOT; an absolute path as
    a file URI.
    """
    try:
        quoted = quote(normpath(path), errors="surrogateescape")
    except UnicodeEncodeError:  # no name of a file
        quoted = quote(normpath(printable(path)))
    return (
        {"uri": f"file://{quoted}"}
        if quoted.startswith("/")
        else {"uri": quoted, "uriBaseId": ROOT}
    )
