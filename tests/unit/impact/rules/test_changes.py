"""The table of changes: what each costs, on every target, and by which rule."""

import pytest

from cpuplan.backends import BACKENDS
from cpuplan.impact.rules.table import RULES
from tests.unit.impact.rules import projects
from tests.unit.impact.rules.projects import Row

ROWS = projects.rows()


@pytest.mark.parametrize("row", ROWS, ids=[row.id for row in ROWS])
def test_costs(row: Row) -> None:
    found = projects.outcome(row)
    assert (found.impact.word, tuple(step.rule for step in found.steps)) == (
        row.impact,
        row.rules,
    ), "\n".join(map(str, found.steps))
    assert all(step.is_certain for step in found.steps if step.impact == found.impact) == (
        row.certain
    )
    for step in found.steps:
        assert step.because, step
        assert "{" not in step.does, step
