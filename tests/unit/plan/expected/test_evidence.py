"""How much was looked at, and whether that is enough."""

import pytest

from cpuplan.diagnostics import diagnose
from cpuplan.plan.expected import evidence
from cpuplan.plan.expected.evidence import COMPILED, Answer, Evidence, Situation, Threshold, Verdict

UNSEEN = Answer("b", Verdict.UNVERIFIABLE, "", reason="no /proc here")
UNSHOWN = UNSEEN._replace(fact="c", is_unshown=True)
HELD = Answer("a", Verdict.HELD, "")
UNREAD = Answer("d", Verdict.DIFFERS, "", finding=diagnose("CP801", path="/x"))
OTHER = Answer("e", Verdict.DIFFERS, "", finding=diagnose("CP887", kind="A", name="b", problem="c"))


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([], Evidence(0, 0)),
        ([HELD, UNSEEN, UNSHOWN, OTHER], Evidence(2, 1, 1)),
        ([HELD._replace(fact=COMPILED), UNSEEN], Evidence(0, 1)),
        ([UNREAD], Evidence(0, 1)),
        ([HELD, UNSEEN._replace(fact="a")], Evidence(1, 0)),
        ([HELD, HELD], Evidence(1, 0)),
        ([HELD._replace(fact="machine online CPUs"), UNSEEN], Evidence(0, 1)),
        ([HELD._replace(fact="boot arguments of others"), UNSEEN], Evidence(0, 1)),
        ([OTHER._replace(fact="machine online CPUs"), UNSEEN], Evidence(1, 1)),
        ([UNSEEN, UNSHOWN._replace(fact="b")], Evidence(0, 1)),
    ],
)
def test_what_counts(answers: list[Answer], expected: Evidence) -> None:
    assert evidence.evidence_of(answers) == expected


@pytest.mark.parametrize(
    ("text", "seen", "is_met"),
    [
        ("1", Evidence(0, 0), False),
        ("1", Evidence(1, 99), True),
        ("2", Evidence(1, 0), False),
        ("80%", Evidence(8, 2), True),
        ("80%", Evidence(79, 21), False),
        ("100%", Evidence(3, 0, 9), True),
        ("100%", Evidence(0, 0, 9), False),
        ("1%", Evidence(0, 0), False),
    ],
)
def test_what_is_enough(text: str, seen: Evidence, is_met: bool) -> None:
    threshold = evidence.parse_threshold(text)
    assert threshold.is_met(seen) is is_met
    assert str(threshold) == text


@pytest.mark.parametrize("text", ["", "0", "0%", "101%", "-1", "1.5", " 1", "1 %", "9999999", "%"])
def test_what_is_no_threshold(text: str) -> None:
    with pytest.raises(ValueError, match="give a number of facts"):
        evidence.parse_threshold(text)


def test_nothing_holds_unseen() -> None:
    assert evidence.standing([UNSEEN]) is Situation.UNSEEN
    assert evidence.standing([HELD, UNSEEN]) is Situation.HELD
    assert evidence.standing([HELD, UNSEEN], Threshold(percent=80)) is Situation.UNSEEN
    assert evidence.standing([HELD._replace(fact="machine SMT"), UNREAD]) is Situation.UNSEEN
    assert evidence.standing([HELD, OTHER], Threshold(facts=9)) is Situation.DRIFTED


def test_the_reasons_with_their_numbers() -> None:
    others = [UNSEEN._replace(fact=f"x{at}", reason=f"reason {at}") for at in range(5)]
    told = evidence.unseen_reasons([UNSEEN, UNSEEN._replace(fact="z"), *others, HELD, UNREAD])
    assert told == "/x cannot be read (1); no /proc here (2); reason 0 (1); other reasons (4)"
    assert evidence.unseen_reasons([UNSHOWN, HELD]) == evidence.unseen_reasons([])
    assert evidence.unseen_reasons([]) == "the plan has no fact that can be looked at here"
