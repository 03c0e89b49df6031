"""Where the files of expected states and of compiled objects are, as a command names them."""

from pathlib import Path

import pytest

from cpuplan.plan.expected.folder import objects_of


def test_a_state_is_named_from_its_own_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "objects").mkdir()
    (tmp_path / "state/a.json").write_text("{}")
    monkeypatch.chdir(tmp_path / "state")
    assert objects_of(Path("a.json"), "lab") == ()


def test_a_state_at_the_top_has_no_objects_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    assert objects_of(Path("a.json"), "lab") is None
