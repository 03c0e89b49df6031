"""Numbers of answers in words, and the table of all facts."""

from collections.abc import Iterator, Sequence

from cpuplan.base.printable import printable
from cpuplan.base.text import counted
from cpuplan.plan.expected import evidence
from cpuplan.plan.expected.answer import Answer, Verdict
from cpuplan.plan.expected.evidence import SOMETHING, Threshold
from cpuplan.plan.expected.situation import Situation


def counts(answers: Sequence[Answer]) -> dict[Verdict, int]:
    """How many facts have each verdict. A fact that differs anywhere differs."""
    return {verdict: len(facts) for verdict, facts in by_verdict(answers).items()}


def by_verdict(answers: Sequence[Answer]) -> dict[Verdict, list[str]]:
    """The facts of each verdict, each fact once."""
    found: dict[Verdict, list[str]] = {verdict: [] for verdict in Verdict}
    for fact, verdict in verdicts(answers).items():
        found[verdict].append(fact)
    return found


def unshown(answers: Sequence[Answer]) -> int:
    """How many of the facts that cannot be verified are such as no node shows."""
    shown = {answer.fact for answer in answers if not answer.is_unshown}
    return len({answer.fact for answer in answers} - shown)


def verdicts(answers: Sequence[Answer]) -> dict[str, Verdict]:
    """The verdict on each fact: it holds if one file shows it and none differs."""
    order = (Verdict.UNVERIFIABLE, Verdict.HELD, Verdict.DIFFERS)
    worst: dict[str, Verdict] = {}
    for answer in answers:
        known = worst.get(answer.fact, Verdict.UNVERIFIABLE)
        worst[answer.fact] = max(known, answer.verdict, key=order.index)
    return worst


def sentence(node: str, answers: Sequence[Answer], threshold: Threshold = SOMETHING) -> str:
    """`worker-0 holds what was compiled for it (45 facts held, 7 not verifiable here)`."""
    number = counts(answers)
    held, differ, unknown = (number[verdict] for verdict in Verdict)
    verb = "differs" if differ == 1 else "differ"
    parts = [f"{counted(held, 'fact')} held"]
    parts += [f"{differ} {verb}"] if differ else []
    parts += [f"{unknown} not verifiable here"] if unknown else []
    where = evidence.standing(answers, threshold)
    is_short = where is Situation.UNSEEN and evidence.is_verified(answers)
    words = "shows too little of what was compiled for it" if is_short else where.value
    return f"{node} {words} ({', '.join(parts)})"


def coverage(answers: Sequence[Answer]) -> str:
    """A line for each answer: its verdict, the fact, what was read, and why it says nothing."""
    return "".join(f"{line}\n" for line in _lines(answers))


def _lines(answers: Sequence[Answer]) -> Iterator[str]:
    width = max((len(verdict.value) for verdict in Verdict), default=0)
    for answer in sorted(answers, key=lambda each: each.fact):
        words = [answer.verdict.value.ljust(width), printable(answer.fact)]
        if answer.evidence:
            words.append(f"({printable(answer.evidence)})")
        if answer.reason:
            words.append(f"- {printable(why(answer))}")
        yield " ".join(words)


def why(answer: Answer) -> str:
    """Why a fact cannot be verified, and whether that is so on every node."""
    return f"{answer.reason} (no node shows it)" if answer.is_unshown else answer.reason
