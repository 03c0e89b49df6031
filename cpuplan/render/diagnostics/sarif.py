"""SARIF 2.1.0 (OASIS), which GitHub, Azure DevOps and editors show at the lines of a change.

Paths are relative to SRCROOT, the repository; its own place is left open (section 3.14.14), so that
the same findings are the same bytes everywhere. GitHub takes 25,000 results of a run and shows
5,000 of them:
https://docs.github.com/code-security/reference/code-scanning/sarif-files/sarif-support
"""

from posixpath import normpath
from typing import Any
from urllib.parse import quote

from cpuplan import __version__
from cpuplan.base.emit import to_json
from cpuplan.base.text import printable
from cpuplan.diagnostics import Diagnostic
from cpuplan.diagnostics.codes import CODES
from cpuplan.diagnostics.source import Position
from cpuplan.render.diagnostics.report import (
    Report,
    fingerprints,
    message_of,
    summarize,
    worst_first,
)

ROOT = "SRCROOT"
SHOWN = 5_000
MOST = 25_000


def render(report: Report) -> str:
    """Waived findings are always included, as suppressed ones."""
    findings = _sorted(report)[:MOST]
    codes = sorted({finding.code for finding in findings})
    results = []
    for finding, fingerprint in zip(findings, fingerprints(report, findings), strict=True):
        results.append(_result(finding, codes.index(finding.code), fingerprint, report))
    rules = [_rule(code) for code in codes]
    run = {
        "tool": {"driver": {"name": "cpuplan", "version": __version__, "rules": rules}},
        "invocations": [_invocation(report)],
        "originalUriBaseIds": {
            ROOT: {"description": {"text": "The top folder of the repository."}}
        },
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return to_json({"$schema": schema, "version": "2.1.0", "runs": [run]}, sort_keys=False)


def notice(report: Report) -> str:
    """What code hosts will not show; empty if they show all."""
    findings = _sorted(report)
    if len(findings) > MOST:
        counts = summarize(findings[MOST:])
        return f"SARIF has {MOST} findings, worst first, the limit of GitHub; left out: {counts}"
    if len(findings) > SHOWN:
        return f"GitHub shows {SHOWN} of {len(findings)} findings, worst first"
    return ""


def _sorted(report: Report) -> list[Diagnostic]:
    """All findings in their order, or the worst first if a code host does not show all."""
    findings = list(report.diagnostics)
    return findings if len(findings) <= SHOWN else worst_first(findings)


def _invocation(report: Report) -> dict[str, Any]:
    """Whether cpuplan did its work; the results say what it found."""
    texts = [notice(report)]
    if report.elsewhere:
        texts.append(f"{report.elsewhere} findings are excluded by --cluster or --node")
    notifications = [{"level": "warning", "message": {"text": text}} for text in texts if text]
    invocation: dict[str, Any] = {"executionSuccessful": report.finished}
    return invocation | ({"toolExecutionNotifications": notifications} if notifications else {})


def _rule(code: str) -> dict[str, Any]:
    entry = CODES[code]
    rule: dict[str, Any] = {
        "id": code,
        "name": "".join(word.capitalize() for word in entry.title.replace("-", " ").split()),
        "shortDescription": {"text": entry.title},
        "fullDescription": {"text": entry.about},
        "help": {"text": f"{entry.about}\n\nMore: cpuplan explain {code}"},
        "defaultConfiguration": {"level": entry.severity},
    }
    # A viewer knows the findings of earlier runs by it.
    return {**rule, "deprecatedIds": [entry.was]} if entry.was else rule


def _result(finding: Diagnostic, rule: int, fingerprint: str, report: Report) -> dict[str, Any]:
    # GitHub shows no result without a place.
    location = _location(finding.position or Position(".", 0, 0), finding.label, report)
    if finding.field:
        location["logicalLocations"] = [{"fullyQualifiedName": printable(finding.field)}]
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": rule,
        "level": finding.severity.value,
        "message": {"text": message_of(finding)},
        "locations": [location],
    }
    if finding.labels:
        result["relatedLocations"] = [
            {"id": number, **_location(label.position, label.text, report)}
            for number, label in enumerate(finding.labels, start=1)
        ]
    result["partialFingerprints"] = {"cpuplan/v2": fingerprint}
    if finding.stands_for > 1:
        result["occurrenceCount"] = finding.stands_for
    if finding.waiver:
        why = f"{finding.waiver.reason} (until {finding.waiver.expires})"
        result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": why}]
    return result


def _location(position: Position, text: str, report: Report) -> dict[str, Any]:
    region = {"startLine": position.line or 1}
    if position.line:
        region["startColumn"] = position.column
        if position.end > position.column:
            region["endColumn"] = position.end
    artifact = _artifact(report.shown(position.path))
    location: dict[str, Any] = {
        "physicalLocation": {"artifactLocation": artifact, "region": region}
    }
    return {**location, "message": {"text": text}} if text else location


def _artifact(path: str) -> dict[str, str]:
    """A URI without dot segments (section 3.4.3), relative to SRCROOT unless `path` is absolute."""
    try:
        uri = quote(normpath(path), errors="surrogateescape")
    except UnicodeEncodeError:  # no name of a file
        uri = quote(normpath(printable(path)))
    return {"uri": f"file://{uri}"} if uri.startswith("/") else {"uri": uri, "uriBaseId": ROOT}
