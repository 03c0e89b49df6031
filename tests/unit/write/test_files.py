"""What is written, kept, refused and reported.

The instant of the exchange is in test_exchange.py.
"""

import fcntl
import os
import resource
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cpuplan.diagnostics import CpuplanError
from cpuplan.language.read.files import LOCK_PATH, Inputs
from cpuplan.write.files import (
    Changes,
    Locked,
    compare_tree,
    write_compiled,
    write_file,
    write_tree,
)

FILES = {
    "nodes/a/kubelet.conf": b"reserved: 0-1\n",
    "nodes/b/kubelet.conf": b"reserved: 0\n",
    "plan.json": b"{}\n",
}
NOBODY = 65534


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A written output folder."""
    write_tree(tmp_path / "out", FILES)
    return tmp_path / "out"


@pytest.fixture
def open_path() -> Iterator[Path]:
    """A folder that users other than root can write, for tests that give up root's powers."""
    with tempfile.TemporaryDirectory() as folder:
        if os.geteuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
        yield Path(folder)


def content(root: Path) -> dict[str, object]:
    """All below `root`: bytes of files, targets of links, else None; without the manifest."""
    contents: dict[str, object] = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if name.startswith(".cpuplan"):
            continue
        contents[name] = None
        if path.is_symlink():
            contents[name] = os.readlink(path)
        elif path.is_file():
            contents[name] = path.read_bytes()
    return contents


def state(root: Path) -> list[tuple[str, int, int, int]]:
    """Path, inode, mode and time of `root` and all below it: whether anything was written."""
    status = {str(path): os.lstat(path) for path in (root, *root.rglob("*"))}
    return sorted((path, s.st_ino, s.st_mode, s.st_mtime_ns) for path, s in status.items())


def codes(action: Callable[[], object]) -> list[tuple[str, str]]:
    """Code and message of each diagnostic that `action` raises."""
    with pytest.raises(CpuplanError) as caught:
        action()
    return [(diagnostic.code, diagnostic.message) for diagnostic in caught.value.diagnostics]


def in_child(action: Callable[[], object]) -> str:
    """What `action` raises, told by a forked process, whose user and limits may be changed."""
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        try:
            action()
            text = "done"
        except CpuplanError as error:
            text = str(error)
        except BaseException as error:
            text = repr(error)
        os.write(writer, text.encode())
        os._exit(0)
    os.close(writer)
    with open(reader) as told:
        text = told.read()
    os.waitpid(child, 0)
    return text


def become_user() -> None:
    if os.geteuid() == 0:
        os.setegid(NOBODY)
        os.seteuid(NOBODY)


def test_first_run_writes_everything(tmp_path: Path) -> None:
    out = tmp_path / "new" / "out"
    assert write_tree(out, FILES) == Changes(added=tuple(sorted(FILES)))
    assert {name: data for name, data in content(out).items() if data is not None} == FILES
    assert os.listdir(out.parent) == ["out"]


def test_only_differences_are_written(out: Path) -> None:
    kept = (out / "plan.json").stat()
    (out / "nodes/a/kubelet.conf").chmod(0o640)
    files = {
        "nodes/a/kubelet.conf": b"new\n",
        "nodes/c/kubelet.conf": b"",
        "plan.json": FILES["plan.json"],
    }
    assert write_tree(out, files) == Changes(
        added=("nodes/c/kubelet.conf",),
        changed=("nodes/a/kubelet.conf",),
        removed=("nodes/b/kubelet.conf",),
        unchanged=1,
    )
    assert {name: data for name, data in content(out).items() if data is not None} == files
    assert not (out / "nodes/b").exists()
    after = (out / "plan.json").stat()
    assert (after.st_ino, after.st_mtime_ns) == (kept.st_ino, kept.st_mtime_ns)
    assert stat.S_IMODE((out / "nodes/a/kubelet.conf").stat().st_mode) == 0o640


def test_nothing_is_written_without_a_difference(out: Path) -> None:
    before = state(out.parent)
    assert write_tree(out, FILES) == Changes(unchanged=3)
    assert state(out.parent) == before


def test_same_files_give_the_same_manifest(tmp_path: Path) -> None:
    write_tree(tmp_path / "one", FILES)
    write_tree(tmp_path / "two", {"other": b""})
    write_tree(tmp_path / "two", dict(reversed(FILES.items())))
    manifests = [(tmp_path / name / ".cpuplan/manifest").read_bytes() for name in ("one", "two")]
    assert manifests[0] == manifests[1]


