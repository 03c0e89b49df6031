"""Workflow commands of GitHub Actions: a line for each finding, shown beside the lines of a pull
request.

https://docs.github.com/actions/reference/workflow-commands-for-github-actions; the escapes are
those of actions/toolkit, packages/core/src/command.ts. GitHub shows ten annotations of each
severity for a step.
"""

from cpuplan.codes import CODES
from cpuplan.diagnostics import Diagnostic, Severity
from cpuplan.printable import printable
from cpuplan.render.diagnostics.report import Report, message_of

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
_WORST_FIRST = list(_COMMANDS)
SHOWN = 10


def render(report: Report) -> str:
    """Worst first: GitHub drops what comes after the tenth."""
    found = sorted(report.listed, key=lambda d: (bool(d.waiver), _WORST_FIRST.index(d.severity)))
    return "".join(f"{_command(each, report)}\n" for each in found)


def notice(report: Report) -> str:
    """What GitHub will not show."""
    counts = [sum(d.severity is severity for d in report.listed) for severity in Severity]
    if max(counts) <= SHOWN:
        return ""
    return f"GitHub shows {SHOWN} annotations of each severity per step; this step has {sum(counts)}, all of them in the log"


def _command(each: Diagnostic, report: Report) -> str:
    title = f"{each.code} {CODES[each.code].title}"
    text = message_of(each)
    if each.waiver:
        title, text = (
            f"{title} (waived)",
            f"{text}\nwaived until {each.waiver.expires}: {each.waiver.reason}",
        )
    properties = {**_place(each, report), "title": title}
    shown = ",".join(f"{name}={_escaped_property(value)}" for name, value in properties.items())
    return f"::{'notice' if each.waiver else _COMMANDS[each.severity]} {shown}::{_escaped(text)}"


def _place(each: Diagnostic, report: Report) -> dict[str, str]:
    at = each.position
    if at is None:
        return {}
    place = {"file": printable(report.shown(at.path))}
    if at.line:
        place |= {"line": str(at.line), "col": str(at.column)}
        if at.end > at.column:
            place |= {"endLine": str(at.line), "endColumn": str(at.end)}
    return place


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escaped_property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")
