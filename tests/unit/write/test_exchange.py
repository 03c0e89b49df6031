"""Runs that are killed anywhere, and others who write in the folder at the worst moment.

A forked child counts its audit events (every open, link, rename, mkdir, unlink, listing ...) and
kills itself at the N-th, for every N: the disk is then as a kill between two system calls leaves
it.
"""

import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from cpuplan.diagnostics import CpuplanError
from cpuplan.write import exchange, tree
from cpuplan.write.files import finish, write_file, write_tree
from tests.git_projects import git

OLD = {"gone/a": b"old", "nodes/a": b"old", "nodes/b": b"same", "plan.json": b"{}"}
NEW = {"added/a": b"new", "nodes/a": b"new", "nodes/b": b"same", "plan.json": b"[]"}
#: A flag that renameat2(2) does not know: it fails with EINVAL, as on file systems without the
#: exchange.
UNKNOWN_FLAG = 1 << 10
WATCHED = ("open", "os.", "shutil.", "ctypes.", "fcntl.")


@pytest.fixture(params=["exchange", "renames"])
def atomic(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether the file system can exchange two folders.

    Without it, the run after a kill completes the renames.
    """
    if request.param == "renames":
        monkeypatch.setattr(exchange, "RENAME_EXCHANGE", UNKNOWN_FLAG)
    return bool(request.param == "exchange")


def in_child(
    action: Callable[[], object], watch: Callable[[str, tuple[object, ...]], None]
) -> bool:
    """Run `action` in a forked process that tells `watch` its audit events.

    Whether it came to its end.
    """
    if (child := os.fork()) == 0:
        busy = False

        def hook(event: str, args: tuple[object, ...]) -> None:
            nonlocal busy
            if not busy and event.startswith(WATCHED):
                busy = True
                watch(event, args)
                busy = False

        sys.addaudithook(hook)
        code = 1
        try:
            action()
            code = 0
        except CpuplanError:
            code = 2
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return False
    assert os.waitstatus_to_exitcode(status) == 0
    return True


def kill_at(number: int) -> Callable[[str, tuple[object, ...]], None]:
    events = count(1)

    def watch(event: str, args: tuple[object, ...]) -> None:
        if next(events) == number:
            os.kill(os.getpid(), signal.SIGKILL)

    return watch


def kill_points(prepare: Callable[[], object], action: Callable[[], object]) -> Iterator[int]:
    """Prepare, and run `action` killed at each of its events in turn, until it ends by itself."""
    for number in count(1):
        prepare()
        if in_child(action, kill_at(number)):
            assert number > 10
            return
        yield number


def at_journal(act: Callable[[], object]) -> Callable[[str, tuple[object, ...]], None]:
    """Act once when the new tree is complete and the exchange is next."""
    done = False

    def watch(event: str, args: tuple[object, ...]) -> None:
        nonlocal done
        if not done and event == "open" and str(args[0]).endswith("cpuplan-stage/journal"):
            done = True
            act()

    return watch


def then_kill_at(
    number: int, act: Callable[[], object]
) -> Callable[[str, tuple[object, ...]], None]:
    """Act when the exchange is next, and kill at the N-th event from there on."""
    kill = kill_at(number)
    acted = False

    def acting() -> None:
        nonlocal acted
        act()
        acted = True

    late = at_journal(acting)

    def watch(event: str, args: tuple[object, ...]) -> None:
        late(event, args)
        if acted:
            kill(event, args)

    return watch


def content(root: Path) -> dict[str, object]:
    """All below `root`, with mode.

    Foreign files and folders (named `my...`) also with inode or time.
    """
    contents: dict[str, object] = {}
    for path in root.rglob("*"):
        status = os.lstat(path)
        data: object = ""
        if path.is_symlink():
            data = os.readlink(path)
        elif path.is_file():
            data = path.read_bytes()
        identity = (
            (0 if path.is_dir() else status.st_ino, status.st_mtime_ns)
            if path.name.startswith("my")
            else ()
        )
        contents[path.relative_to(root).as_posix()] = (data, status.st_mode, identity)
    return contents


def add_foreign(out: Path) -> None:
    (out / "nodes/my-notes").write_text("mine")
    (out / "my-folder/my-empty").mkdir(parents=True)
    (out / "my-folder/my-link").symlink_to("../plan.json")
    for path in (out / "my-folder/my-empty", out / "my-folder"):
        os.utime(path, ns=(1, 1))


def renew(out: Path) -> None:
    """The old tree with foreign things in it, as the one thing in its folder."""
    for path in out.parent.iterdir():
        shutil.rmtree(path)
    write_tree(out, OLD)
    add_foreign(out)


def without_identity(tree: dict[str, object]) -> dict[str, object]:
    return {path: entry[:2] for path, entry in tree.items() if isinstance(entry, tuple)}


def test_killed_first_run(tmp_path: Path) -> None:
    def clear() -> None:
        for path in tmp_path.iterdir():
            shutil.rmtree(path)

    out = tmp_path / "out"
    write_tree(out, NEW)
    new = content(out)
    seen = set()
    for number in kill_points(clear, lambda: write_tree(out, NEW)):
        seen.add(out.exists())
        assert not out.exists() or content(out) == new, number
        write_tree(out, NEW)
        assert content(out) == new, number
        assert os.listdir(tmp_path) == ["out"], number
    assert seen == {False, True}


@pytest.mark.slow
def test_killed_run_leaves_old_or_new(tmp_path: Path, atomic: bool) -> None:
    out = tmp_path / "out"
    renew(out)
    write_tree(out, NEW)
    new = without_identity(content(out))
    seen = []
    before: dict[str, object] = {}

    def prepare() -> None:
        renew(out)
        before.clear()
        before.update(content(out))

    for number in kill_points(prepare, lambda: write_tree(out, NEW)):
        if not out.exists():
            assert not atomic, number
            seen.append("none")
        else:
            after = content(out)
            seen.append("old" if after == before else "new")
            assert after == before or without_identity(after) == new, number
        write_tree(out, NEW)
        after = content(out)
        assert without_identity(after) == new, number
        mine = {path: entry for path, entry in before.items() if "my-" in path}
        assert {path: entry for path, entry in after.items() if "my-" in path} == mine, number
        assert os.listdir(tmp_path) == ["out"], number
    # First only the old tree, then only the new one.
    assert seen == sorted(seen, key=["old", "none", "new"].index)
    assert set(seen) == ({"old", "new"} if atomic else {"old", "none", "new"})


@pytest.mark.slow
def test_killed_run_after_a_killed_run(tmp_path: Path, atomic: bool) -> None:
    out = tmp_path / "out"
    renew(out)
    write_tree(out, NEW)
    new = without_identity(content(out))
    last = sum(1 for _ in kill_points(lambda: renew(out), lambda: write_tree(out, NEW)))
    for first in range(1, last + 1, 9):

        def prepare(first: int = first) -> None:
            renew(out)
            assert not in_child(lambda: write_tree(out, NEW), kill_at(first))

        for second in range(1, last, 11):
            prepare()
            in_child(lambda: write_tree(out, NEW), kill_at(second))
            assert out.exists() or not atomic
            write_tree(out, NEW)
            assert without_identity(content(out)) == new, (first, second)
            assert os.listdir(tmp_path) == ["out"], (first, second)


def test_late_changes_of_foreign_files_are_carried_over(tmp_path: Path, atomic: bool) -> None:
    out = tmp_path / "out"
    renew(out)
    (out / "my-old").write_text("before")
    (out / "my-lock").write_text("")
    (out / "my-dir/deep").mkdir(parents=True)
    (out / "my-turn").write_text("a file")

    def act() -> None:
        (out / "my-new").write_text("late")
        (out / "gone/my-new").write_text("late, in a folder that goes")
        (out / "nodes/my-notes").write_text("late, in place")
        (out / "my-temporary").write_text("late, replaced")
        (out / "my-temporary").rename(out / "my-old")
        (out / "my-lock").unlink()
        (out / "my-dir/deep").rmdir()
        (out / "my-dir").rmdir()
        (out / "my-turn").unlink()
        (out / "my-turn/deep").mkdir(parents=True)
        (out / "my-turn/deep/link").symlink_to("x")

    assert in_child(lambda: write_tree(out, NEW), at_journal(act))
    assert {path: entry[0] for path, entry in content(out).items() if isinstance(entry, tuple)} == {
        **NEW,
        ".cpuplan": "",
        ".cpuplan/manifest": (out / ".cpuplan/manifest").read_bytes(),
        ".cpuplan/written": (out / ".cpuplan/written").read_bytes(),
        **dict.fromkeys(
            (
                "added",
                "gone",
                "nodes",
                "my-folder",
                "my-folder/my-empty",
                "my-turn",
                "my-turn/deep",
            ),
            "",
        ),
        "gone/my-new": b"late, in a folder that goes",
        "my-folder/my-link": "../plan.json",
        "my-new": b"late",
        "my-old": b"late, replaced",
        "my-turn/deep/link": "x",
        "nodes/my-notes": b"late, in place",
    }
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.slow
def test_late_changes_survive_a_kill(tmp_path: Path, atomic: bool) -> None:
    out = tmp_path / "out"

    def act() -> None:
        (out / "my-new").write_text("late")
        (out / "my-temporary").write_text("late")
        (out / "my-temporary").rename(out / "nodes/my-notes")

    for number in count(1):
        renew(out)
        done = in_child(lambda: write_tree(out, NEW), then_kill_at(number, act))
        write_tree(out, NEW)
        assert [(out / name).read_text() for name in ("my-new", "nodes/my-notes")] == [
            "late",
            "late",
        ], number
        assert (out / "nodes/a").read_text() == "new"
        assert os.listdir(tmp_path) == ["out"], number
        if done:
            assert number > 10
            break


@pytest.mark.parametrize(
    ("path", "code"),
    [("added/a", "CP602"), ("added", "CP602"), ("plan.json", "CP603"), ("gone/a", "CP603")],
)
def test_late_changes_of_our_files_stop_the_run(
    tmp_path: Path, atomic: bool, path: str, code: str
) -> None:
    out = tmp_path / "out"
    renew(out)
    before = content(out)

    def act() -> None:
        (out / path).parent.mkdir(exist_ok=True)
        (out / path).write_text("late")

    def run() -> None:
        with pytest.raises(CpuplanError) as caught:
            write_tree(out, NEW)
        assert [d.code for d in caught.value.diagnostics] == [code]

    assert in_child(run, at_journal(act))
    assert (out / path).read_text() == "late"
    after = content(out)
    assert {name: after[name] for name in before if name != path} == {
        name: entry for name, entry in before.items() if name != path
    }
    assert os.listdir(tmp_path) == ["out"]


def test_files_that_keep_changing_stop_the_run(tmp_path: Path) -> None:
    out = tmp_path / "out"
    renew(out)
    times = count(10**18)

    def touch(event: str, args: tuple[object, ...]) -> None:
        if event == "open" and str(args[0]).endswith("cpuplan-stage/journal"):
            os.utime(out / "plan.json", ns=(0, next(times)))

    def run() -> None:
        with pytest.raises(
            CpuplanError, match=r"CP607: .*/out cannot be read or written: its files keep changing"
        ):
            write_tree(out, NEW)

    assert in_child(run, touch)
    assert (out / "plan.json").read_bytes() == OLD["plan.json"]
    assert os.listdir(tmp_path) == ["out"]


def test_order_of_the_steps(tmp_path: Path) -> None:
    """The tree is on disk before its journal says so, and the journal goes before the old tree.

    Of a journal without its tree the next run would think that others had deleted files.
    """
    renew(tmp_path / "out")
    record = tmp_path / "record"

    def watch(event: str, args: tuple[object, ...]) -> None:
        name = {"ctypes.dlsym": 1, "open": 0, "os.remove": 0}.get(event)
        if name is not None and str(args[name]).endswith(
            ("syncfs", "renameat2", "/journal", "/plan.json")
        ):
            with record.open("a") as file:
                file.write(f"{event} {os.path.basename(str(args[name]))}\n")

    assert in_child(lambda: write_tree(tmp_path / "out", NEW), watch)
    steps = record.read_text().splitlines()
    assert steps[-5:] == [
        "ctypes.dlsym syncfs",
        "open journal",
        "ctypes.dlsym renameat2",
        "os.remove journal",
        "os.remove plan.json",
    ]


def test_folder_deleted_meanwhile(tmp_path: Path) -> None:
    out = tmp_path / "out"
    renew(out)
    assert in_child(lambda: write_tree(out, NEW), at_journal(lambda: shutil.rmtree(out)))
    assert (out / "plan.json").read_bytes() == NEW["plan.json"]
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.parametrize(
    ("event", "exchanged"),
    [
        ("os.mkdir", False),
        ("os.link", False),
        ("ctypes.dlsym", False),
        ("os.remove", True),
        ("os.rmdir", True),
    ],
)
def test_interrupted_run_cleans_up(
    tmp_path: Path, atomic: bool, event: str, exchanged: bool
) -> None:
    out = tmp_path / "out"
    renew(out)
    before = content(out)
    done = False

    def interrupt(seen: str, args: tuple[object, ...]) -> None:
        nonlocal done
        if seen == event and not done:
            done = True
            raise KeyboardInterrupt

    def run() -> None:
        with pytest.raises(KeyboardInterrupt):
            write_tree(out, NEW)

    assert in_child(run, interrupt)
    assert os.listdir(tmp_path) == ["out"]
    assert (out / "plan.json").read_bytes() == (NEW if exchanged else OLD)["plan.json"]
    assert exchanged or content(out) == before


def of_a_killed_run(out: Path, *, renames: bool) -> tree.Stage:
    """The stage of a run that was killed between the exchange and its settlement.

    By renames: in their middle.
    """
    made = tree.stage_of(out)
    tree.begin(made)
    shutil.copytree(out, made.tree)
    (made.tree / "planted").write_text("from the new tree")
    entries = {"nodes": tree.Entry(tree.FOLDER)}
    tree.write_journal(
        made, tree.Journal(made.tree.stat().st_ino, out.stat().st_ino, entries, frozenset())
    )
    out.rename(made.old)
    if not renames:
        made.tree.rename(out)
        made.old.rename(made.tree)
    return made


@pytest.mark.parametrize("renames", [False, True])
def test_a_stage_of_this_machine_is_settled(tmp_path: Path, renames: bool) -> None:
    out = tmp_path / "out"
    write_tree(out, OLD)
    made = of_a_killed_run(out, renames=renames)
    exchange.recover(out)
    assert (out / "planted").exists() is not renames
    assert (out / "nodes/a").read_bytes() == b"old"
    assert not made.folder.exists()


@pytest.mark.parametrize("renames", [False, True])
@pytest.mark.parametrize("with_out", [False, True])
def test_a_stage_that_came_with_a_repository_is_not_touched(
    tmp_path: Path, renames: bool, with_out: bool
) -> None:
    """What Git brings has no mark, whatever else is in it.

    Git keeps no empty folders and no inodes.
    """
    there = tmp_path / "there"
    write_tree(there / "out", OLD)
    of_a_killed_run(there / "out", renames=renames)
    here = tmp_path / "here"
    shutil.copytree(there, here)
    shutil.rmtree(here / "out", ignore_errors=True)
    if with_out:
        write_tree(here / "other", NEW)
        (here / "other").rename(here / "out")
    before = {path: path.stat().st_mtime_ns for path in here.rglob("*")}
    for folder in ("copied with its mark", "as Git brings it"):
        with pytest.raises(CpuplanError) as error:
            write_tree(here / "out", NEW)
        assert [finding.code for finding in error.value.diagnostics] == ["CP602"], folder
        refused = tree.in_the_way(tree.stage_of(here / "out"))
        assert refused
        assert refused.code == "CP602", folder
        assert {path: path.stat().st_mtime_ns for path in here.rglob("*")} == before, folder
        for mark in here.glob(".out.cpuplan-stage/of-*"):
            mark.rmdir()
        before = {path: path.stat().st_mtime_ns for path in here.rglob("*")}


def test_old_trees_that_somebody_put_into_a_stage_are_not_believed(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_tree(out, OLD)
    made = of_a_killed_run(out, renames=True)
    made.old.rename(tmp_path / "real")
    made.old.mkdir()
    (made.old / "planted").touch()
    with pytest.raises(CpuplanError, match="CP602"):
        write_tree(out, NEW)
    assert not out.exists()
    made.journal.unlink()
    with pytest.raises(CpuplanError, match="CP602"):
        write_tree(out, NEW)


@pytest.mark.parametrize("marked", [False, True])
def test_journals_that_are_none(tmp_path: Path, marked: bool) -> None:
    """What a journal says must not reach outside the folder, nor end the program."""
    out = tmp_path / "out"
    (tmp_path / "precious").write_text("")
    for text in (
        "[" * 100_000,
        "null",
        "[1, 2]",
        '[1, 2, [["a", 1]], [], ""]',
        '[1, 2, [[1, ["a file"]]], [], ""]',
        '[1, 2, [], [[]], ""]',
        '[NEW, OLD, [["../precious", ["a file", 1, 1]]], [], ""]',
        '[NEW, OLD, [], [], "../precious"]',
        '[NEW, OLD, [], [1, null], ""]',
        "[NEW, OLD, [], [], null]",
        '[NEW, OLD, [["a", ["a file", 1, 1, 1]]], [], ""]',
        "\ud800",
    ):
        write_tree(out, OLD, force=True)
        made = tree.stage_of(out)
        (tree.begin if marked else lambda stage: stage.folder.mkdir())(made)
        shutil.copytree(out, made.tree)
        written = text.replace("NEW", str(out.stat().st_ino)).replace(
            "OLD", str(made.tree.stat().st_ino)
        )
        made.journal.write_bytes(written.encode(errors="surrogatepass"))
        if marked:
            write_tree(out, NEW)
            assert (out / "added/a").read_bytes() == b"new"
        else:
            with pytest.raises(CpuplanError, match="CP602"):
                write_tree(out, NEW)
            shutil.rmtree(made.folder)
    assert (tmp_path / "precious").exists()


def test_killed_write_of_a_single_file(tmp_path: Path) -> None:
    path = tmp_path / "plan.lock.yaml"
    seen = set()
    for number in count(1):
        for name in os.listdir(tmp_path):
            (tmp_path / name).unlink()
        write_file(path, "old")
        done = in_child(lambda: write_file(path, "new"), kill_at(number))
        seen.add(path.read_text())
        write_file(path, "next")
        assert path.read_text() == "next"
        assert os.listdir(tmp_path) == ["plan.lock.yaml"], number
        if done:
            break
    assert seen == {"old", "new"}


@pytest.mark.slow
def test_the_tree_and_its_lock_are_of_one_run(tmp_path: Path, atomic: bool) -> None:
    """Killed anywhere, and finished by the next run: both are old, or both are new."""
    out, lock = tmp_path / "out", tmp_path / "intents/plan.lock.yaml"
    seen = set()

    def prepare() -> None:
        shutil.rmtree(tmp_path)
        lock.parent.mkdir(parents=True)
        lock.write_text("old\n")
        write_tree(out, OLD)

    def write() -> None:
        write_tree(out, NEW, beside=exchange.Beside("intents/plan.lock.yaml", b"new\n"))

    for _ in kill_points(prepare, write):
        finish(out)
        state = (out / "plan.json").read_bytes() == NEW["plan.json"], lock.read_text() == "new\n"
        assert state in ((False, False), (True, True))
        assert sorted(os.listdir(tmp_path)) == ["intents", "out"]
        assert os.listdir(lock.parent) == ["plan.lock.yaml"]
        seen.add(state)
    assert len(seen) == 2
    assert lock.read_text() == "new\n"


def test_a_lock_that_cannot_be_written_leaves_the_old_tree(tmp_path: Path, atomic: bool) -> None:
    out = tmp_path / "out"
    renew(out)
    before = content(out)
    (tmp_path / "intents/plan.lock.yaml").mkdir(parents=True)
    with pytest.raises(CpuplanError, match="CP601"):
        write_tree(out, NEW, beside=exchange.Beside("intents/plan.lock.yaml", b"new\n"))
    assert content(out) == before
    assert sorted(os.listdir(tmp_path)) == ["intents", "out"]


def test_a_lock_that_fails_at_the_last_moment_brings_the_old_tree_back(
    tmp_path: Path, atomic: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    renew(out)
    before = content(out)

    def full(*_given: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(exchange, "_place_beside", full)
    with pytest.raises(CpuplanError, match="No space left on device"):
        write_tree(out, NEW, beside=exchange.Beside("intents/plan.lock.yaml", b"new\n"))
    monkeypatch.undo()
    finish(out)
    assert content(out) == before
    assert not (tmp_path / "intents/plan.lock.yaml").exists()


def test_what_a_killed_run_leaves_is_nothing_for_git(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_tree(out, OLD)
    made = tree.stage_of(out)
    tree.begin(made)
    made.tree.mkdir()
    (made.tree / "half").write_text("written")
    git(tmp_path, "init", "-q")
    assert (
        "cpuplan-stage"
        not in git(tmp_path, "status", "--porcelain", "--untracked-files=all").stdout
    )
