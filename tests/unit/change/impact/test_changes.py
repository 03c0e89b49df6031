"""Differences of two snapshots: paths of fields, files, and the CPUs of pools."""

from typing import Any

import pytest

from cpuplan.base.cpuset import CpuSet
from cpuplan.change.impact import changes
from cpuplan.change.impact.changes import FileChange, How, ObjectChange, PoolChange
from cpuplan.change.impact.snapshot import Object, ObjectId


@pytest.mark.parametrize(
    ("before", "after", "paths"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 2, "b": 3}, ["a", "b"]),
        ({"a": {"b": [1, 2]}}, {"a": {"b": [2, 1]}}, ["a.b"]),
        ({"a": {}}, {"a": []}, ["a"]),
        ([{"name": "x", "v": 1}], [{"name": "x", "v": 2}], ["[x].v"]),
        (
            [{"path": "/x", "name": "y", "v": 1}],
            [{"path": "/x", "name": "z", "v": 1}],
            ["[/x].name"],
        ),
        ([{"key": "x"}, {"key": "y"}], [{"key": "y"}, {"key": "x"}], [""]),
        ([{"key": "x"}, {"key": "y"}], [{"key": "y"}], ["[x]"]),
        ([{"key": "x"}, {"key": "x"}], [{"key": "x"}], [""]),
        ([{"key": "x"}, "y"], [{"key": "x"}], [""]),
        ([{"key": 1}], [{"key": 2}], [""]),
        ([{"key": 1}], [{"key": 1}], []),
        ([], [{"key": "x"}], ["[x]"]),
    ],
)
def test_paths_of_fields_that_differ(before: Any, after: Any, paths: list[str]) -> None:
    """Items of a list by their names, where each has its own; their order is a difference."""
    assert list(changes.differing(before, after)) == paths


def test_files_come_change_and_go() -> None:
    before = {"a": b"1", "b": b"1", "c": b"1"}
    after = {"d": b"1", "b": b"2", "c": b"1"}
    assert changes.file_changes(before, after) == (
        FileChange("a", How.GOES),
        FileChange("b", How.CHANGES),
        FileChange("d", How.COMES),
    )


def of(name: str, kind: str = "ConfigMap", **data: Any) -> Object:
    identity = ObjectId("", kind, "", name)
    return Object(identity, f"{name}.yaml", {"metadata": {"name": name}, **data})


@pytest.mark.parametrize(
    ("old", "new", "is_renamed"),
    [
        (of("du"), of("ran"), True),
        (of("50-du", selector="du"), of("50-ran", selector="ran"), True),
        (of("50-du-x", selector="du"), of("50-ran-x", selector="ran"), True),
        (of("du", selector="due"), of("ran", selector="rane"), False),
        (of("du", a=1), of("ran", a=2), False),
        (of("du", "Node"), of("ran", "Node"), False),
        (of("du", "Secret"), of("ran"), False),
        (of("a"), of("a-b"), True),
    ],
)
def test_an_object_with_another_name_only_is_renamed(
    old: Object, new: Object, is_renamed: bool
) -> None:
    made = changes.object_changes({old.id: old}, {new.id: new})
    if is_renamed:
        assert made == (ObjectChange(new.id, How.RENAMED, was=old.id.name),)
    else:
        assert sorted(change.how.name for change in made) == ["COMES", "GOES"]


def test_of_two_that_are_alike_each_is_renamed_once() -> None:
    old, new = [of("a"), of("b")], [of("c"), of("d"), of("e")]
    made = changes.object_changes(
        {value.id: value for value in old}, {value.id: value for value in new}
    )
    assert [(change.id.name, change.was) for change in made] == [("c", "a"), ("d", "b"), ("e", "")]


def test_pools_come_change_and_go() -> None:
    plan = {"pools": {"a": {"cpus": "0-1"}}, "sets": {"b": {"cpus": "2"}}}
    layout = changes.layout(plan)
    assert layout == {"a": CpuSet((0, 1)), "b": CpuSet((2,))}
    assert changes.layout(None) == {}
    assert changes.layout({"pools": {}}) == {}
    after = {"a": CpuSet((0,)), "c": CpuSet((1,))}
    assert changes.pool_changes(layout, after) == (
        PoolChange("a", CpuSet((0, 1)), CpuSet((0,))),
        PoolChange("c", CpuSet(), CpuSet((1,))),
        PoolChange("b", CpuSet((2,)), CpuSet()),
    )
