"""The file for node_exporter."""

import stat
from pathlib import Path

import pytest

from cpuplan.agent import textfile


def test_it_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "cpuplan.prom"
    textfile.write(path, "a 1\n")
    before = path.stat().st_ino
    textfile.write(path, "a 2\n")
    assert path.read_text() == "a 2\n"
    assert path.stat().st_ino != before
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert [each.name for each in tmp_path.iterdir()] == ["cpuplan.prom"]


def test_what_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "cpuplan.prom"
    textfile.write(path, "a 1\n")
    with pytest.raises(UnicodeEncodeError):
        textfile.write(path, "\ud800")
    assert path.read_text() == "a 1\n"
    assert [each.name for each in tmp_path.iterdir()] == ["cpuplan.prom"]


def test_a_folder_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        textfile.write(tmp_path / "none" / "cpuplan.prom", "a 1\n")
