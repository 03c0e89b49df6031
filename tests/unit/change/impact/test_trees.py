"""What was compiled before, read from a folder."""

from pathlib import Path

import pytest

from cpuplan.base.emit import to_json
from cpuplan.change.impact import snapshot
from cpuplan.change.impact.snapshot import Tree
from cpuplan.diagnostics import CpuplanError

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
        snapshot.tree_of_folder(folder)
    return [finding.code for finding in raised.value.diagnostics]


def test_foreign_files_and_notes_are_left_out(tmp_path: Path) -> None:
    owned = {CLASS: to_json(PLAN), "nodes/lab/main/cmdline": "a"}
    notes = {".cpuplan/manifest": HEAD + "\n".join(owned), ".cpuplan/written": "x"}
    folder = write(tmp_path, {**owned, **notes, "nodes/lab/main/mine": "b"})
    tree = snapshot.tree_of_folder(folder)
    assert tree.name == tree.source == str(folder)
    assert tree.files.keys() == owned.keys()


def test_without_a_manifest_all_files_count(tmp_path: Path) -> None:
    folder = write(tmp_path, {CLASS: to_json(PLAN), "more": ""})
    assert snapshot.tree_of_folder(folder).files.keys() == {CLASS, "more"}


def test_an_empty_folder_is_nothing_compiled(tmp_path: Path) -> None:
    assert snapshot.tree_of_folder(tmp_path).files == {}


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
        {"version": True},
        {"nodes": "n0"},
        {"nodes": [1]},
        {"pool": ["a"]},
        {"intent": {"a": "b"}},
        {"sets": {"a": {"cpus": "0-4294967295", "because": []}}},
        {"settings": [{"component": ["a"], "key": "a", "value": "b", "because": []}]},
        {"settings": [{"component": "a", "key": {"a": 1}, "value": "b", "because": []}]},
        {"settings": [{"component": "a", "key": "a", "value": "b", "because": [{"text": 1}]}]},
    ],
)
def test_a_damaged_class_is_refused(tmp_path: Path, wrong: dict[str, object]) -> None:
    assert codes(write(tmp_path, {CLASS: to_json({**PLAN, **wrong})})) == ["CP681"]


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "1", "{", "[" * 100_000, '{"version": 2, "nodes": ["\\ud800"]}'),
        *(f'{{"version": {number}}}' for number in ("NaN", "1e999", "9" * 5000, "2.0")),
        "\0",
        "<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> other\n",
        to_json(PLAN).replace('"b"', "[" * 900 + "]" * 900),
    ],
)
def test_what_is_no_class_is_refused(tmp_path: Path, text: str) -> None:
    assert codes(write(tmp_path, {CLASS: text})) == ["CP681"]


def test_a_class_of_a_later_release_is_refused(tmp_path: Path) -> None:
    assert codes(write(tmp_path, {CLASS: to_json({"version": 9})})) == ["CP139"]


OBJECT = b"apiVersion: v1\nkind: A\nmetadata: {name: a}\n"
NO_OBJECTS = (
    b"- a",
    b"kind: x",
    b"a: [",
    b"",
    b"apiVersion: v1\nkind: A\nmetadata: 1\n",
    b"apiVersion: v1\nkind: A\nmetadata: {name: 1}\n",
    b"apiVersion: v1\nkind: A\nmetadata: {name: a, labels: x}\n",
    b"apiVersion: v1\nkind: A\nmetadata: {name: a, labels: {a: {b: c}}}\n",
    b"apiVersion: v1\nkind: A\nmetadata: {name: a, annotations: [a]}\n",
    b"apiVersion: v1\nkind: A\nmetadata: {name: a, namespace: {a: b}}\n",
    b"apiVersion: {a: b}\nkind: A\nmetadata: {name: a}\n",
    b"apiVersion: v1\nkind: [A]\nmetadata: {name: a}\n",
    OBJECT + b"---\n" + OBJECT,
    OBJECT + b"[a, b]: c\n",
    OBJECT + b"spec: &a [*a]\n",
    OBJECT + b"spec: " + b"[" * 200 + b"]" * 200 + b"\n",
    OBJECT + b"spec: " + b"[" * 100_000,
    OBJECT + b"spec: \xff\n",
    OBJECT + b"spec: \0\n",
    OBJECT.replace(b"kind: A", b"kind: MachineConfigPool") + b"spec: x\n",
    OBJECT.replace(b"kind: A", b"kind: DaemonSet") + b"spec: [a]\n",
    OBJECT.replace(b"kind: A", b"kind: MachineConfig") + b"spec: {config: {storage: x}}\n",
    b"<<<<<<< HEAD\n" + OBJECT + b"=======\n" + OBJECT + b">>>>>>> other\n",
)


@pytest.mark.parametrize("folder", ["manifests", "hosting/manifests", "expected/operator"])
@pytest.mark.parametrize("wrong", NO_OBJECTS)
def test_only_objects_that_differ_are_looked_at(folder: str, wrong: bytes) -> None:
    path = f"clusters/lab/{folder}/a.yaml"
    tree = Tree("a", "a", {path: wrong})
    snapshot.check_objects(tree, {path: wrong})
    with pytest.raises(CpuplanError) as raised:
        snapshot.check_objects(tree, {})
    assert [finding.code for finding in raised.value.diagnostics] == ["CP682"]


def test_a_damaged_object_is_reported_at_its_line(tmp_path: Path) -> None:
    path = "clusters/lab/manifests/a.yaml"
    tree = Tree("out", "out", {path: OBJECT + b"spec: 1\n"}, tmp_path)
    snapshot.check_objects(tree, {})
    tree.files[path] = OBJECT.replace(b"{name: a}", b"\n  name: a\n  labels: x")  # type: ignore[index]
    with pytest.raises(CpuplanError) as raised:
        snapshot.check_objects(tree, {})
    (finding,) = raised.value.diagnostics
    assert str(finding.position) == f"{tmp_path}/{path}:5:11"
    assert "metadata.labels is not a mapping or null" in finding.message
