"""JUnit's XML as GitLab, Jenkins and Azure DevOps read it.

https://github.com/testmoapp/junitxml says what they take. A test case for each finding: an error
fails, and with --strict a warning; a waived one is skipped; others are output of a case that
passes. Without findings there is one that passes: Jenkins takes an empty report for a broken one.
No times and no hosts: the same findings are the same bytes.
"""

from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from cpuplan.base.text import printable
from cpuplan.diagnostics import Diagnostic
from cpuplan.render.diagnostics.report import Report, message_of


def render(report: Report) -> str:
    """A suite with a case for each finding."""
    findings = report.listed
    name = quoteattr("cpuplan" if report.command == "cpuplan" else f"cpuplan {report.command}")
    failures = sum(map(report.fails, findings))
    skipped = sum(bool(finding.waiver) for finding in findings)
    counts = f'tests="{len(findings) or 1}" failures="{failures}" errors="0"'
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f"<testsuites name={name} {counts}>",
        f'  <testsuite name={name} {counts} skipped="{skipped}">',
    ]
    for finding in findings:
        lines += _case(finding, report)
    if not findings:
        lines.append(f'    <testcase classname="cpuplan" name={quoteattr(report.command)}/>')
    return "\n".join([*lines, "  </testsuite>", "</testsuites>"]) + "\n"


def _case(finding: Diagnostic, report: Report) -> Iterator[str]:
    file, position = printable(report.file_of(finding)), finding.position
    line = position.line if position else 0
    place = f"{file}:{line}:{position.column}" if position and line else file
    name = quoteattr(f"{finding.code} {place}")
    at = f' line="{line}"' if line else ""
    yield f"    <testcase classname={quoteattr(file)} name={name} file={quoteattr(file)}{at}>"
    yield f"      {_result(finding, place, report)}"
    yield "    </testcase>"


def _result(finding: Diagnostic, place: str, report: Report) -> str:
    if finding.waiver:
        why = f"waived until {finding.waiver.expires}: {finding.waiver.reason}"
        return f"<skipped message={quoteattr(why)}/>"
    text = f"{place}: {message_of(finding)}"
    if report.fails(finding):
        head = f'type="{finding.code}" message={quoteattr(finding.message)}'
        return f"<failure {head}>{escape(text)}</failure>"
    return f"<system-out>{escape(f'{finding.severity.value}: {text}')}</system-out>"
