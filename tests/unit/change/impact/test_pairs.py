"""Nodes of two sides, paired by their classes."""

from collections.abc import Mapping

from cpuplan.base.emit import to_json
from cpuplan.change.impact import snapshot
from cpuplan.change.impact.snapshot import Pair, Snapshot
from tests.unit.change.impact.test_trees import PLAN


def side(classes: Mapping[str, list[str]]) -> Snapshot:
    """Classes by `cluster/class`, with their nodes."""
    files = {}
    for name, nodes in classes.items():
        cluster, _, of = name.partition("/")
        data = {**PLAN, "cluster": cluster, "class": of, "nodes": nodes}
        files[f".cpuplan/classes/{name}.json"] = to_json(data).encode()
    return Snapshot(files)


def test_nodes_of_a_class_that_go_to_two_classes_are_two_pairs() -> None:
    before, after = side({"lab/a": ["n0", "n1", "n2"]}), side({"lab/a": ["n0"], "lab/b": ["n1"]})
    a, b = ("lab", "a"), ("lab", "b")
    assert snapshot.pairs(before, after) == (
        Pair(a, a, "lab", ("n0",)),
        Pair(a, None, "lab", ("n2",)),
        Pair(a, b, "lab", ("n1",)),
    )


def test_nodes_that_come_and_go() -> None:
    before, after = side({"lab/a": ["n0"]}), side({"lab/b": ["n1"]})
    assert snapshot.pairs(before, after) == (
        Pair(("lab", "a"), None, "lab", ("n0",)),
        Pair(None, ("lab", "b"), "lab", ("n1",)),
    )


def test_a_node_in_another_cluster_is_moved() -> None:
    before, after = side({"lab/a": ["n0", "n1"]}), side({"lab/a": ["n1"], "edge/a": ["n0"]})
    assert snapshot.moved(before, after) == {("edge", "n0"): ("lab", "n0")}
    assert snapshot.moved(after, before) == {("lab", "n0"): ("edge", "n0")}


def test_a_name_that_several_clusters_have_is_not_moved() -> None:
    before, after = side({"lab/a": ["n0"]}), side({"edge/a": ["n0"], "core/a": ["n0"]})
    assert snapshot.moved(before, after) == {}


def test_equal_sides_have_pairs_of_one_class() -> None:
    same = side({"lab/a": ["n0"], "edge/a": ["n0"]})
    assert all(pair.before == pair.after for pair in snapshot.pairs(same, same))
