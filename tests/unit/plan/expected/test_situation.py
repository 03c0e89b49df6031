"""Where a node stands."""

import pytest

from cpuplan.diagnostics import diagnose
from cpuplan.plan.expected.evidence import (
    COMPILED,
    DELIVERED,
    FILES,
    NEXT_BOOT,
    Answer,
    Situation,
    Verdict,
    situation,
)


def held(*facts: str) -> list[Answer]:
    return [Answer(fact, Verdict.HELD, "") for fact in facts]


def differs(fact: str, code: str = "CP870") -> Answer:
    finding = diagnose(code, paths="/a", path="/a", found="1", wanted="2", problem="x", next="")
    return Answer(fact, Verdict.DIFFERS, "", finding=finding)


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (held("machine SMT"), Situation.HELD),
        (held(COMPILED), Situation.UNSEEN),
        ([*held("machine SMT"), differs(COMPILED)], Situation.NOT_COMPILED),
        ([*held("machine SMT"), differs(DELIVERED)], Situation.NOT_DELIVERED),
        # None of the files, and no stamp.
        ([*held("machine SMT"), differs(FILES)], Situation.NOT_DELIVERED),
        ([*held("machine SMT", "file /b"), differs(FILES)], Situation.DRIFTED),
        ([*held(DELIVERED), differs("file /a")], Situation.DRIFTED),
        ([*held(NEXT_BOOT), differs("kernel nohz_full")], Situation.NOT_BOOTED),
        # What could not be looked at has not drifted.
        ([*held(COMPILED), differs("machine online CPUs", "CP801")], Situation.UNSEEN),
        ([*held("machine SMT"), differs("readable proc/1", "CP805")], Situation.DRIFTED),
    ],
)
def test_the_first_step_that_lacks(answers: list[Answer], expected: Situation) -> None:
    assert situation(answers) is expected