def test_all_files_can_go(out: Path) -> None:
    assert write_tree(out, {}).removed == tuple(sorted(FILES))
    assert content(out) == {}
    assert write_tree(out, {}) == Changes()


def test_no_files_at_all_make_no_folder(tmp_path: Path) -> None:
    assert write_tree(tmp_path / "out", {}) == Changes()
    assert os.listdir(tmp_path) == []


def test_files_and_folders_change_roles(out: Path) -> None:
    assert write_tree(out, {"nodes": b"now a file", "plan.json/x": b"now in a folder"}).added == (
        "nodes",
        "plan.json/x",
    )
    assert content(out) == {
        "nodes": b"now a file",
        "plan.json": None,
        "plan.json/x": b"now in a folder",
    }


def test_foreign_things_stay_untouched(out: Path) -> None:
    (out / "README").write_text("mine")
    (out / "README").chmod(0o400)
    (out / "nodes/b/notes").write_text("beside a file that goes")
    (out / "mine/empty").mkdir(parents=True)
    (out / "mine/private").mkdir(mode=0o700)
    (out / "mine/link").symlink_to("/nowhere")
    (out / "mine/up").symlink_to("..")
    os.mkfifo(out / "mine/pipe")
    for number, name in enumerate(
        ("README", "nodes/b/notes", "mine/empty", "mine/private", "mine/pipe", "mine")
    ):
        os.utime(out / name, ns=(0, 10**18 + number))
    names = ("README", "nodes/b/notes", "mine/link", "mine/up", "mine/pipe")
    folders = ("mine", "mine/empty", "mine/private")
    before = [os.lstat(out / name) for name in names + folders]

    write_tree(out, {"plan.json": b"changed"})

    after = [os.lstat(out / name) for name in names + folders]
    assert [s.st_ino for s in after[: len(names)]] == [s.st_ino for s in before[: len(names)]]
    assert [(s.st_mode, s.st_uid, s.st_mtime_ns) for s in after] == [
        (s.st_mode, s.st_uid, s.st_mtime_ns) for s in before
    ]
    assert set(content(out)) == {*names, *folders, "nodes", "nodes/b", "plan.json"}
    assert write_tree(out, {}).removed == ("plan.json",)
    assert set(content(out)) == {*names, *folders, "nodes", "nodes/b"}


def test_mode_of_the_folder_is_kept(out: Path) -> None:
    out.chmod(0o2750)
    (out / "nodes").chmod(0o711)
    write_tree(out, FILES | {"new": b""})
    assert [stat.S_IMODE(path.stat().st_mode) for path in (out, out / "nodes")] == [0o2750, 0o711]


def test_time_of_a_folder_tells_whether_its_names_changed(out: Path) -> None:
    for name in ("nodes/a", "nodes/b"):
        os.utime(out / name, ns=(1, 1))
    write_tree(
        out,
        {path: data for path, data in FILES.items() if path != "nodes/a/kubelet.conf"}
        | {"nodes/a/x": b""},
    )
    assert (out / "nodes/a").stat().st_mtime_ns != 1
    assert (out / "nodes/b").stat().st_mtime_ns == 1


def test_read_only_folders_are_no_obstacle(open_path: Path) -> None:
    def act() -> None:
        become_user()
        out = open_path / "out"
        write_tree(out, FILES)
        (out / "mine").mkdir()
        (out / "mine/file").write_text("mine")
        (out / "mine").chmod(0o555)
        write_tree(out, {"plan.json": b"changed"})
        assert content(out) == {"mine": None, "mine/file": b"mine", "plan.json": b"changed"}
        assert stat.S_IMODE((out / "mine").stat().st_mode) == 0o555
        assert os.listdir(open_path) == ["out"]

    assert in_child(act) == "done"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another owner's files")
def test_files_of_another_owner_are_kept_or_refused(open_path: Path) -> None:
    out = open_path / "out"
    (out / "theirs").mkdir(parents=True)
    os.chown(out, NOBODY, NOBODY)
    (out / "file").write_text("root's")
    os.utime(out / "file", ns=(5, 5))

    def act() -> None:
        become_user()
        write_tree(out, FILES)

    (out / "theirs/file").write_text("x")
    assert in_child(act) == f"CP607: {out}/theirs cannot be read or written: Permission denied"
    os.chown(out / "theirs", NOBODY, NOBODY)
    assert in_child(act) == "done"
    assert (out / "file").read_text() == "root's"
    assert (out / "file").stat().st_mtime_ns == 5
    assert os.listdir(open_path) == ["out"]


