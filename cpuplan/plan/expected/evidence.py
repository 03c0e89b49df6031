"""What `check` says of facts, how far a plan has come, and whether enough of it was looked at.

Whoever says of a node that it holds its plan asks here: `check`, `check cluster`, the agent. What
was not looked at never holds. Of each fact there are three answers (`Verdict`): it is held, it
differs, it was not seen.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from cpuplan.diagnostics import Diagnostic
from cpuplan.facts.settings.costs import Cost


class Verdict(Enum):
    HELD = "held"
    DIFFERS = "differs"
    UNVERIFIABLE = "not verifiable here"


class Heals(Enum):
    """What makes a fact as it should be, once its cause is mended."""

    LIVE = "live"
    RESTART = "restart"
    REBOOT = "reboot"


_HEALS = {
    Cost.NOTHING: Heals.LIVE,
    Cost.SYSTEMD_RELOAD: Heals.LIVE,
    Cost.REBOOT: Heals.REBOOT,
    Cost.REINSTALL: Heals.REBOOT,
}


def heals_by(cost: Cost) -> Heals:
    """How a setting whose change costs this comes into force."""
    return _HEALS.get(cost, Heals.RESTART)


_LIVE = "CP685 CP686 CP687 CP803 CP819 CP8203 CP8204 CP8205 CP837 CP865 CP883 CP884 CP886 CP888"
_RESTART = (
    "CP8225 CP825 CP827 CP828 CP857 CP858 CP859 CP864 CP867 CP869 CP870 CP871 CP874 CP890 CP898"
)
_REBOOT = "CP806 CP814 CP815 CP816 CP8220 CP8221 CP8222 CP8223 CP838 CP891 CP899"
#: What heals the facts of a code, whatever setting they are of.
HEALS: Mapping[str, Heals] = {
    **dict.fromkeys(_LIVE.split(), Heals.LIVE),
    **dict.fromkeys(_RESTART.split(), Heals.RESTART),
    **dict.fromkeys(_REBOOT.split(), Heals.REBOOT),
}


class Answer(NamedTuple):
    """The answer on one fact."""

    #: `<component> <key>` of a setting, or words: `machine NUMA nodes`.
    fact: str
    verdict: Verdict
    #: The path that was read, as shown, or a command.
    evidence: str
    expected: str = ""
    observed: str = ""
    #: Why a fact cannot be verified.
    reason: str = ""
    #: Of a fact that cannot be verified: no node shows it to who reads its files.
    is_unshown: bool = False
    #: Of a fact that differs.
    finding: Diagnostic | None = None
    heals: Heals | None = None
    #: The statement that the fact comes from, as `Kind/name:field`.
    origin: str = ""


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


_THRESHOLD = re.compile(r"([0-9]{1,6})(%?)")
_ALL = 100
#: Facts that every node of the machine holds, with a plan or without: nothing else is in the way.
_OF_MACHINES = "machine "
_OF_ANY_NODE = frozenset(
    (
        "affinities of units",
        "alignment of exclusive CPUs",
        "boot arguments of others",
        "complaints of the kernel",
        "counts of interrupts",
        "CPUs that control groups keep for themselves",
        "kubelet starts on this machine",
        "limits of services",
        "limits of slices of pods",
        "managed interrupts",
        "packet steering of queues",
        "quotas of exclusive CPUs",
        "version of control groups",
    )
)
#: Reasons that are told of one finding.
_MAX_REASONS = 3


class Evidence(NamedTuple):
    """Numbers of facts: looked at (held or not), not seen, and such as no reader can see."""

    verified: int
    unseen: int
    unshown: int = 0

    @property
    def verifiable(self) -> int:
        """The facts that could be looked at."""
        return self.verified + self.unseen


class Threshold(NamedTuple):
    """What must be looked at of each node: so many facts, or such a share of them in percent."""

    facts: int = 1
    percent: int = 0

    def is_met(self, evidence: Evidence) -> bool:
        """Whether enough was looked at; nothing never is."""
        least = max(self.facts, 1)
        share = evidence.verified * _ALL >= self.percent * evidence.verifiable
        return evidence.verified >= least and share

    def __str__(self) -> str:
        return f"{self.percent}%" if self.percent else str(self.facts)


#: What every check asks for at least.
SOMETHING = Threshold()


def parse_threshold(text: str) -> Threshold:
    """A threshold as it is written: `12`, or `80%`. Raises ValueError."""
    match = _THRESHOLD.fullmatch(text)
    number = int(match[1]) if match else 0
    if not match or number < 1 or (match[2] and number > _ALL):
        raise ValueError("give a number of facts such as 12, or a share of them such as 80%")
    return Threshold(percent=number) if match[2] else Threshold(facts=number)


def evidence_of(answers: Iterable[Answer]) -> Evidence:
    """The evidence of answers, each fact once.

    The project's own documents say nothing of a node, what could not be read nothing at all, and
    what every node of the machine holds nothing of a plan.
    """
    verified: set[str] = set()
    unseen: set[str] = set()
    unshown: set[str] = set()
    for answer in answers:
        if answer.fact == COMPILED or (_is_of_any_node(answer.fact) and not answer.finding):
            continue
        if answer.verdict is Verdict.UNVERIFIABLE and answer.is_unshown:
            unshown.add(answer.fact)
        elif answer.verdict is Verdict.UNVERIFIABLE or _is_unread(answer):
            unseen.add(answer.fact)
        else:
            verified.add(answer.fact)
    unseen -= verified
    return Evidence(len(verified), len(unseen), len(unshown - verified - unseen))


def is_verified(answers: Iterable[Answer], threshold: Threshold = SOMETHING) -> bool:
    """Whether enough was looked at, whatever was found then."""
    return threshold.is_met(evidence_of(answers))


def standing(answers: Sequence[Answer], threshold: Threshold = SOMETHING) -> Situation:
    """Where a node stands: what was looked at too little does not hold."""
    answered = situation(answers)
    differs = any(answer.finding and not _is_unread(answer) for answer in answers)
    least = threshold if answered is Situation.HELD else SOMETHING
    return answered if differs or is_verified(answers, least) else Situation.UNSEEN


def unseen_reasons(answers: Iterable[Answer]) -> str:
    """Why facts were not looked at, with numbers: what could not be read, the commonest reasons."""
    facts = list(dict.fromkeys(answers))
    unread = Counter(fact.finding.message for fact in facts if _is_unread(fact) and fact.finding)
    unseen = Counter(fact.reason for fact in facts if _is_unseen(fact))
    numbers = [*unread.most_common(), *unseen.most_common()]
    told = [f"{reason} ({number})" for reason, number in numbers[:_MAX_REASONS]]
    rest = sum(number for _, number in numbers[_MAX_REASONS:])
    more = [f"other reasons ({rest})"] if rest else []
    return "; ".join((*told, *more)) or "the plan has no fact that can be looked at here"


def _is_of_any_node(fact: str) -> bool:
    return fact.startswith(_OF_MACHINES) or fact in _OF_ANY_NODE


def _is_unread(answer: Answer) -> bool:
    """Whether a finding is about what could not be looked at."""
    return answer.finding is not None and answer.finding.code in UNREAD


def _is_unseen(answer: Answer) -> bool:
    """Whether a fact that can be seen was not."""
    return (
        answer.verdict is Verdict.UNVERIFIABLE and not answer.is_unshown and answer.fact != COMPILED
    )
