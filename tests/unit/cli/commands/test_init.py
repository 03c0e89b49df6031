"""`init` in a folder where something is already.

Lines are added to files for Git, and nothing is read that is none.
"""

import os
from pathlib import Path

import pytest

from tests.projects import run_in


def test_lines_are_added_to_files_for_git(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".gitignore").write_text("*.pyc")
    assert run_in(tmp_path, ["init"], capfd)[0] == 0
    lines = (tmp_path / ".gitignore").read_text().splitlines()
    assert lines[0] == "*.pyc"
    assert len(lines) > 1
    assert run_in(tmp_path, ["init"], capfd)[0] == 0
    assert (tmp_path / ".gitignore").read_text().splitlines() == lines


@pytest.mark.parametrize("name", [".gitignore", ".gitattributes"])
@pytest.mark.parametrize(
    "kind", ["pipe", "device", "huge", "outside", "nowhere", "bytes", "folder"]
)
def test_what_is_no_file_for_git(
    tmp_path: Path, name: str, kind: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """Nothing is waited for, copied from elsewhere into the project, or written."""
    project = tmp_path / "project"
    project.mkdir()
    path = project / name
    (tmp_path / "secret").write_text("secret\n")
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "device":
            path.symlink_to("/dev/zero")
        case "huge":
            path.touch()
            os.truncate(path, 1 << 40)
        case "bytes":
            path.write_bytes(b"\xff")
        case "folder":
            path.mkdir()
        case _:
            path.symlink_to("../secret" if kind == "outside" else "nothing")
    code, _, said = run_in(project, ["init"], capfd)
    assert code == 2
    assert name in said
    assert os.listdir(project) == [name]