@pytest.mark.parametrize("force", [False, True])
def test_foreign_file_is_never_overwritten(out: Path, force: bool) -> None:
    (out / "new").write_text("mine")
    (out / "link").symlink_to("plan.json")
    (out / "folder/below").mkdir(parents=True)
    (out / "flat").write_text("mine")
    (out / "nodes/a/notes").write_text("mine")
    before = state(out.parent)
    files = {"new": b"ours", "link": b"{}\n", "folder": b"", "flat/x": b"", "nodes": b""}
    assert codes(lambda: write_tree(out, files, force=force)) == [
        ("CP602", f"{out}/flat is a file that cpuplan did not write, but a folder belongs there"),
        ("CP602", f"{out}/folder is a folder that cpuplan did not write, but a file belongs there"),
        (
            "CP602",
            f"{out}/link is a symbolic link that cpuplan did not write, but a file belongs there",
        ),
        ("CP602", f"{out}/new is a file that cpuplan did not write, but a file belongs there"),
        ("CP602", f"{out}/nodes is a folder that cpuplan did not write, but a file belongs there"),
    ]
    assert state(out.parent) == before


def test_foreign_file_with_the_same_content_is_adopted(out: Path) -> None:
    (out / "new").write_text("same")
    inode = (out / "new").stat().st_ino
    assert write_tree(out, FILES | {"new": b"same"}) == Changes(unchanged=4)
    assert (out / "new").stat().st_ino == inode
    assert write_tree(out, FILES).removed == ("new",)


@pytest.mark.parametrize("force", [False, True])
def test_linked_parent_is_refused(out: Path, tmp_path: Path, force: bool) -> None:
    elsewhere = tmp_path / "elsewhere"
    (out / "nodes").rename(elsewhere)
    (out / "nodes").symlink_to(elsewhere)
    assert codes(lambda: write_tree(out, FILES, force=force)) == [
        (
            "CP602",
            (
                f"{out}/nodes is a symbolic link that cpuplan did not write, "
                "but a folder belongs there"
            ),
        )
    ]
    assert write_tree(out, {"plan.json": FILES["plan.json"]}) == Changes(unchanged=1)
    assert content(elsewhere) == {"a": None, "a/kubelet.conf": b"reserved: 0-1\n", "b": None} | {
        "b/kubelet.conf": b"reserved: 0\n"
    }


def test_file_edited_by_hand_is_an_error_unless_forced(out: Path) -> None:
    (out / "plan.json").write_text("edited")
    (out / "nodes/a/kubelet.conf").write_text("edited, and would go")
    (out / "nodes/b/kubelet.conf").unlink()
    (out / "nodes/b/kubelet.conf").symlink_to("/etc/passwd")
    before = state(out.parent)
    files = {"plan.json": b"[]", "nodes/b/kubelet.conf": b""}
    assert codes(lambda: write_tree(out, files)) == [
        ("CP603", f"{out}/nodes/a/kubelet.conf was edited after cpuplan wrote it"),
        ("CP603", f"{out}/nodes/b/kubelet.conf was edited after cpuplan wrote it"),
        ("CP603", f"{out}/plan.json was edited after cpuplan wrote it"),
    ]
    assert state(out.parent) == before
    assert write_tree(out, files, force=True) == Changes(
        changed=("nodes/b/kubelet.conf", "plan.json"), removed=("nodes/a/kubelet.conf",)
    )
    assert content(out) == {"nodes": None, "nodes/b": None} | files
    assert stat.S_IMODE((out / "nodes/b/kubelet.conf").lstat().st_mode) & 0o111 == 0


def test_edit_that_says_what_would_be_written_is_fine(out: Path) -> None:
    (out / "plan.json").write_text("[]")
    assert write_tree(out, FILES | {"plan.json": b"[]"}) == Changes(unchanged=3)
    assert compare_tree(out, FILES | {"plan.json": b"[]"}) == (Changes(unchanged=3), [])


def test_missing_file_is_written_again(out: Path) -> None:
    (out / "plan.json").unlink()
    assert write_tree(out, FILES) == Changes(added=("plan.json",), unchanged=2)
    (out / "nodes/a/kubelet.conf").unlink()
    assert write_tree(out, {"plan.json": b"{}\n"}) == Changes(
        removed=("nodes/b/kubelet.conf",), unchanged=1
    )
    assert content(out) == {"plan.json": b"{}\n"}


