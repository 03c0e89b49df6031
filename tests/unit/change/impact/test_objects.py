"""Objects that come, change, go and get other names."""

from typing import Any

import pytest

from cpuplan.change.impact import changes
from cpuplan.change.impact.changes import How, ObjectChange
from cpuplan.change.impact.snapshot import Object, ObjectId


def made(name: str, kind: str = "RuntimeClass", **fields: Any) -> dict[ObjectId, Object]:
    own = ObjectId("node.k8s.io", kind, "", name)
    return {own: Object(own, f"{name}.yaml", {"metadata": {"name": name}, **fields})}


def test_come_change_and_go() -> None:
    before = made("a", handler="x") | made("b", handler="x")
    after = made("b", handler="y") | made("c", handler="z")
    summary = [
        (change.id.name, change.how, change.fields)
        for change in changes.object_changes(before, after)
    ]
    assert summary == [
        ("a", How.GOES, ()),
        ("b", How.CHANGES, ("handler",)),
        ("c", How.COMES, ()),
    ]


def test_other_content_under_another_name_is_another_object() -> None:
    differences = changes.object_changes(made("a", handler="x"), made("b", handler="y"))
    assert [change.how for change in differences] == [How.GOES, How.COMES]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("performance-du", "performance-ran", "profile {0}"),
        ("50-du-x", "50-ran-x", "CPUs of {1}, not of modules"),
        ("du", "ran", "{0}.conf"),
    ],
)
def test_a_name_that_is_said_inside_too(old: str, new: str, says: str) -> None:
    words = {"50-du-x": "du", "50-ran-x": "ran"}
    before = made(old, summary=says.format(old, words.get(old)))
    after = made(new, summary=says.format(new, words.get(new)))
    (change,) = changes.object_changes(before, after)
    assert change == ObjectChange(next(iter(after)), How.RENAMED, was=old)


def test_a_node_is_its_name() -> None:
    differences = changes.object_changes(made("n0", "Node"), made("n1", "Node"))
    assert [change.how for change in differences] == [How.GOES, How.COMES]


def test_fields_of_lists_are_called_by_name() -> None:
    before = {"files": [{"path": "/a", "mode": 1}, {"path": "/b"}], "args": ["x", "y"]}
    after = {"files": [{"path": "/b"}, {"path": "/a", "mode": 2}], "args": ["y", "x"]}
    fields = list(changes.differing(before, after))
    assert fields == ["args", "files[/a].mode", "files"]


def test_equal_objects_do_not_differ() -> None:
    same = made("a", files=[{"path": "/a"}], args=["x"])
    assert changes.object_changes(same, same) == ()
