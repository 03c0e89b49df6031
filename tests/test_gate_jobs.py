"""The gate runs the jobs that there are, says what each step took, and fails where one fails."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.projects import REPOSITORY

JOBS = REPOSITORY / ".ci/jobs"
_HEAD = '#!/usr/bin/env bash\n. "$(dirname "$0")/../steps"\n'
#: By name: a job with two steps of which the second fails, and one after it.
_STEPS = {
    "environment": "step making\nmkdir -p .venv/bin\ntouch .venv/bin/cpuplan\n"
    "chmod +x .venv/bin/cpuplan\n",
    "lint": "step style\ntrue\nstep types\nfalse\nstep never\ntrue\n",
    "unit": 'step "tests of all"\ntrue\n',
}


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    """A folder with the scripts of the gate, and three jobs that do nothing."""
    folder = tmp_path / "checkout"
    (folder / ".ci/jobs").mkdir(parents=True)
    for name in ("run", "steps"):
        shutil.copy(REPOSITORY / ".ci" / name, folder / ".ci" / name)
    for name, text in _STEPS.items():
        job = folder / ".ci/jobs" / name
        job.write_text(_HEAD + text)
        job.chmod(0o755)
    return folder


def _run(gate: Path, *jobs: str) -> tuple[int, str]:
    done = subprocess.run(
        [gate / ".ci/run", *jobs], cwd="/", capture_output=True, text=True, check=False
    )
    return done.returncode, re.sub(r"\b\d+ s\b", "N s", done.stdout) + done.stderr


def _table(printed: str) -> list[str]:
    lines = printed.partition("== seconds\n")[2].splitlines()
    return [" ".join(line.split()[1:]) for line in lines]


def test_every_job_is_run_by_default_and_has_a_short_name() -> None:
    names = sorted(job.name for job in JOBS.iterdir())
    run = (REPOSITORY / ".ci/run").read_text()
    listed = re.findall(r"^ALL=\((.*)\)$", run, re.MULTILINE)
    assert [sorted(words.split()) for words in listed] == [names]
    recipes = re.findall(
        r"^    \.ci/jobs/(\w+)$", (REPOSITORY / "justfile").read_text(), re.MULTILINE
    )
    assert sorted(recipes) == names


def test_a_job_that_fails_is_named_and_stops_no_other_one(gate: Path) -> None:
    code, printed = _run(gate, "environment", "lint", "unit")
    assert code == 1
    assert _table(printed) == [
        "environment making",
        "lint style",
        "lint types, failed",
        "unit tests of all",
        "in all",
    ]
    assert "-- style: N s\n" in printed
    assert "\nfailed: lint\n" in printed


def test_named_jobs_make_the_environment_that_is_missing(gate: Path) -> None:
    assert _table(_run(gate, "unit")[1]) == ["environment making", "unit tests of all", "in all"]
    assert _table(_run(gate, "unit")[1]) == ["unit tests of all", "in all"]


def test_without_an_environment_nothing_else_runs(gate: Path) -> None:
    (gate / ".ci/jobs/environment").write_text(_HEAD + "step making\nfalse\n")
    code, printed = _run(gate, "unit")
    assert (code, _table(printed)) == (1, ["environment making, failed", "in all"])


def test_a_job_that_is_not_there_is_refused(gate: Path) -> None:
    code, printed = _run(gate, "units")
    assert (code, "there is no job 'units'" in printed) == (2, True)
