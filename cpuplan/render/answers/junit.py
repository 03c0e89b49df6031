"""Answers as JUnit's XML: a suite for each node, and in it a test case for each fact.

A fact that differs fails, one that nothing shows is skipped with the reason. No times and no hosts:
the same answers are the same bytes.
"""

from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape, quoteattr

from cpuplan.expected.answer import Answer, Verdict
from cpuplan.printable import printable
from cpuplan.render.answers.fleet import Checked


def render(checked: Sequence[Checked]) -> str:
    """A suite for each node, and for the objects of each cluster."""
    numbers = [_numbers(each.answers) for each in checked]
    total = [sum(column) for column in zip(*numbers, strict=True)] or [0, 0, 0]
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuites name="cpuplan check" {_counts(total)}>',
    ]
    for each, number in zip(checked, numbers, strict=True):
        name = quoteattr(printable(f"{each.cluster}/{each.name}" if each.is_node else each.name))
        lines.append(f'  <testsuite name={name} {_counts(number)} skipped="{number[2]}">')
        for answer in each.answers:
            lines += _case(answer, name)
        lines.append("  </testsuite>")
    return "\n".join([*lines, "</testsuites>"]) + "\n"


def _numbers(answers: Sequence[Answer]) -> list[int]:
    verdicts = [answer.verdict for answer in answers]
    return [
        len(verdicts),
        verdicts.count(Verdict.DIFFERS),
        verdicts.count(Verdict.UNVERIFIABLE),
    ]


def _counts(numbers: Sequence[int]) -> str:
    return f'tests="{numbers[0]}" failures="{numbers[1]}" errors="0"'


def _case(answer: Answer, suite: str) -> Iterator[str]:
    head = f"    <testcase classname={suite} name={quoteattr(printable(answer.fact))}"
    if answer.verdict is Verdict.HELD:
        yield f"{head}/>"
        return
    yield f"{head}>"
    if answer.finding:
        finding = answer.finding
        text = escape(printable(f"{finding.message}\n{finding.remedy}\n{answer.evidence}"))
        kind, message = quoteattr(finding.code), quoteattr(printable(finding.message))
        yield f"      <failure type={kind} message={message}>{text}</failure>"
    else:
        yield f"      <skipped message={quoteattr(printable(answer.reason))}/>"
    yield "    </testcase>"
