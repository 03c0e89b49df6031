"""Folders as trees: links are followed as if the folder were the root, and never out of it."""

import os
from pathlib import Path

import pytest

from cpuplan.base.roots.tree import Budget
from cpuplan.importers import trees
from cpuplan.importers.trees import FolderTree, Refused


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "secret").write_text("outside\n")
    (tmp_path / "root/secret").mkdir(parents=True)
    (tmp_path / "root/sys/a").mkdir(parents=True)
    (tmp_path / "root/sys/a/value").write_text("7\n")
    return tmp_path / "root"


def test_reads_files_and_folders(root: Path) -> None:
    tree = FolderTree(root)
    assert tree.read("sys/a/value") == "7\n"
    assert tree.read_bytes("sys/a/value") == b"7\n"
    assert tree.read("sys/a") is None
    assert tree.read("sys/a/none") is None
    assert tree.read("none/none") is None
    assert tree.names("sys") == ["a"]
    assert tree.names("sys/a/value") == []
    assert tree.names("") == ["secret", "sys"]


@pytest.mark.parametrize("target", ["a", "../sys/a", "/sys/a", "./a/../a"])
def test_follows_links_inside(root: Path, target: str) -> None:
    (root / "sys/link").symlink_to(target)
    tree = FolderTree(root)
    assert tree.read("sys/link/value") == "7\n"
    assert tree.names("sys/link") == ["value"]
    assert tree.link("sys/link") == target
    assert tree.refused.diagnostics() == []


@pytest.mark.parametrize("target", ["../../secret", "../../../../../../etc/passwd", "file"])
def test_links_that_lead_out(root: Path, target: str) -> None:
    (root / "sys/file").symlink_to(target)
    (root / "sys/folder").symlink_to("../..")
    tree = FolderTree(root, "copy")
    assert tree.read("sys/file") is None
    assert tree.read("sys/folder/secret") is None
    assert tree.names("sys/folder") == []
    diagnostics = tree.refused.diagnostics()
    assert {d.code for d in diagnostics} == {"CP122"}
    assert "sys/file" in diagnostics[0].message
    assert "sys/folder" in diagnostics[-1].message or "and 1 more" in diagnostics[-1].message


def test_absolute_links_mean_the_folder(root: Path, tmp_path: Path) -> None:
    (root / "sys/file").symlink_to(tmp_path / "secret")
    (root / "sys/passwd").symlink_to("/etc/passwd")
    tree = FolderTree(root)
    assert tree.read("sys/file") is None
    assert tree.read("sys/passwd") is None


def test_pipes_and_devices_are_not_read(root: Path) -> None:
    os.mkfifo(root / "sys/pipe")
    assert FolderTree(root).read("sys/pipe") is None
    assert FolderTree(Path("/")).read("dev/zero") is None


def test_names_that_are_no_text(root: Path) -> None:
    Path(os.fsdecode(os.fsencode(root) + b"/sys/\xff")).write_text("x")
    assert FolderTree(root).names("sys") == ["a", "\ufffd"]


def test_large_file(root: Path) -> None:
    tree = FolderTree(root, "copy")
    assert tree.read("sys/a/value", 1) is None
    assert [d.code for d in tree.refused.diagnostics()] == ["CP123"]
    assert "sys/a/value" in tree.refused.diagnostics()[0].message


def test_links_to_long_and_deep_paths(root: Path) -> None:
    (root / "sys/long").symlink_to("x/" * 2000)
    (root / "sys/deep").symlink_to("x/" * 500 + "y")
    tree = FolderTree(root)
    assert tree.read("sys/long") is None
    assert tree.read("sys/deep") is None
    assert [
        "a link that is too long: sys/long" in d.message for d in tree.refused.diagnostics()
    ] == [True]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_files_without_permission_are_named(root: Path) -> None:
    (root / "sys/a/value").chmod(0)
    tree = FolderTree(root)
    assert tree.read("sys/a/value") is None
    assert "files without read permission: sys/a/value" in tree.refused.diagnostics()[0].message


def test_refused_paths_are_counted_once() -> None:
    refused = Refused("copy")
    for number in range(20_000):
        refused.add("a device or pipe", f"dev/{number % 15_000:05}" + "x" * 200)
        refused.add("a name", "b" if number % 2 else "a")
    assert [d.message for d in refused.diagnostics()] == [
        f"copy contains a device or pipe: dev/00000{'x' * 111}... and 9,999 more at least",
        "copy contains a name: a and 1 more",
    ]


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        (Budget(questions=3, names=99, bytes=99), "3 files and folders in all"),
        (Budget(questions=99, names=3, bytes=99), "3 names in all"),
        (Budget(questions=99, names=99, bytes=3), "3 bytes in all"),
    ],
)
def test_a_tree_is_read_to_a_limit(
    root: Path, budget: Budget, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trees, "BUDGET", budget)
    tree = FolderTree(root, "copy")
    answers = [(tree.read("sys/a/value"), tree.names("")) for _ in range(4)]
    assert answers[0] == ("7\n", ["secret", "sys"])
    assert answers[-1] == (None, [])
    (problem,) = tree.refused.diagnostics()
    assert problem.code == "CP123"
    assert problem.message == f"copy exceeds the limit of {said}"


def test_folders_of_too_many_names_are_not_listed(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trees, "LIMITS", trees.LIMITS._replace(names=20))
    for number in range(21):
        (root / f"sys/a/{number}").touch()
    tree = FolderTree(root, "copy")
    assert tree.names("sys/a") == []
    assert tree.names("sys") == ["a"]
    assert tree.read("sys/a/value") == "7\n"
    (problem,) = tree.refused.diagnostics()
    assert problem.code == "CP123"
    assert problem.message == "copy: sys/a exceeds the limit of 20 names in a folder"


def test_a_folder_that_changes(root: Path) -> None:
    """A folder that is replaced by a link after it was entered is still the one inside."""
    tree = FolderTree(root)
    assert tree.read("sys/a/value") == "7\n"
    (root / "sys/a").rename(root / "sys/old")
    (root / "sys/a").symlink_to("../..")
    (root / "sys/old/value").write_text("8\n")
    assert tree.read("sys/a/value") == "8\n"
    assert FolderTree(root).read("sys/a/value") is None