@pytest.mark.parametrize("force", [False, True])
def test_damaged_manifest_changes_nothing(out: Path, force: bool) -> None:
    manifest = out / ".cpuplan/manifest"
    rows = {"<<<<<<< ours": "its first line is missing", "": "it is empty"}
    for text, problem in rows.items():
        manifest.write_text(text)
        before = state(out.parent)
        expected = [("CP604", f"{manifest} is not a valid manifest: {problem}")]
        assert codes(lambda: write_tree(out, {}, force=force)) == expected
        assert codes(lambda: compare_tree(out, {})) == expected
        assert state(out.parent) == before
    manifest.unlink()
    manifest.symlink_to(out / "plan.json")
    assert codes(lambda: write_tree(out, {}, force=force))[0][1].endswith("it is a symbolic link")


def test_places_that_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder/below").mkdir(parents=True)
    (tmp_path / "link").symlink_to("folder")
    (tmp_path / "alias").symlink_to(".")
    monkeypatch.chdir(tmp_path / "folder/below")
    current = "is the current folder, or one above it, but cpuplan writes a folder of its own there"
    rows = [
        (tmp_path / "file", "CP601", "is a file, but cpuplan writes a folder there"),
        (tmp_path / "link", "CP601", "is a symbolic link, but cpuplan writes a folder there"),
        (
            tmp_path / "folder",
            "CP601",
            current,
        ),
        (tmp_path / "alias/folder", "CP601", current),
        (Path(), "CP601", current),
        (Path("/proc"), "CP605", "is a mount point, or a layer of a container image contains it"),
        (Path("/"), "CP605", "is a mount point, or a layer of a container image contains it"),
    ]
    before = state(tmp_path)
    for path, code, text in rows:
        assert codes(lambda path=path: write_tree(path, FILES)) == [(code, f"{path} {text}")]  # type: ignore[misc]
        assert codes(lambda path=path: compare_tree(path, FILES)) == [(code, f"{path} {text}")]  # type: ignore[misc]
    assert state(tmp_path) == before


def test_stage_that_is_not_ours_is_left_alone(out: Path) -> None:
    stage = out.with_name(".out.cpuplan-stage")
    precious = out.with_name("precious")
    precious.mkdir()
    (precious / "file").write_text("")
    stage.symlink_to(precious)
    assert codes(lambda: write_tree(out, {})) == [
        ("CP601", f"{stage} is a symbolic link, but cpuplan writes a folder there")
    ]
    assert content(precious) == {"file": b""}


def test_another_writer_locks(out: Path) -> None:
    other = os.open(out.parent, os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_EX)
    with pytest.raises(Locked) as caught:
        write_tree(out, {})
    assert [d.message for d in caught.value.diagnostics] == [f"another cpuplan is writing in {out}"]
    assert caught.value.diagnostics[0].code == "CP606"
    assert compare_tree(out, FILES) == (Changes(unchanged=3), [])
    os.close(other)
    assert write_tree(out, FILES) == Changes(unchanged=3)


def test_permission_denied_leaves_the_old_tree(open_path: Path) -> None:
    def act() -> None:
        become_user()
        out = open_path / "out"
        write_tree(out, FILES)
        before = state(out)
        open_path.chmod(0o555)
        stage = open_path / ".out.cpuplan-stage"
        assert codes(lambda: write_tree(out, {})) == [
            ("CP607", f"{stage} cannot be read or written: Permission denied")
        ]
        open_path.chmod(0o755)
        (out / "plan.json").chmod(0)
        assert codes(lambda: write_tree(out, {})) == [
            ("CP607", f"{out}/plan.json cannot be read or written: Permission denied")
        ]
        (out / "plan.json").chmod(0o644)
        out.chmod(0o555)
        assert codes(lambda: write_tree(out, {})) == [
            ("CP607", f"{out} cannot be read or written: Permission denied")
        ]
        out.chmod(0o755)
        assert state(out) == before
        assert os.listdir(open_path) == ["out"]

    assert in_child(act) == "done"


