"""`cpuplan check` with objects of a cluster, as a user runs it."""

from pathlib import Path

import pytest

from tests.projects import REJECTED, make_project, run_in


def test_objects_are_for_koordinator(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_project(tmp_path / "project", REJECTED / "base")
    (tmp_path / "objects.yaml").write_text("apiVersion: v1\nkind: Node\n")
    arguments = ["check", "worker-0", "--objects", "../objects.yaml"]
    code, _, said = run_in(tmp_path / "project", arguments, capsys)
    assert code == 2
    assert "--objects needs mechanism koordinator, which worker-0 does not have" in said


def test_a_node_as_it_was_compiled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "project"
    make_project(folder, REJECTED / "CP881-no-topology")
    assert run_in(folder, ["compile"], capsys)[0] == 0
    cluster = folder / "out" / "clusters" / "lab"
    files = (cluster / "manifests/20-node-worker-0.yaml", cluster / "expected/nrt/worker-0.yaml")
    arguments = ["check", "worker-0"]
    for file in files:
        arguments += ["--objects", str(file)]
    code, _, said = run_in(folder, arguments, capsys)
    assert (code, said) == (0, "worker-0 matches its compiled settings\n")
