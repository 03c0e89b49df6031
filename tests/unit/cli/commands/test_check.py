"""`cpuplan check` with objects of a cluster, as a user runs it."""

from pathlib import Path

import pytest

from tests.projects import REJECTED, make_project, run_in

HOLDS = "worker-0 holds what was compiled for it"
#: Prints the NodeResourceTopology of a node.
TOPOLOGIES = ("compile", "--stdout", "--topologies", "--node")


def test_what_an_exporter_publishes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "project"
    make_project(folder, REJECTED / "base")
    assert run_in(folder, ["compile"], capsys)[0] == 0
    published = folder / "published.yaml"
    published.write_text(run_in(folder, [*TOPOLOGIES, "worker-0"], capsys)[1])
    arguments = ["check", "worker-0", "--objects", str(published)]
    code, _, said = run_in(folder, arguments, capsys)
    assert (code, said.startswith(HOLDS)) == (0, True)
    published.write_text(run_in(folder, [*TOPOLOGIES, "worker-1"], capsys)[1])
    code, _, said = run_in(folder, arguments, capsys)
    assert (code, "CP885" in said) == (1, True)


def test_a_node_as_it_was_compiled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "project"
    make_project(folder, REJECTED / "CP881-no-topology")
    assert run_in(folder, ["compile"], capsys)[0] == 0
    cluster = folder / "out" / "clusters" / "lab"
    published = folder / "published.yaml"
    published.write_text(run_in(folder, [*TOPOLOGIES, "worker-0"], capsys)[1])
    files = (cluster / "manifests/20-node-worker-0.yaml", published)
    arguments = ["check", "worker-0"]
    for file in files:
        arguments += ["--objects", str(file)]
    code, _, said = run_in(folder, arguments, capsys)
    assert (code, said.startswith(HOLDS)) == (0, True)


def test_facts_as_metrics(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "project"
    make_project(folder, REJECTED / "base")
    assert run_in(folder, ["compile"], capsys)[0] == 0
    (folder / "node").mkdir()
    arguments = ["check", "worker-0", "--root", str(folder / "node"), "--format", "prometheus"]
    code, told, _ = run_in(folder, arguments, capsys)
    assert code == 7
    labels = 'node="worker-0",plan_cluster="lab",plan_class="main-small"'
    assert f'cpuplan_findings{{{labels},code="CP801",severity="error"}} 1\n' in told
    assert f'cpuplan_facts{{{labels},verdict="held"}} ' in told
    assert "cpuplan_plan_info{" in told
