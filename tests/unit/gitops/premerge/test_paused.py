"""Files of paused classes that a branch changes together with their digests."""

import json
from hashlib import sha256
from pathlib import Path

import pytest

from cpuplan.fleet.paused import FIELD
from tests.git_projects import add_class, edit, git
from tests.projects import run_in

Capture = pytest.CaptureFixture[str]
FILE = "nodes/lab/du-du-hw/cmdline"
RECORD = "out/.cpuplan/classes/lab/du-du-hw.json"
CHECKS = [["compile", "--check"], ["verify-output"], ["publish", "--branch", "deploy"]]


@pytest.fixture
def project(tmp_path: Path, capsys: Capture) -> Path:
    """A branch beside the main branch, in which a class is compiled and paused."""
    add_class(tmp_path, "du")
    assert run_in(tmp_path, ["compile"], capsys)[0] == 0
    edit(tmp_path, "intents/du.yaml", "spec:\n", "spec:\n  paused: true\n")
    assert run_in(tmp_path, ["compile"], capsys)[0] == 0
    git(tmp_path, "init", "-q")
    commit(tmp_path)
    git(tmp_path, "checkout", "-q", "-b", "change")
    return tmp_path


def commit(project: Path) -> None:
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "all")


def forge(project: Path, path: str = FILE) -> None:
    """Edit a file, or add one, and what is noted of it."""
    file = project / "out" / path
    data = (file.read_bytes() if file.exists() else b"") + b"init=/bin/sh\n"
    file.write_bytes(data)
    record = json.loads((project / RECORD).read_bytes())
    record[FIELD][path] = sha256(data).hexdigest()
    (project / RECORD).write_text(json.dumps(record))


@pytest.mark.parametrize("words", CHECKS)
@pytest.mark.parametrize("path", [FILE, "clusters/lab/added.yaml"])
def test_a_forged_file_is_an_error(
    project: Path, capsys: Capture, words: list[str], path: str
) -> None:
    (project / "out/clusters/lab").mkdir(parents=True, exist_ok=True)
    forge(project, path)
    commit(project)
    assert run_in(project, ["compile"], capsys)[0] == 0
    commit(project)
    code, _, told = run_in(project, words, capsys)
    assert code == 1
    assert f"error[CP6115]: out/{path} of the paused du" in told


def test_a_class_that_is_paused_and_changed_at_once_is_an_error(
    project: Path, capsys: Capture
) -> None:
    edit(project, "intents/du.yaml", "  paused: true\n", "")
    assert run_in(project, ["compile"], capsys)[0] == 0
    commit(project)
    git(project, "branch", "-f", "main")
    edit(project, "intents/du.yaml", "spec:\n", "spec:\n  paused: true\n")
    edit(project, f"out/{FILE}", "irqaffinity", "init=/bin/sh irqaffinity")
    commit(project)
    assert run_in(project, ["compile"], capsys)[0] == 0
    code, _, told = run_in(project, ["compile", "--check"], capsys)
    assert code == 1
    assert f"error[CP6115]: out/{FILE} of the paused du" in told


def test_a_forged_record_of_a_class_is_an_error(project: Path, capsys: Capture) -> None:
    record = json.loads((project / RECORD).read_bytes())
    record["pool"] = "other"
    (project / RECORD).write_text(json.dumps(record))
    commit(project)
    assert run_in(project, ["compile"], capsys)[0] == 0
    code, _, told = run_in(project, ["compile", "--check"], capsys)
    assert code == 1
    assert f"error[CP6115]: {RECORD} of the paused du" in told


def test_a_file_that_is_forgotten_is_an_error(project: Path, capsys: Capture) -> None:
    record = json.loads((project / RECORD).read_bytes())
    del record[FIELD][FILE]
    (project / RECORD).write_text(json.dumps(record))
    (project / "out" / FILE).unlink()
    commit(project)
    assert run_in(project, ["compile"], capsys)[0] == 0
    code, _, told = run_in(project, ["compile", "--check"], capsys)
    assert code == 1
    assert f"error[CP6115]: out/{FILE} of the paused du" in told


@pytest.mark.parametrize("words", CHECKS)
def test_files_as_on_the_main_branch_are_fine(
    project: Path, capsys: Capture, words: list[str]
) -> None:
    edit(project, "intents/du.yaml", "shared: {cores: 1}", "shared: {cores: 2}")
    assert run_in(project, ["compile"], capsys)[0] == 0
    commit(project)
    code, _, told = run_in(project, words, capsys)
    assert code == 0, told


def test_what_a_branch_compiled_before_it_paused_is_fine(project: Path, capsys: Capture) -> None:
    edit(project, "intents/du.yaml", "  paused: true\n", "")
    edit(project, "intents/du.yaml", "shared: {cores: 1}", "shared: {cores: 2}")
    assert run_in(project, ["compile"], capsys)[0] == 0
    edit(project, "intents/du.yaml", "spec:\n", "spec:\n  paused: true\n")
    assert run_in(project, ["compile"], capsys)[0] == 0
    code, _, told = run_in(project, ["compile", "--check"], capsys)
    assert code == 0, told


def test_without_a_main_branch_nothing_is_proven(project: Path, capsys: Capture) -> None:
    git(project, "branch", "-q", "-D", "main")
    code, _, told = run_in(project, ["compile", "--check"], capsys)
    assert code == 0
    assert "warning[CP6116]: nothing shows that the files of lab/du-du-hw" in told
    assert "out/ is up to date, except paused classes: not proven" in told
    assert run_in(project, ["compile", "--check", "--strict"], capsys)[0] == 1
