"""How far a plan has come on a node: compiled, delivered, booted, and held since."""

from collections.abc import Iterable, Sequence
from enum import Enum

from cpuplan.plan.expected.answer import Answer, Verdict

#: Facts that tell the steps of a roll-out apart.
COMPILED = "compiled documents"
DELIVERED = "delivered plan"
NEXT_BOOT = "next boot"
#: The fact of a file, before its path; and that of all that are missing.
FILE, FILES = "file ", "compiled files"
#: Findings of what could not be looked at.
UNREAD = frozenset(("CP801", "CP805", "CP810"))


class Situation(Enum):
    """The first step of a roll-out that a node lacks."""

    HELD = "holds what was compiled for it"
    UNSEEN = "shows nothing that was compiled for it"
    NOT_COMPILED = "is not compiled: its documents are newer than out/"
    NOT_DELIVERED = "is not delivered: it has the files of another plan, or none"
    NOT_BOOTED = "is not booted: its files are right, and the kernel runs with other arguments"
    DRIFTED = "drifted from what was compiled for it"


def situation(answers: Sequence[Answer]) -> Situation:
    """Where a node stands, by what differs."""
    differing = {answer.fact for answer in answers if answer.verdict is Verdict.DIFFERS}
    held = {answer.fact for answer in answers if answer.verdict is Verdict.HELD}
    codes = {answer.finding.code for answer in answers if answer.finding}
    if COMPILED in differing:
        return Situation.NOT_COMPILED
    if DELIVERED in differing or (DELIVERED not in held and _are_files_foreign(answers)):
        return Situation.NOT_DELIVERED
    if not held - {COMPILED} and codes <= UNREAD:
        return Situation.UNSEEN
    if differing:
        is_old = NEXT_BOOT in held and any(fact.startswith("kernel ") for fact in differing)
        return Situation.NOT_BOOTED if is_old else Situation.DRIFTED
    return Situation.HELD


def _are_files_foreign(answers: Iterable[Answer]) -> bool:
    """Whether no compiled file is on the node as it was compiled, and some differ."""
    verdicts = {answer.verdict for answer in answers if answer.fact.startswith((FILE, FILES))}
    return Verdict.DIFFERS in verdicts and Verdict.HELD not in verdicts
