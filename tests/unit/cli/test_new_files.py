"""Documents that people edit are not written over what is there."""

from pathlib import Path

import pytest

from cpuplan.cli.documents import blocked, write_new
from cpuplan.diagnostics import CpuplanError

TEXT = "kind: Intent\n"


def test_what_says_the_same_is_not_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "same.yaml").write_text(TEXT)
    assert blocked({tmp_path / "same.yaml": TEXT, tmp_path / "new.yaml": TEXT}, "") == []


def test_what_is_in_the_way(tmp_path: Path) -> None:
    """A folder and bytes that are no text are no bugs of cpuplan."""
    (tmp_path / "other.yaml").write_text("kind: Hardware\n")
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe")
    (tmp_path / "folder.yaml").mkdir()
    texts = {tmp_path / f"{name}.yaml": TEXT for name in ("other", "bytes", "folder")}
    findings = blocked(texts, "take another name than {name}")
    assert [(finding.code, finding.remedy) for finding in findings] == [
        ("CP621", f"take another name than {name}") for name in ("other", "bytes", "folder")
    ]


def test_all_or_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "b.yaml").write_text("edited\n")
    texts = {tmp_path / "deeper/a.yaml": TEXT, tmp_path / "b.yaml": TEXT}
    assert write_new(texts, "move it", force=False) == 2
    assert not (tmp_path / "deeper").exists()
    assert write_new(texts, "move it", force=True) == 0
    assert [path.read_text() for path in texts] == [TEXT, TEXT]
    assert "wrote" in capsys.readouterr().err


def test_a_folder_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").mkdir()
    with pytest.raises(CpuplanError, match="CP601"):
        write_new({tmp_path / "a.yaml": TEXT}, "", force=True)
