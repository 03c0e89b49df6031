"""Folders of killed runs are removed by the next one; of others, and of living ones, none is."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from cpuplan.base.files import cache

HOLD = """
import sys, time
from cpuplan.base.files import cache
with cache.temporary_folder() as held:
    print(held.path, flush=True)
    time.sleep(60)
"""


@pytest.fixture(autouse=True)
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def test_a_folder_is_there_for_a_run(top: Path) -> None:
    with cache.temporary_folder() as first, cache.temporary_folder() as second:
        assert first.path != second.path
        assert first.path.parent == top
        assert first.path.stat().st_mode & 0o777 == 0o700
        (first.path / "below").mkdir()
    assert [*top.iterdir()] == []


def test_what_a_killed_run_left_is_removed(top: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLD], stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout
        path = Path(run.stdout.readline().strip())
        (path / "file").write_text("x")
        (path / "link").symlink_to(top)
        with cache.temporary_folder():
            assert path.exists()
        run.send_signal(signal.SIGKILL)
    with cache.temporary_folder() as held:
        assert [*top.iterdir()] == [held.path]


def test_what_a_program_of_a_killed_run_still_has_stays(top: Path) -> None:
    with cache.temporary_folder() as held:
        command = ["sleep", "60"]
        child = subprocess.Popen(command, pass_fds=(held.descriptor,))
        copy = held.path.rename(top / "cpuplan-run-killed_1")
    copy.exists()
    with cache.temporary_folder():
        assert copy.exists()
    child.kill()
    child.wait()
    with cache.temporary_folder():
        assert not copy.exists()


@pytest.mark.parametrize("name", ["cpuplan-mine", "cpuplan-run-", "cpuplan-run-AAAAAAAA"])
def test_folders_of_other_names_stay(top: Path, name: str) -> None:
    (top / name).mkdir(mode=0o700)
    with cache.temporary_folder():
        pass
    assert (top / name).exists()


def test_what_is_not_as_ours_stays(top: Path) -> None:
    (top / "cpuplan-run-readable").mkdir(mode=0o755)
    (top / "mine").mkdir(mode=0o700)
    (top / "cpuplan-run-aaaaaaaa").symlink_to(top / "mine")
    (top / "cpuplan-run-bbbbbbbb").write_text("x")
    os.mkfifo(top / "cpuplan-run-cccccccc")
    (top / "cpuplan-run-dddddddd").mkdir(mode=0o700)
    if os.geteuid() == 0:
        os.chown(top / "cpuplan-run-dddddddd", 12345, -1)
    before = {*top.iterdir()}
    with cache.temporary_folder():
        pass
    gone = before - {*top.iterdir()}
    assert gone == (set() if os.geteuid() == 0 else {top / "cpuplan-run-dddddddd"})


def test_a_folder_that_another_run_removes_at_once_is_made_again(
    top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mkdtemp, made = tempfile.mkdtemp, []

    def make_and_lose_the_first(prefix: str) -> str:
        made.append(mkdtemp(prefix=prefix))
        if len(made) == 1:
            cache.remove_left_over()
        return made[-1]

    monkeypatch.setattr(tempfile, "mkdtemp", make_and_lose_the_first)
    with cache.temporary_folder() as held:
        assert [str(held.path)] == made[1:]
        assert [*top.iterdir()] == [held.path]
