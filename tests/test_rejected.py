"""Every code is provoked by a user's mistake, and its whole message is compared."""

from pathlib import Path

import pytest

from cpuplan.diagnostics.codes import CODES
from tests.case_contexts import CONTEXTS
from tests.case_steps import STEPS, Step
from tests.rejected_cases import Case, cases, outcome

CASES = cases()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.folder.name)
def test_message(case: Case, tmp_path: Path) -> None:
    exit_code, printed = outcome(case, tmp_path / "project")
    assert printed == (case.folder / "expected.txt").read_text()
    assert exit_code == case.exit_code
    assert f"[{case.code}]" in printed


def test_every_code_is_provoked() -> None:
    assert sorted({case.code for case in CASES}) == sorted(CODES)


def test_every_step_is_taken() -> None:
    """What no case names any more goes."""
    steps = [step for case in CASES for step in case.steps]
    contexts = [case.context for case in CASES if case.context]
    assert {name(step) for step in steps} == STEPS.keys()
    assert {name(context) for context in contexts} == CONTEXTS.keys()


def name(step: Step) -> str:
    return step if isinstance(step, str) else next(iter(step))
