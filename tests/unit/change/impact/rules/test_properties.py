"""What holds of all changes: nothing costs nothing, and both directions name the same settings."""

import json
import random

import pytest

from cpuplan.base.emit import to_json
from cpuplan.change.impact.rules.inputs import changed, halves
from cpuplan.change.impact.snapshot import Pair, Snapshot
from tests.unit.change.impact.rules import projects
from tests.unit.change.impact.rules.projects import Row, compiled, costs

ROWS = projects.rows()
SIDES = sorted(
    {(row.target, to_json(side)) for row in ROWS for side in (row.before, row.after) if side}
)
#: Changes of a class that can be made together.
PARTS = [
    row
    for row in ROWS
    if row.target in ("crio", "openshift", "bottlerocket")
    and row.before == {}
    and (row.after or {}).keys() == {"spec"}
]


@pytest.mark.parametrize(("target", "patch"), SIDES)
def test_equal_sides_cost_nothing(target: str, patch: str) -> None:
    side, known = compiled(target, patch)
    other = Snapshot(dict(side.files))
    assert costs(side, other, known) == ()


@pytest.mark.parametrize("row", ROWS, ids=[row.id for row in ROWS])
def test_both_directions_name_the_same_settings(row: Row) -> None:
    before, _ = compiled(row.target, to_json(row.before))
    after, _ = compiled(row.target, to_json(row.after))
    assert _keys(before, after) == _keys(after, before)


def _keys(before: Snapshot, after: Snapshot) -> set[tuple[str, str]]:
    keys = [side.by_node.get(("lab", "n1")) for side in (before, after)]
    pair = Pair(keys[0], keys[1], "lab", ("n1",))
    return {(change.component, change.key) for change in changed(*halves(pair, before, after))}


@pytest.mark.parametrize("seed", range(24))
def test_changes_together_cost_no_less_than_each(seed: int) -> None:
    chosen = random.Random(seed)  # noqa: S311 - the same choice in every run
    target = chosen.choice(["crio", "openshift", "bottlerocket"])
    first, second = chosen.sample([row for row in PARTS if row.target == target], 2)
    both = projects.merged(json.loads(to_json(first.after)), json.loads(to_json(second.after)))
    try:
        union = projects.outcome(first._replace(after=both))
    except AssertionError:
        pytest.skip("the intent cannot say both")
    assert union.impact >= max(projects.outcome(first).impact, projects.outcome(second).impact)
