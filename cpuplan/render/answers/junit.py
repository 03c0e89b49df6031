"""Answers as JUnit's XML: a suite for each node, and in it one test case for each fact.

A fact that differs fails, one that nothing shows is skipped with the reason. What keeps a check
from saying that a node holds, since too little of it was looked at, is an error, in a suite before
all others. No times and no hosts: the same answers are the same bytes.
"""

from collections.abc import Iterable, Iterator, Sequence
from xml.sax.saxutils import escape, quoteattr

from cpuplan.base.text import printable
from cpuplan.diagnostics import Diagnostic
from cpuplan.plan.expected.evidence import Answer, Verdict
from cpuplan.render.answers.summary import Checked, verdicts


def render(checked: Sequence[Checked], unseen: Sequence[Diagnostic] = ()) -> str:
    """A suite for each node, and for the objects of each cluster; first what was not looked at."""
    facts = [verdicts(node.answers) for node in checked]
    numbers = [_numbers(by_fact.values()) for by_fact in facts]
    total = [sum(column) for column in zip(*numbers, strict=True)] or [0, 0, 0]
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuites name="cpuplan check" {_counts(total, len(unseen))}>',
        *_unseen(unseen),
    ]
    for node, by_fact, number in zip(checked, facts, numbers, strict=True):
        name = quoteattr(printable(f"{node.cluster}/{node.name}" if node.is_node else node.name))
        lines.append(f'  <testsuite name={name} {_counts(number)} skipped="{number[2]}">')
        decisive: dict[str, list[Answer]] = {}
        for answer in node.answers:
            if answer.verdict is by_fact[answer.fact]:
                decisive.setdefault(answer.fact, []).append(answer)
        for answers in decisive.values():
            lines += _case(answers, name)
        lines.append("  </testsuite>")
    return "\n".join([*lines, "</testsuites>"]) + "\n"


def _numbers(verdicts_of_facts: Iterable[Verdict]) -> list[int]:
    every = list(verdicts_of_facts)
    return [len(every), every.count(Verdict.DIFFERS), every.count(Verdict.UNVERIFIABLE)]


def _counts(numbers: Sequence[int], errors: int = 0) -> str:
    return f'tests="{numbers[0] + errors}" failures="{numbers[1]}" errors="{errors}"'


def _unseen(findings: Sequence[Diagnostic]) -> Iterator[str]:
    """A suite of what was not looked at, with an error for each."""
    if not findings:
        return
    name = quoteattr("not verified")
    yield f'  <testsuite name={name} {_counts([0, 0], len(findings))} skipped="0">'
    for finding in findings:
        place = f" {printable(finding.position.path)}" if finding.position else ""
        message = printable(finding.message)
        head = f'type="{finding.code}" message={quoteattr(message)}'
        remedy = escape(printable(finding.remedy))
        yield f"    <testcase classname={name} name={quoteattr(f'{finding.code}{place}')}>"
        yield f"      <error {head}>{escape(message)}\n{remedy}</error>"
        yield "    </testcase>"
    yield "  </testsuite>"


def _case(answers: Sequence[Answer], suite: str) -> Iterator[str]:
    """The answers that decide on one fact, which have one verdict."""
    first = answers[0]
    head = f"    <testcase classname={suite} name={quoteattr(printable(first.fact))}"
    if first.verdict is Verdict.HELD:
        yield f"{head}/>"
        return
    yield f"{head}>"
    if first.verdict is Verdict.DIFFERS:
        yield _failure(answers)
    else:
        yield f"      <skipped message={quoteattr(printable(first.reason))}/>"
    yield "    </testcase>"


def _failure(answers: Sequence[Answer]) -> str:
    """All findings on a fact; JUnit has one failure for a case."""
    texts = list(dict.fromkeys(map(_text, answers)))
    finding = answers[0].finding
    message, code = texts[0].partition("\n")[0], finding.code if finding else "differs"
    text = escape("\n\n".join(texts))
    return f"      <failure type={quoteattr(code)} message={quoteattr(message)}>{text}</failure>"


def _text(answer: Answer) -> str:
    """What differs; of facts with one cause, only the first has its finding."""
    finding = answer.finding
    said = f"it is {answer.observed}; it should be {answer.expected}"
    lines = [finding.message, finding.remedy] if finding else [said]
    return "\n".join(printable(line) for line in [*lines, answer.evidence] if line)
