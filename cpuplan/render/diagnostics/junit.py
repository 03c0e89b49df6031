"""JUnit's XML as GitLab, Jenkins and Azure DevOps read it (https://github.com/testmoapp/junitxml
tells what they take).

A test case for each finding: an error fails, and with --strict a warning; a waived one is skipped;
of others the text is told. Without findings there is one that passes: Jenkins takes a report
without any for a broken one. No times and no hosts: the same findings are the same bytes.
"""

from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from cpuplan.diagnostics import Diagnostic
from cpuplan.printable import printable
from cpuplan.render.diagnostics.report import Report, message_of


def render(report: Report) -> str:
    found = report.listed
    name = quoteattr(f"cpuplan {report.command}" if report.command != "cpuplan" else report.command)
    failures = sum(map(report.fails, found))
    skipped = sum(bool(each.waiver) for each in found)
    counts = f'tests="{len(found) or 1}" failures="{failures}" errors="0" skipped="{skipped}"'
    total = f'tests="{len(found) or 1}" failures="{failures}" errors="0"'
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f"<testsuites name={name} {total}>"]
    lines.append(f"  <testsuite name={name} {counts}>")
    for each in found:
        lines += _case(each, report)
    if not found:
        lines.append(f'    <testcase classname="cpuplan" name={quoteattr(report.command)}/>')
    return "\n".join([*lines, "  </testsuite>", "</testsuites>"]) + "\n"


def _case(each: Diagnostic, report: Report) -> Iterator[str]:
    file = printable(report.file_of(each))
    at = each.position
    place = f"{file}:{at.line}:{at.column}" if at and at.line else file
    attributes = f"classname={quoteattr(file)} name={quoteattr(f'{each.code} {place}')} file={quoteattr(file)}"
    if at and at.line:
        attributes += f' line="{at.line}"'
    yield f"    <testcase {attributes}>"
    text = message_of(each)
    if each.waiver:
        why = f"waived until {each.waiver.expires}: {each.waiver.reason}"
        yield f"      <skipped message={quoteattr(why)}/>"
    elif report.fails(each):
        message = quoteattr(each.message)
        yield f'      <failure type="{each.code}" message={message}>{escape(f"{place}: {text}")}</failure>'
    else:
        yield f"      <system-out>{escape(f'{each.severity.value}: {place}: {text}')}</system-out>"
    yield "    </testcase>"
