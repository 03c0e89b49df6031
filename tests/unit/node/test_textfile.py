"""The file for node_exporter."""

import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from cpuplan.node import view

#: Killed when the file is whole, and not yet in its place.
_KILLED = """
import os, pathlib, signal, sys
from cpuplan.node import view
pathlib.Path.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
view.write_textfile(pathlib.Path(sys.argv[1]), "a 1\\n")
"""


def test_it_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "cpuplan.prom"
    view.write_textfile(path, "a 1\n")
    before = path.stat().st_ino
    view.write_textfile(path, "a 2\n")
    assert path.read_text() == "a 2\n"
    assert path.stat().st_ino != before
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert [path.name for path in tmp_path.iterdir()] == ["cpuplan.prom"]


def test_what_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "cpuplan.prom"
    view.write_textfile(path, "a 1\n")
    with pytest.raises(UnicodeEncodeError):
        view.write_textfile(path, "\ud800")
    assert path.read_text() == "a 1\n"
    assert [path.name for path in tmp_path.iterdir()] == ["cpuplan.prom"]


def test_a_folder_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        view.write_textfile(tmp_path / "none" / "cpuplan.prom", "a 1\n")


def test_agents_that_are_killed_do_not_fill_the_folder(tmp_path: Path) -> None:
    path = tmp_path / "cpuplan.prom"
    for _ in range(5):
        done = subprocess.run([sys.executable, "-c", _KILLED, str(path)], check=False)
        assert done.returncode == -signal.SIGKILL
    assert len(list(tmp_path.iterdir())) == 1
    view.write_textfile(path, "a 2\n")
    assert [path.name for path in tmp_path.iterdir()] == ["cpuplan.prom"]


def test_what_earlier_releases_left_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "cpu[1]plan.prom"
    others = [".other.prom.abcdefgh.tmp", ".cpu1plan.prom.abcdefgh.tmp", "cpu[1]plan.prom"]
    for name in (".cpu[1]plan.prom.abcdefgh.tmp", ".cpu[1]plan.prom.a_c1efgh.tmp", *others):
        (tmp_path / name).touch()
    view.clear_textfile(path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(others)


def test_no_link_of_others_is_written_to(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    foreign.write_text("theirs\n")
    (tmp_path / ".cpuplan.prom.tmp").symlink_to(foreign)
    view.write_textfile(tmp_path / "cpuplan.prom", "a 1\n")
    assert foreign.read_text() == "theirs\n"
    assert (tmp_path / "cpuplan.prom").read_text() == "a 1\n"
