"""A folder as a root: links stay inside, and nothing that others can make of it does harm."""

import os
import shutil
from pathlib import Path

import pytest

from cpuplan.base.roots.folder import FolderReader
from cpuplan.check.roots.limits import LIMITS, MAX_FILE
from cpuplan.check.roots.root import Root
from tests.unprivileged import unprivileged


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "secret").write_text("outside")
    folder = tmp_path / "root"
    (folder / "sys/class/net").mkdir(parents=True)
    (folder / "sys/devices/eth0/queues").mkdir(parents=True)
    (folder / "sys/devices/eth0/queues/mask").write_text("f\n")
    (folder / "sys/class/net/eth0").symlink_to("../../devices/eth0")
    return folder


def test_reads_through_linked_folders(tree: Path) -> None:
    root = Root(tree)
    assert root.read("sys/class/net/eth0/queues/mask") == "f\n"
    assert root.read("sys/class/net/eth0/../eth0/queues/mask") == "f\n"
    assert root.names("sys/class/net/eth0/queues") == ["mask"]
    assert root.files("sys/class/net") == ["sys/class/net/eth0"]
    assert root.shown("sys/class/net/eth0/queues/mask") == str(
        tree / "sys/devices/eth0/queues/mask"
    )
    assert root.link("sys/class/net/eth0") == "../../devices/eth0"
    assert root.link("sys/devices") is None
    assert root.link("none") is None
    assert not root.refused


def test_what_a_file_is(tree: Path) -> None:
    script = tree / "script"
    script.touch(0o755)
    os.utime(script, (5, 7))
    root = Root(tree)
    assert root.mode("script") == 0o755
    assert root.mtime("script") == 7
    assert root.is_file("script")
    assert not root.is_file("sys")
    assert root.mode("sys/none") is None
    assert root.mtime("script/none") is None
    assert not root.refused


@pytest.mark.parametrize("target", ["../../secret", "/../secret", "../../../../../../../secret"])
def test_no_link_leads_out(tree: Path, target: str) -> None:
    (tree / "sys/file").symlink_to(target)
    (tree / "sys/folder").symlink_to("../../..")
    root = Root(tree)
    assert root.read("sys/file") is None
    assert root.read("../secret") is None
    assert root.read("sys/folder/secret") is None
    assert root.names("sys/folder") == ["sys"]
    assert not root.refused


def test_links_in_circles(tree: Path) -> None:
    (tree / "a").symlink_to("b/x")
    (tree / "b").symlink_to("a/y")
    (tree / "self").symlink_to(".")
    root = Root(tree)
    assert root.read("a/file") is None
    assert root.names("b") == []
    assert root.read("self/self/self/sys/class/net/eth0/queues/mask") == "f\n"
    assert root.refused == {
        str(tree / "a/file"): "its links are circular",
        str(tree / "b"): "its links are circular",
    }


def test_what_is_no_file(tree: Path) -> None:
    os.mkfifo(tree / "pipe")
    (tree / "link").symlink_to("pipe")
    (tree / "large").touch()
    os.truncate(tree / "large", MAX_FILE + 1)
    root = Root(tree)
    for path in ("pipe", "link", "large", "sys", "no\0name", "x" * 5000, "sys/" * 1500):
        assert root.read(path) is None
    assert root.refused[str(tree / "pipe")] == "it is a pipe, not a file"
    assert root.refused[str(tree / "link")] == "it is a pipe, not a file"
    assert root.refused[str(tree / "large")] == "it has more than 1,048,576 bytes"
    assert len(root.refused) == 7


def test_more_folders_than_a_process_may_open(tree: Path) -> None:
    for number in range(400):
        (tree / f"proc/{number}/task").mkdir(parents=True)
        (tree / f"proc/{number}/task/stat").write_text(str(number))
    before = len(os.listdir("/proc/self/fd"))
    root = Root(tree)
    assert [root.read(f"proc/{n}/task/stat") for n in root.names("proc")] == root.names("proc")
    assert len(os.listdir("/proc/self/fd")) < before + 140
    del root
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_tree_that_changes(tree: Path) -> None:
    """A folder that is replaced by a link after it was entered is still the one inside."""
    root = Root(tree)
    (tree / "etc").mkdir()
    (tree / "etc/secret").write_text("inside")
    assert root.read("etc/secret") == "inside"
    (tree / "etc").rename(tree / "old")
    (tree / "etc").symlink_to("..")
    assert root.read("etc/secret") == "inside"
    assert Root(tree).read("etc/secret") is None
    shutil.rmtree(tree / "old")
    assert root.read("etc/secret") is None
    assert root.names("etc") == []
    assert not root.refused


def test_files_of_another_user(tree: Path) -> None:
    (tree / "sys/devices/eth0/queues/mask").chmod(0)
    (tree / "closed").mkdir(0o700)
    with unprivileged(tree):
        root = Root(tree)
        assert root.read("sys/class/net/eth0/queues/mask") is None
        if os.getuid() == 0:
            assert root.names("closed") == []
            assert root.read("closed/file") is None
    assert set(root.refused.values()) == {"Permission denied"}


def test_a_root_that_is_no_folder(tree: Path) -> None:
    (tree / "file").touch()
    for place in ("file", "none"):
        root = Root(tree / place)
        assert root.names("") == []
        assert root.read("etc/hostname") is None


def test_closing_is_no_end(tree: Path) -> None:
    with FolderReader(tree, LIMITS) as reader:
        reader.entries("sys")
    assert reader.entries("sys") == [("class", True), ("devices", True)]