def test_full_disk_leaves_the_old_tree(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit on the size of files stands in for the disk's.

    write(2) fails in the same place, with EFBIG.
    """
    monkeypatch.chdir(out.parent)
    before = state(out)

    def act() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        write_tree(Path("out"), FILES | {"nodes/large": b"x" * 5000})

    assert in_child(act) == "CP607: out/nodes/large cannot be read or written: File too large"
    assert state(out) == before
    assert os.listdir(out.parent) == ["out"]


def test_impossible_name_leaves_the_old_tree(out: Path) -> None:
    before = state(out)
    ((code, message),) = codes(lambda: write_tree(out, FILES | {"x" * 300: b""}))
    assert (code, message.rpartition(": ")[2]) == ("CP607", "File name too long")
    assert state(out) == before
    assert os.listdir(out.parent) == ["out"]


def test_compare_names_everything_and_writes_nothing(out: Path) -> None:
    (out / "plan.json").write_text("edited")
    (out / "foreign").write_text("")
    before = state(out.parent)
    changes, diagnostics = compare_tree(
        out, {"nodes/a/kubelet.conf": b"new", "nodes/c": b"", "plan.json": b"[]", "foreign": b"x"}
    )
    assert changes == Changes(
        added=("nodes/c",),
        changed=("foreign", "nodes/a/kubelet.conf", "plan.json"),
        removed=("nodes/b/kubelet.conf",),
    )
    assert [(d.code, d.message) for d in diagnostics] == [
        ("CP602", f"{out}/foreign is a file that cpuplan did not write, but a file belongs there"),
        ("CP609", f"{out}/nodes/a/kubelet.conf does not match the inventories and intents"),
        ("CP610", f"{out}/nodes/b/kubelet.conf is no longer needed"),
        ("CP608", f"{out}/nodes/c is missing"),
        ("CP603", f"{out}/plan.json was edited after cpuplan wrote it"),
    ]
    assert state(out.parent) == before


def test_compare_before_the_first_run(tmp_path: Path) -> None:
    changes, diagnostics = compare_tree(tmp_path / "out", FILES)
    assert changes == Changes(added=tuple(sorted(FILES)))
    assert {d.code for d in diagnostics} == {"CP608"}
    assert os.listdir(tmp_path) == []


def test_compare_names_the_manifest_when_only_that_differs(out: Path) -> None:
    manifest = out / ".cpuplan/manifest"
    manifest.write_text(manifest.read_text() + "gone\n")
    assert [(d.code, d.message.split()[0]) for d in compare_tree(out, FILES)[1]] == [
        ("CP609", str(manifest))
    ]
    manifest.unlink()
    assert [(d.code, d.message.split()[0]) for d in compare_tree(out, FILES)[1]] == [
        ("CP608", str(manifest))
    ]
    assert write_tree(out, FILES) == Changes(unchanged=3)
    assert compare_tree(out, FILES) == (Changes(unchanged=3), [])


def test_single_file(tmp_path: Path) -> None:
    path = tmp_path / "folder/plan.lock.yaml"
    write_file(path, "é\n")
    assert path.read_bytes() == b"\xc3\xa9\n"
    path.chmod(0o604)
    write_file(path, "two\n")
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("two\n", 0o604)
    before = state(tmp_path)
    write_file(path, "two\n")
    assert state(tmp_path) == before
    assert os.listdir(path.parent) == ["plan.lock.yaml"]


def test_single_file_replaces_what_a_killed_run_left(tmp_path: Path) -> None:
    (tmp_path / ".plan.lock.yaml.cpuplan-stage").write_text("half of")
    write_file(tmp_path / "plan.lock.yaml", "whole")
    assert content(tmp_path) == {"plan.lock.yaml": b"whole"}


def test_single_file_refuses_links_and_folders(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("target")
    for path, kind in ((tmp_path / "link", "a symbolic link"), (tmp_path, "a folder")):
        assert codes(lambda path=path: write_file(path, "")) == [  # type: ignore[misc]
            ("CP601", f"{path} is {kind}, but cpuplan writes a file there")
        ]
    assert os.listdir(tmp_path) == ["link"]


def test_single_file_on_a_full_disk(tmp_path: Path) -> None:
    path = tmp_path / "plan.lock.yaml"
    write_file(path, "old")

    def act() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        write_file(path, "x" * 5000)

    stage = tmp_path / ".plan.lock.yaml.cpuplan-stage"
    assert in_child(act) == f"CP607: {stage} cannot be read or written: File too large"
    assert content(tmp_path) == {"plan.lock.yaml": b"old"}


@pytest.mark.parametrize(
    ("kind", "code"),
    [("pipe", "CP111"), ("outside", "CP110"), ("other", "CP611"), ("none", "CP611")],
)
def test_a_lock_that_was_replaced_meanwhile(tmp_path: Path, kind: str, code: str) -> None:
    """It is looked at as it was read: without waiting, and inside the project."""
    path = tmp_path / "project" / LOCK_PATH
    path.parent.mkdir(parents=True)
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "outside":
            (tmp_path / "lock").write_bytes(b"lock")
            path.symlink_to("../../lock")
        case "other":
            path.write_bytes(b"other")
    read = Inputs(tmp_path / "project", {}, b"lock")
    with pytest.raises(CpuplanError, match=code):
        write_compiled(tmp_path / "project/out", FILES, {}, b"", read, "lock", force=False)
    assert not (tmp_path / "project/out").exists()
