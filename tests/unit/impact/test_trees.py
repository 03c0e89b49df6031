"""What was compiled before, read from a folder."""

from pathlib import Path

import pytest

from cpuplan.diagnostics import CpuplanError
from cpuplan.emit import to_json
from cpuplan.impact import trees
from cpuplan.impact.trees import Tree

HEAD = "# cpuplan manifest 2: the files of this folder that cpuplan owns\n"
CLASS = ".cpuplan/classes/lab/main.json"
BECAUSE = [{"text": "x", "origin": "default"}]
PLAN = {
    "version": 2,
    "cluster": "lab",
    "class": "main",
    "intent": "main",
    "hardware": "small",
    "nodes": ["n0"],
    "pools": {"reserved": {"cpus": "0", "because": BECAUSE}},
    "settings": [{"component": "kernel", "key": "a", "value": "b", "because": BECAUSE}],
}


def write(folder: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def codes(folder: Path) -> list[str]:
    with pytest.raises(CpuplanError) as raised:
        trees.of_folder(folder)
    return [each.code for each in raised.value.diagnostics]


def test_foreign_files_and_notes_are_left_out(tmp_path: Path) -> None:
    owned = {CLASS: to_json(PLAN), "nodes/lab/main/cmdline": "a"}
    notes = {".cpuplan/manifest": HEAD + "\n".join(owned), ".cpuplan/written": "x"}
    folder = write(tmp_path, {**owned, **notes, "nodes/lab/main/mine": "b"})
    tree = trees.of_folder(folder)
    assert tree.name == tree.source == str(folder)
    assert tree.files.keys() == owned.keys()


def test_without_a_manifest_all_files_count(tmp_path: Path) -> None:
    folder = write(tmp_path, {CLASS: to_json(PLAN), "more": ""})
    assert trees.of_folder(folder).files.keys() == {CLASS, "more"}


def test_an_empty_folder_is_nothing_compiled(tmp_path: Path) -> None:
    assert trees.of_folder(tmp_path).files == {}


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    assert codes(write(tmp_path, {"README.md": "x"})) == ["CP680"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"pools": {"reserved": {"cpus": "x", "because": []}}},
        {"pools": {"reserved": {"cpus": "0"}}},
        {"pools": []},
        {"settings": [{"key": "a"}]},
        {"settings": None},
        {"nodes": [["n0"]]},
        {"cluster": "edge"},
        {"version": "2"},
        {"version": None},
    ],
)
def test_a_damaged_class_is_refused(tmp_path: Path, wrong: dict[str, object]) -> None:
    assert codes(write(tmp_path, {CLASS: to_json({**PLAN, **wrong})})) == ["CP681"]


@pytest.mark.parametrize("text", ["", "[]", "1", "{", "[" * 100_000])
def test_what_is_no_class_is_refused(tmp_path: Path, text: str) -> None:
    assert codes(write(tmp_path, {CLASS: text})) == ["CP681"]


def test_a_class_of_a_later_release_is_refused(tmp_path: Path) -> None:
    assert codes(write(tmp_path, {CLASS: to_json({"version": 9})})) == ["CP139"]


def test_only_objects_that_differ_are_looked_at() -> None:
    path = "clusters/lab/manifests/a.yaml"
    for wrong in (b"- a", b"kind: x", b"a: [", b"", b"apiVersion: v1\nkind: A\nmetadata: 1\n"):
        tree = Tree("a", "a", {path: wrong})
        trees.check_objects(tree, {path: wrong})
        with pytest.raises(CpuplanError) as raised:
            trees.check_objects(tree, {})
        assert [each.code for each in raised.value.diagnostics] == ["CP682"]
