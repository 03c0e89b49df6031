"""Locks of Git that killed runs left: one's own goes away, another's is named."""

import fcntl
import os
import time
from pathlib import Path

import pytest

from cpuplan.diagnostics import CpuplanError
from cpuplan.git import commits, program, remotes
from cpuplan.git.program import opened
from tests.git_projects import commit, git, write

REF = "refs/heads/deploy"


@pytest.fixture(autouse=True)
def _persons(monkeypatch: pytest.MonkeyPatch) -> None:
    for who in ("AUTHOR", "COMMITTER"):
        for what in ("NAME", "EMAIL"):
            monkeypatch.setenv(f"GIT_{who}_{what}", "test")


@pytest.fixture
def top(tmp_path: Path) -> Path:
    write(tmp_path / "top", "a", "first\n")
    git(tmp_path / "top", "init", "-q")
    commit(tmp_path / "top", "first")
    return tmp_path / "top"


def _head(top: Path) -> str:
    return git(top, "rev-parse", "HEAD").stdout.strip()


def _move(top: Path) -> str:
    """The code of what is told; empty if the branch moved."""
    try:
        with opened(top, writes=True) as repository:
            commits.move_branch(repository, "deploy", _head(top), None, "test")
    except CpuplanError as error:
        return error.diagnostics[0].message
    assert git(top, "rev-parse", "deploy").stdout.strip() == _head(top)
    git(top, "update-ref", "-d", REF)
    return ""


def _note(top: Path, ref: str = REF) -> Path:
    with opened(top) as repository:
        path = Path(remotes._note_of(repository, ref))
    path.write_text(f"{ref} {_head(top)}\n")
    return path


def _lock(top: Path, content: str) -> Path:
    path = top / f".git/{REF}.lock"
    path.write_text(content)
    return path


@pytest.mark.parametrize("part", [0, 20, 41])
def test_a_lock_of_a_killed_run_is_removed(top: Path, part: int) -> None:
    note = _note(top)
    _lock(top, f"{_head(top)}\n"[:part])
    assert _move(top) == ""
    assert not note.exists()


def test_a_lock_of_another_is_named_and_stays(top: Path) -> None:
    lock = _lock(top, "")
    assert f"{lock} is there" in _move(top)
    _note(top, "refs/heads/other")
    assert f"{lock} is there" in _move(top)
    note = _note(top)
    lock.write_text("f" * 40 + "\n")
    assert f"{lock} is there" in _move(top)
    # Another Git made it long before the run that was killed.
    note.write_text(f"{REF} {_head(top)}\n")
    lock.write_text(f"{_head(top)}\n")
    os.utime(lock, (time.time() - 60, time.time() - 60))
    assert f"{lock} is there" in _move(top)
    assert lock.exists()


def test_a_lock_of_a_run_that_lives_stays(top: Path) -> None:
    note = _note(top)
    lock = _lock(top, f"{_head(top)}\n")
    with note.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert f"{lock} is there" in _move(top)
    assert _move(top) == ""


def test_a_git_that_is_killed_alone_leaves_no_lock(
    top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_words: str, **_named: object) -> program.Done:
        _lock(top, _head(top)[:7])
        return program.Done(-9, b"", "")

    with monkeypatch.context() as patched:
        patched.setattr(commits, "run_as_user", killed)
        assert "exit code -9" in _move(top)
    assert _move(top) == ""


def test_a_note_that_is_a_link_is_not_followed(top: Path, tmp_path: Path) -> None:
    note = _note(top)
    note.unlink()
    (tmp_path / "mine").write_text("mine\n")
    note.symlink_to(tmp_path / "mine")
    assert _move(top) == ""
    assert (tmp_path / "mine").read_text() == "mine\n"
