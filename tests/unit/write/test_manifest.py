"""The manifest is deterministic, and believed only as far as a file from a repository can be."""

import json

import pytest

from cpuplan.diagnostics import CpuplanError
from cpuplan.write.manifest import ancestors, check_paths, parents, parse_manifest, render_manifest

EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_manifest_is_sorted_and_read_back() -> None:
    text = render_manifest({"b": b"", "a/c": b""})
    assert text.decode() == (
        '{\n "version": 1,\n "files": {\n' + f'  "a/c": "{EMPTY}",\n  "b": "{EMPTY}"\n' + " }\n}\n"
    )
    assert text == render_manifest({"a/c": b"", "b": b""})
    assert parse_manifest(text, "m") == {"a/c": EMPTY, "b": EMPTY}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"<<<<<<< HEAD\n{}", "it is not JSON"),
        (b"\xff\xfe", "it is not JSON"),
        (b"[" * 100_000, "it is not JSON"),
        (b"[]", "it lists no files"),
        (b'{"version": 1, "files": []}', "it lists no files"),
        (b'{"version": 2, "files": {}}', "its version is 2, and this cpuplan reads 1"),
        (b'{"files": {}}', "its version is None, and this cpuplan reads 1"),
        (json.dumps({"version": 1, "files": {"../x": EMPTY}}).encode(), "'../x' is not a path inside the folder"),
        (json.dumps({"version": 1, "files": {"/etc/x": EMPTY}}).encode(), "'/etc/x' is not a path inside the folder"),
        (json.dumps({"version": 1, "files": {"a": EMPTY[:-1]}}).encode(), "'a' has no SHA-256"),
        (json.dumps({"version": 1, "files": {"a": EMPTY.upper()}}).encode(), "'a' has no SHA-256"),
        (json.dumps({"version": 1, "files": {"a": None}}).encode(), "'a' has no SHA-256"),
    ],
)
def test_damaged_manifest_is_refused(text: bytes, problem: str) -> None:
    with pytest.raises(CpuplanError) as caught:
        parse_manifest(text, "out/m.json")
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "CP604"
    assert diagnostic.message == f"out/m.json is not a manifest of cpuplan: {problem}"


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
        [".cpuplan/manifest.json"],
        ["a", "A"],
        ["a/x", "A/y"],
        ["a", "a/b"],
    ],
)
def test_paths_that_no_backend_may_ask_for(paths: list[str]) -> None:
    with pytest.raises(ValueError, match=r"not a path|where case is ignored|both a file and a folder"):
        check_paths(paths)


def test_paths_that_are_fine() -> None:
    check_paths(["a/b", "a/c/d", "ab", ".cpuplan/plan.json", "a..b/...", "é"])


def test_folders_above_paths() -> None:
    assert list(ancestors("a/b/c")) == ["a/b", "a"]
    assert list(ancestors("a")) == []
    assert parents(["a/b/c", "a/d", "e"]) == {"a", "a/b"}
