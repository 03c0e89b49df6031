"""`cpuplan versions`, as a user runs it."""

import json
from pathlib import Path

import pytest

from cpuplan.facts.programs import PROGRAMS
from tests.projects import run_in

Capture = pytest.CaptureFixture[str]


def test_neighbours_are_together_and_a_named_program_is_told_in_full(
    tmp_path: Path, capsys: Capture
) -> None:
    code, printed, _ = run_in(tmp_path, ["versions"], capsys)
    assert code == 0
    assert {line.split()[0] for line in printed.splitlines()[1:]} == set(PROGRAMS)
    assert "1.2 to 1.7 " in printed
    code, printed, _ = run_in(tmp_path, ["versions", "koordinator", "crio"], capsys)
    names = [line.split()[:2] for line in printed.splitlines()[1:]]
    assert names == [
        [program, release]
        for program in ("koordinator", "crio")
        for release in PROGRAMS[program].names
    ]


def test_as_data(tmp_path: Path, capsys: Capture) -> None:
    code, printed, _ = run_in(tmp_path, ["versions", "openshift", "--format", "json"], capsys)
    (program,) = json.loads(printed)["programs"]
    newest = program["releases"][-1]
    assert (code, program["project"]) == (0, "openshift/cluster-node-tuning-operator")
    assert (newest["name"], newest["basis"], newest["state"]) == ("5.1", "unproven", "development")


def test_a_program_that_there_is_not(tmp_path: Path, capsys: Capture) -> None:
    code, _, said = run_in(tmp_path, ["versions", "containred"], capsys)
    assert (code, "did you mean 'containerd'?" in said) == (2, True)
