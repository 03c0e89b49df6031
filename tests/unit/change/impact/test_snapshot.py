"""Trees of compiled files: which path has what."""

import pytest

from cpuplan.change.impact import snapshot
from cpuplan.change.impact.snapshot import Snapshot


@pytest.mark.parametrize(
    ("path", "is_object", "is_made"),
    [
        ("clusters/a/manifests/x.yaml", True, False),
        ("clusters/a/hosting/manifests/x.yaml", True, False),
        ("clusters/a/manifests/kustomization.yaml", False, False),
        ("clusters/a/manifests/x.json", False, False),
        ("clusters/a/manifests/more/x.yaml", False, False),
        ("nodes/a/manifests/x.yaml", False, False),
        ("clusters/a/expected/operator/x.yaml", False, True),
        ("clusters/a/expected/operator/x.json", False, False),
        ("nodes/a/expected/operator/x.yaml", False, False),
        ("clusters/a/expected/x.yaml", False, False),
    ],
)
def test_which_files_have_objects(path: str, is_object: bool, is_made: bool) -> None:
    assert (snapshot.is_object(path), snapshot.is_made(path)) == (is_object, is_made)


def test_files_of_nodes_have_the_paths_of_the_node() -> None:
    files = {
        "nodes/site/du/etc/a": b"1",
        "nodes/site/du-2/etc/b": b"2",
        "nodes/other/du/etc/c": b"3",
    }
    assert Snapshot(files).node_files(("site", "du")) == {"/etc/a": b"1"}
    assert Snapshot(files).node_files(("site", "ran")) == {}


def test_a_part_has_what_is_there() -> None:
    assert Snapshot({"a": b"1", "b": b"2"}).part(["b", "c"]).files == {"b": b"2"}


def test_a_damaged_object_counts_where_it_is_another_one_now() -> None:
    path = "clusters/a/manifests/x.yaml"
    for after, damaged in (({}, [path]), ({path: b"{"}, []), ({path: b"a: 1"}, [path])):
        assert list(snapshot.damaged({path: b"{", "clusters/a/x.yaml": b"{"}, after)) == damaged


def test_a_state_that_cannot_be_read_is_none() -> None:
    path = "clusters/site/expected/du.json"
    for data in (b"\xff", b"{}", b""):
        assert Snapshot({path: data}).state(("site", "du")) is None
