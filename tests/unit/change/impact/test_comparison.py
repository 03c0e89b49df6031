"""Whole comparisons: equal trees, both directions, parts and their union."""

from functools import cache
from itertools import combinations, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from cpuplan import pipeline
from cpuplan.change.impact.comparison import Comparison, compare
from cpuplan.change.impact.snapshot import Snapshot
from cpuplan.pipeline import Compiled, Project
from tests import named_cases, plan_cases
from tests.plan_cases import Case, Edit
from tests.unit.change.impact import by_cost

#: Changes of the sample, each of other statements.
EDITS = (
    Edit("intents/edge.yaml", "cores: 2\n", "cores: 3\n"),
    Edit("intents/edge.yaml", "[audit=0]", "[mitigations=off]"),
    Edit("intents/edge.yaml", "Policy: single-numa-node", "Policy: restricted"),
    Edit("intents/edge.yaml", "count: 40", "count: 20"),
    Edit("intents/lab.yaml", "cores: 4\n", "cores: 5\n"),
    Edit("intents/lab.yaml", "percent: 12", "percent: 20"),
    Edit("intents/lab.yaml", "name: low-latency", "name: fast"),
    Edit("inventories/edge.yaml", "core-[0-3]", "core-[0-2]"),
)
PAIRS = list(combinations(range(len(EDITS)), 2))[::4]


@cache
def sample(*edits: Edit) -> tuple[Project, Compiled]:
    """The sample with edits, compiled."""
    with TemporaryDirectory() as folder:
        project = pipeline.load(plan_cases.project(Case(edits), Path(folder, "p")))
        return project, pipeline.compile_project(project, allow_removal=True)


def compared(before: tuple[Edit, ...], after: tuple[Edit, ...]) -> Comparison:
    (_, old), (project, new) = sample(*before), sample(*after)
    sides = Snapshot(old.files), Snapshot(new.files)
    return compare(project, new.plan, sides, by_cost.steps)


@pytest.mark.parametrize("name", named_cases.CASES)
def test_equal_trees_have_an_empty_plan(name: str) -> None:
    made = named_cases.compiled(name)
    project = pipeline.load(named_cases.FOLDER / name)
    comparison = compare(
        project, made.plan, (Snapshot(made.files), Snapshot(dict(made.files))), by_cost.steps
    )
    assert comparison.is_empty
    assert not comparison.impact
    assert comparison.fleet.before == comparison.fleet.after


@pytest.mark.parametrize("names", list(pairwise(named_cases.CASES)), ids="-to-".join)
def test_any_two_trees_are_compared_both_ways(names: tuple[str, str]) -> None:
    first, second = map(named_cases.compiled, names)
    before, after = Snapshot(first.files), Snapshot(second.files)
    project, other = (pipeline.load(named_cases.FOLDER / name) for name in names)
    there = compare(other, second.plan, (before, after), by_cost.steps)
    back = compare(project, first.plan, (after, before), by_cost.steps)
    assert settings(there) == {(*key, new, old) for *key, old, new in settings(back)}
    assert pools(there) == {(*key, new, old) for *key, old, new in pools(back)}
    assert (there.fleet.before, there.fleet.after) == (back.fleet.after, back.fleet.before)
    assert there.impact == back.impact


@pytest.mark.parametrize("pair", PAIRS)
def test_the_reverse_says_the_same_the_other_way_round(pair: tuple[int, int]) -> None:
    first, second = EDITS[pair[0]], EDITS[pair[1]]
    there, back = compared((first,), (second,)), compared((second,), (first,))
    assert settings(there) == {(*key, new, old) for *key, old, new in settings(back)}
    assert pools(there) == {(*key, new, old) for *key, old, new in pools(back)}
    assert (there.fleet.before, there.fleet.after) == (back.fleet.after, back.fleet.before)
    assert not there.is_empty


@pytest.mark.parametrize("pair", PAIRS)
def test_the_impact_of_a_union_is_the_worst_of_its_parts(pair: tuple[int, int]) -> None:
    first, second = EDITS[pair[0]], EDITS[pair[1]]
    parts = compared((), (first,)), compared((), (second,))
    union = compared((), (first, second))
    assert union.impact == max(part.impact for part in parts)


def test_each_edit_has_changes() -> None:
    for edit in EDITS:
        assert not compared((), (edit,)).is_empty, edit


def test_capacity_is_what_the_simulated_kubelet_gives() -> None:
    comparison = compared((), EDITS[:1])
    (change,) = [node_change for node_change in comparison.changes if not node_change.is_same]
    assert change.capacity is not None
    before, after = change.capacity
    assert (before.exclusive, after.exclusive) == (56, 54)
    assert (before.largest, after.largest) == (56, 54)
    assert comparison.fleet.after - comparison.fleet.before == -2 * len(change.pair.nodes)


def settings(of: Comparison) -> set[tuple[object, ...]]:
    """Nodes, keys and values of all settings that change."""
    return {
        (
            change.pair.nodes,
            setting.component,
            setting.key,
            repr(setting.before),
            repr(setting.after),
        )
        for change in of.changes
        for setting in change.settings
    }


def pools(of: Comparison) -> set[tuple[object, ...]]:
    return {
        (change.pair.nodes, pool.name, pool.before, pool.after)
        for change in of.changes
        for pool in change.pools
    }
