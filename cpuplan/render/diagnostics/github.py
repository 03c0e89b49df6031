"""Workflow commands of GitHub Actions: a finding each, shown at the lines of a pull request.

https://docs.github.com/actions/reference/workflow-commands-for-github-actions; the escapes are
those of actions/toolkit, packages/core/src/command.ts. GitHub shows ten annotations of each
severity for a step.
"""

from cpuplan.base.text import printable
from cpuplan.diagnostics import Diagnostic, Severity
from cpuplan.diagnostics.codes import CODES
from cpuplan.render.diagnostics.report import Report, message_of, worst_first

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
SHOWN = 10


def render(report: Report) -> str:
    """Worst first: GitHub drops what comes after the tenth."""
    return "".join(f"{_command(finding, report)}\n" for finding in worst_first(report.listed))


def notice(report: Report) -> str:
    """What GitHub will not show."""
    severities = [finding.severity for finding in report.listed]
    if max(severities.count(severity) for severity in Severity) <= SHOWN:
        return ""
    rule = f"GitHub shows {SHOWN} annotations of each severity per step"
    return f"{rule}; this step has {len(severities)}, all of them in the log"


def _command(finding: Diagnostic, report: Report) -> str:
    command, text = _COMMANDS[finding.severity], message_of(finding)
    title = f"{finding.code} {CODES[finding.code].title}"
    if finding.waiver:
        command, title = "notice", f"{title} (waived)"
        text += f"\nwaived until {finding.waiver.expires}: {finding.waiver.reason}"
    properties = {**_place(finding, report), "title": title}
    pairs = [f"{name}={_escaped_property(value)}" for name, value in properties.items()]
    return f"::{command} {','.join(pairs)}::{_escaped(text)}"


def _place(finding: Diagnostic, report: Report) -> dict[str, str]:
    position = finding.position
    if position is None:
        return {}
    place = {"file": printable(report.shown(position.path))}
    if position.line:
        place |= {"line": str(position.line), "col": str(position.column)}
        if position.end > position.column:
            place |= {"endLine": str(position.line), "endColumn": str(position.end)}
    return place


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escaped_property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")
