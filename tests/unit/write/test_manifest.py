"""The manifest is deterministic, and believed only as far as a file from a repository can be."""

import pytest

from cpuplan.diagnostics import CpuplanError
from cpuplan.fleet.previous import of_class
from cpuplan.write.manifest import (
    ancestors,
    check_paths,
    divide,
    lines,
    parents,
    parse_manifest,
    parse_old_manifest,
    parse_written,
    render_manifest,
    render_manifests,
    render_written,
)

HEAD = "# cpuplan manifest 4: files of this folder that cpuplan owns, and their classes\n"
OLD_HEADS = [
    "# cpuplan manifest 2: the files of this folder that cpuplan owns\n",
    "# cpuplan manifest 3: files of this folder that cpuplan owns\n",
]
EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_manifest_is_sorted_and_read_back() -> None:
    text = render_manifest(["b", "a/c"])
    assert text.decode() == f"{HEAD}a/c\nb\n"
    assert text == render_manifest(["a/c", "b"])
    assert tuple(parse_manifest(text, "m")) == ({"a/c", "b"}, True)


def test_each_cluster_has_a_manifest() -> None:
    own = [
        "clusters/lab/manifests/a.yaml",
        "nodes/lab/a.json",
        ".cpuplan/classes/lab/a.json",
        "ansible/lab/a.yaml",
        "flux/lab.yaml",
    ]
    others = [
        ".gitattributes",
        ".cpuplan/.gitignore",
        "ansible/roles/cpuplan/tasks/main.yaml",
        "ansible/rollout-a.yaml",
        "argocd/appproject.yaml",
        "clusters/.lab/a",
        "clusters/a",
    ]
    assert divide([*own, *others, "nodes/edge/b.json"]) == {
        ".cpuplan/manifest": set(others),
        ".cpuplan/manifests/edge": {"nodes/edge/b.json"},
        ".cpuplan/manifests/lab": set(own),
    }
    assert render_manifests([]) == {".cpuplan/manifest": HEAD.encode()}


@pytest.mark.parametrize("old", OLD_HEADS)
def test_a_manifest_of_an_older_form_is_read_and_written_again(old: str) -> None:
    assert tuple(parse_manifest(f"{old}a\n".encode(), "m")) == ({"a"}, False)
    both = parse_manifest(f"{old}a\n{HEAD}a\tx\nb\n".encode(), "m")
    assert tuple(both) == ({"a", "a\tx", "b"}, False)
    assert both.paths == {"a", "b"}
    assert of_class(f"{old}a\n", "x") is None
    assert of_class(f"{old}a\n{HEAD}a\tx\n", "x") is None


def test_a_file_has_a_line_for_each_of_its_classes() -> None:
    """A line of its own, so that Git unites two branches that add or remove a class each."""
    listed = [*lines(["b", "a"], {"a": ("x", "y")})]
    assert listed == ["b", "a\tx", "a\ty"]
    text = render_manifest(listed)
    assert text.decode() == f"{HEAD}a\tx\na\ty\nb\n"
    manifest = parse_manifest(text, "m")
    assert manifest.paths == {"a", "b"}
    assert divide(manifest.lines) == {".cpuplan/manifest": set(listed)}
    assert of_class(text.decode(), "y") == ["a"]
    assert of_class(text.decode(), "z") == []
    assert of_class("", "y") is None


def test_both_sides_of_a_merge_are_read() -> None:
    text = f"{HEAD}a\n<<<<<<< HEAD\nb\n||||||| base\n=======\nc\nb\n>>>>>>> theirs\nd\n".encode()
    assert tuple(parse_manifest(text, "m")) == ({"a", "b", "c", "d"}, False)
    assert tuple(parse_manifest(f"{HEAD}b\na\nb\n".encode(), "m")) == ({"a", "b"}, True)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"<<<<<<< HEAD\n", "its first line is missing"),
        (b"a\nb\n", "its first line is missing"),
        (b"\xff\xfe", "it is not UTF-8"),
        (b"# cpuplan manifest 1\na\n", f"its first line is not `{HEAD[:-1]}`"),
        (f"{HEAD}../x\n".encode(), "'../x' is not a path inside the folder"),
        (f"{HEAD}../x\ta\n".encode(), "'../x' is not a path inside the folder"),
        (f"{HEAD}/etc/x\n".encode(), "'/etc/x' is not a path inside the folder"),
        (
            f"{HEAD}.cpuplan/manifest\n".encode(),
            "'.cpuplan/manifest' is not a path inside the folder",
        ),
        (
            f"{HEAD}.cpuplan/manifests/lab\n".encode(),
            "'.cpuplan/manifests/lab' is not a path inside the folder",
        ),
    ],
)
def test_damaged_manifest_is_refused(text: bytes, problem: str) -> None:
    with pytest.raises(CpuplanError) as caught:
        parse_manifest(text, "out/m")
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "CP604"
    assert diagnostic.message == f"out/m is not a valid manifest: {problem}"


def test_a_manifest_of_before_is_read_once_more() -> None:
    text = (
        f'{{\n "version": 1,\n "files": {{\n<<<<<<< HEAD\n  "a/b": "{EMPTY}",\n=======\n'
        f'  "c": "{EMPTY}"\n }}\n}}\n'
    )
    listed = parse_old_manifest(text.encode())
    assert listed.keys() == {"a/b", "c", ".cpuplan/manifest.json"}
    assert listed["c"] == EMPTY


def test_the_note_of_what_was_written_is_read_back() -> None:
    assert parse_written(render_written({"a b": b"", "c": b"x"}))["a b"] == EMPTY
    assert parse_written(b"\xff\nnothing\n" + render_written({"c": b""})) == {"c": EMPTY}


@pytest.mark.parametrize(
    "paths",
    [
        ["/a"],
        ["a/../b"],
        ["../a"],
        ["a//b"],
        ["a/"],
        ["./a"],
        [""],
        ["a\0b"],
        ["a\\b"],
        [".cpuplan/manifest"],
        [".cpuplan/manifests/lab"],
        [".cpuplan/written"],
        ["a\nb"],
        ["a", "A"],
        ["a/x", "A/y"],
        ["a", "a/b"],
    ],
)
def test_paths_that_no_backend_may_ask_for(paths: list[str]) -> None:
    with pytest.raises(
        ValueError, match=r"not a path|where case is ignored|both a file and a folder"
    ):
        check_paths(paths)


def test_paths_that_are_fine() -> None:
    check_paths(["a/b", "a/c/d", "ab", ".cpuplan/plan.json", "a..b/...", "é"])


def test_folders_above_paths() -> None:
    assert list(ancestors("a/b/c")) == ["a/b", "a"]
    assert list(ancestors("a")) == []
    assert parents(["a/b/c", "a/d", "e"]) == {"a", "a/b"}
