"""Reading what others made: refused are pipes, devices, links out, what may not be read, and too
much.
"""

import errno
import os
import socket
import threading
from pathlib import Path

import pytest

from cpuplan.base import files
from cpuplan.base.files import (
    Listing,
    Outside,
    Special,
    TooLarge,
    Unreadable,
    list_files,
    read_regular,
)
from tests.unprivileged import unprivileged


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret.yaml").write_text("secret: 1\n")
    made = tmp_path / "root"
    (made / "a/b").mkdir(parents=True)
    (made / "a/one.yaml").write_text("one: 1\n")
    (made / "a/b/two.yml").write_text("two: 2\n")
    (made / "a/.hidden.yaml").write_text("hidden\n")
    (made / "a/notes.txt").write_text("text\n")
    return made


def names(root: Path, found: Listing) -> list[str]:
    return [path.relative_to(root).as_posix() for path in found.files]


def said(root: Path, found: Listing) -> dict[str, str]:
    return {
        os.path.relpath(path, root): error.problem.replace(str(root), "ROOT")
        for path, error in found.problems
    }


def test_a_file_is_read_whole(root: Path) -> None:
    large = bytes(range(256)) * 5000
    (root / "large").write_bytes(large)
    assert read_regular(root / "large", within=root) == large
    assert read_regular(root / "large", limit=len(large)) == large
    (root / "empty").touch()
    assert read_regular(root / "empty") == b""


def test_a_file_of_proc_says_that_it_has_no_bytes() -> None:
    assert os.stat("/proc/self/status").st_size == 0
    assert b"VmRSS" in read_regular("/proc/self/status")


@pytest.mark.parametrize("size", [11, 1 << 40])
def test_too_large(root: Path, size: int) -> None:
    os.truncate(root / "a/one.yaml", size)
    with pytest.raises(TooLarge) as error:
        read_regular(root / "a/one.yaml", limit=10)
    assert error.value.problem == "it has more than 10 bytes"


def test_a_file_that_grows_while_it_is_read_is_too_large() -> None:
    with pytest.raises(TooLarge):
        read_regular("/proc/self/status", limit=10)


def test_a_pipe_is_not_waited_for(root: Path) -> None:
    os.mkfifo(root / "a/pipe.yaml")
    with pytest.raises(Special) as error:
        read_regular(root / "a/pipe.yaml")
    assert error.value.problem == "it is a pipe, not a file"


def test_devices_sockets_and_folders_are_no_files(root: Path) -> None:
    with pytest.raises(Special, match="it is a device, not a file"):
        read_regular("/dev/zero")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(root / "s"))
        with pytest.raises(Special, match="it is a socket, not a file"):
            read_regular(root / "s")
    with pytest.raises(Special, match="it is a folder, not a file"):
        read_regular(root)


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("gone", "No such file or directory"),
        ("link", "its links are circular"),
        ("../outside/secret.yaml", "a link from it leads out of ROOT"),
        ("/etc/passwd", "a link from it leads out of ROOT"),
        ("/dev/zero", "it is a device, not a file"),
        ("/proc/self/environ", "a link from it leads out of ROOT"),
    ],
)
def test_links_that_are_refused(root: Path, target: str, problem: str) -> None:
    (root / "link").symlink_to(target)
    with pytest.raises(Unreadable) as error:
        read_regular(root / "link", within=root)
    assert error.value.problem.replace(str(root), "ROOT") == problem


def test_a_link_inside_is_followed_also_when_the_root_is_reached_by_one(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "link").symlink_to("a/../a/one.yaml")
    (root.parent / "door").symlink_to("root")
    monkeypatch.chdir(root)
    for within in (root, root.parent / "door", Path(), Path("a/..")):
        assert read_regular(within / "link", within=within) == b"one: 1\n"
    assert read_regular("/etc/hostname", within="/") == Path("/etc/hostname").read_bytes()


def test_a_folder_that_leads_out_is_refused_when_a_file_in_it_is_read(root: Path) -> None:
    (root / "other").symlink_to("../outside")
    with pytest.raises(Outside):
        read_regular(root / "other/secret.yaml", within=root)
    (root.parent / "root2").mkdir()
    (root.parent / "root2/x.yaml").touch()
    (root / "near").symlink_to("../root2/x.yaml")
    with pytest.raises(Outside):
        read_regular(root / "near", within=root)


def test_a_link_that_changes_between_the_look_and_the_reading_does_not_lead_out(root: Path) -> None:
    (root / "link.yaml").symlink_to("a/one.yaml")
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            for target in ("../outside/secret.yaml", "a/one.yaml"):
                os.symlink(target, root / "new")
                os.replace(root / "new", root / "link.yaml")

    swapping = threading.Thread(target=swap)
    swapping.start()
    seen = set()
    for _ in range(3000):
        try:
            seen.add(read_regular(root / "link.yaml", within=root))
        except Outside:
            seen.add(b"refused")
    stop.set()
    swapping.join()
    assert seen == {b"one: 1\n", b"refused"}


