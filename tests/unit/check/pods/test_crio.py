"""What CRI-O told containers: each finding is said, and what holds is said once."""

from typing import Any

import pytest

from cpuplan.check.pods import crio
from cpuplan.plan.expected.evidence import Answer, Verdict

FINDING: Any = "a finding"
HELD = [Answer(f"container {name}", Verdict.HELD, "") for name in "ab"]
WRONG = [Answer(f"container {name}", Verdict.DIFFERS, "", finding=FINDING) for name in "cd"]


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ([], []),
        (HELD, HELD[:1]),
        ([HELD[0], *WRONG, HELD[1]], WRONG),
        (WRONG[:1], WRONG[:1]),
    ],
)
def test_findings_and_else_one_that_holds(answers: list[Answer], said: list[Answer]) -> None:
    assert list(crio._once(answers)) == said