def test_what_may_not_be_read(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir()
    (tmp_path / "closed/x.yaml").touch()
    (tmp_path / "file.yaml").touch(0o000)
    (tmp_path / "closed").chmod(0o000)
    with unprivileged(tmp_path):
        for path in ("file.yaml", "closed/x.yaml"):
            with pytest.raises(Unreadable) as error:
                read_regular(tmp_path / path, within=tmp_path)
            assert (error.value.problem, error.value.errno) == ("Permission denied", errno.EACCES)
        found = list_files(tmp_path, tmp_path / "closed/deeper", within=tmp_path)
    (tmp_path / "closed").chmod(0o755)
    assert said(tmp_path, found) == {
        "closed": "Permission denied",
        "closed/deeper": "Permission denied",
    }
    assert names(tmp_path, found) == ["file.yaml"]


def test_files_are_listed_by_path(root: Path) -> None:
    found = list_files(root / "a", root / "gone", within=root)
    assert names(root, found) == ["a/b/two.yml", "a/one.yaml"]
    assert found.problems == []


def test_links_in_a_folder(root: Path) -> None:
    (root / "real").mkdir()
    (root / "real/three.yaml").touch()
    for name, target in (
        ("0-again.yaml", "one.yaml"),  # is read once
        ("0-loop", "."),
        ("linked", "../real"),
        ("linked2", "../real"),
        ("out", "../../outside"),
        ("out.yaml", "../../outside/secret.yaml"),
        ("gone.yaml", "nowhere"),
        ("gone", "nowhere"),
        ("circle", "circle"),
        ("text.txt", "/etc/hostname"),
        ("zero.yaml", "/dev/zero"),
        (".#one.yaml", "somebody@here.123"),  # an editor's mark
    ):
        (root / "a" / name).symlink_to(target)
    found = list_files(root / "a", within=root)
    assert names(root, found) == ["a/b/two.yml", "a/linked/three.yaml", "a/one.yaml"]
    out = "a link from it leads out of ROOT"
    assert said(root, found) == {
        "a/circle": "its links are circular",
        "a/gone": "it is a broken link",
        "a/gone.yaml": "it is a broken link",
        "a/out": out,
        "a/out.yaml": out,
        "a/zero.yaml": out,
    }


def test_hard_links_are_files_of_their_own(root: Path) -> None:
    os.link(root / "a/one.yaml", root / "a/same.yaml")
    assert names(root, list_files(root / "a", within=root)) == [
        "a/b/two.yml",
        "a/one.yaml",
        "a/same.yaml",
    ]


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("../outside", "a link from it leads out of ROOT"),
        ("/etc", "a link from it leads out of ROOT"),
        ("gone", "it is a broken link"),
        ("top", "its links are circular"),
        ("a/one.yaml", "it is not a folder"),
    ],
)
def test_the_folder_itself_may_be_a_link(root: Path, target: str, problem: str) -> None:
    (root / "top").symlink_to(target)
    assert said(root, list_files(root / "top", within=root)) == {"top": problem}


def test_links_are_not_followed_through_each_other_for_ever(root: Path) -> None:
    for level in range(60):
        (root / f"a/d{level}").mkdir()
        (root / f"a/d{level}/x").symlink_to(f"../d{level + 1}")
        (root / f"a/d{level}/y").symlink_to(f"../d{level + 1}")
    (root / "a/d60").mkdir()
    assert not list_files(root / "a", within=root).problems


def test_special_files_and_names(root: Path) -> None:
    os.mkfifo(root / "a/pipe.yaml")
    os.mkfifo(root / "a/pipe")
    (root / "a" / os.fsdecode(b"caf\xe9.yaml")).touch()
    assert said(root, list_files(root / "a", within=root)) == {
        "a/pipe.yaml": "it is a pipe, not a file",
        "a/caf\\xe9.yaml": "its name is not UTF-8",
    }


def test_too_many_files(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert said(root, list_files(root, within=root, limit=1)) == {".": "it has more than 1 files"}
    assert not list_files(root, within=root, limit=2).problems
    monkeypatch.setattr(files, "MAX_NAMES", 3)
    assert said(root, list_files(root, within=root)) == {".": "it has more than 3 names"}


@pytest.mark.parametrize("name", ["a\0b", "x" * 300, "d/" * 5000])
def test_names_that_no_file_can_have(root: Path, name: str) -> None:
    with pytest.raises(Unreadable):
        read_regular(root / name)
    assert list_files(root / name, within=root).problems
