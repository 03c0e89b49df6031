"""`cpuplan check` of many roots at once: grouped by what differs, and which nodes are otherwise."""

import json
import shutil
import tarfile
from pathlib import Path
from xml.etree import ElementTree

import pytest

from cpuplan import pipeline
from cpuplan.workers import divide
from tests.hosts import make_root
from tests.projects import REJECTED, make_project, run_in

SITE = "inventories/site.yaml"
NODES = 6


@pytest.fixture
def project(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """Six nodes in a folder `roots`, all as they should be; the last one is an archive."""
    folder = tmp_path / "project"
    make_project(folder, REJECTED / "base")
    site = folder / SITE
    site.write_text(site.read_text().replace("worker-[0-1]", f"worker-[0-{NODES - 1}]"))
    assert run_in(folder, ["compile"], capsys)[0] == 0
    plan, _ = pipeline.solve(pipeline.load(folder))
    for number in range(NODES):
        root = folder / "roots" / f"node-{number}"
        make_root(plan.by_node["lab", f"worker-{number}"], root)
        (root / "etc").mkdir(exist_ok=True)
        (root / "etc/hostname").write_text(f"worker-{number}.lab.example\n")
    last = folder / "roots" / f"node-{NODES - 1}"
    with tarfile.open(folder / "roots" / "last.tar.gz", "w:gz") as archive:
        archive.add(last, ".")
    shutil.rmtree(last)
    return folder


def break_node(project: Path, number: int) -> None:
    cmdline = project / "roots" / f"node-{number}" / "proc/cmdline"
    cmdline.write_text(cmdline.read_text().replace("nohz_full=1-3,", "nohz_full=2-3,"))


def run(project: Path, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, str, str]:
    return run_in(project, ["check", "--root", "roots", *more], capsys)


def test_all_hold(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, said = run(project, capsys)
    assert code == 0, said
    assert said.splitlines()[-1].startswith("6 of 6 nodes hold what was compiled (")


def test_nodes_with_the_same_difference_are_one_finding(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in (1, 2):
        break_node(project, number)
    code, _, said = run(project, capsys)
    assert code == 1
    assert said.count("error[CP812]") == 1
    assert "2 of 6 nodes (worker-[1-2]): " in said
    assert "4 of 6 nodes hold what was compiled (" in said


def test_few_that_hold_are_named(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(4):
        break_node(project, number)
    _, _, said = run(project, capsys)
    assert "4 of 6 nodes (all but worker-[4-5]): " in said


def test_roots_one_by_one(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["check", "--root", "roots/node-0", "--root", "roots/last.tar.gz"]
    code, _, said = run_in(project, arguments, capsys)
    assert (code, said.splitlines()[-1][:12]) == (0, "2 of 2 nodes")


def test_a_root_of_no_planned_node_is_said(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "roots/node-3/etc/hostname").write_text("someone-else\n")
    code, _, said = run(project, capsys)
    assert (code, "CP889" in said) == (1, True)


def test_two_snapshots_of_a_node_are_one_node(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(project / "roots/node-3", project / "roots/node-3-later")
    _, _, said = run_in(project, ["check", "--root", "roots"], capsys)
    assert f" of {NODES} nodes hold" in said
    assert f" of {NODES + 1} nodes" not in said


def test_json_has_groups(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    break_node(project, 0)
    _, told, _ = run(project, capsys, "--format", "json")
    data = json.loads(told)
    assert data["version"] == 1
    assert len(data["nodes"]) == NODES
    group = next(group for group in data["groups"] if group["code"] == "CP812")
    assert (group["nodes"], group["heals"]) == (["worker-0"], "reboot")
    assert all(fact["reason"] for fact in data["unverified"])


def test_junit_has_a_suite_for_each_node(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    break_node(project, 0)
    _, told, _ = run(project, capsys, "--format", "junit")
    suites = ElementTree.fromstring(told)  # noqa: S314 - our own
    assert [suite.get("name") for suite in suites][:2] == ["lab/worker-0", "lab/worker-1"]
    failing = [suite.get("name") for suite in suites if int(suite.get("failures", "0"))]
    assert failing == ["lab/worker-0"]
    cases = suites.findall(".//testcase")
    assert len(cases) == int(suites.get("tests", "0"))
    assert len(suites.findall(".//skipped")) > 0


def test_every_fact_is_listed(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    break_node(project, 0)
    _, told, _ = run(project, capsys, "--coverage")
    lines = told.splitlines()
    assert any(line.startswith("differs") and "(worker-0)" in line for line in lines)
    assert any(line.startswith("held") and "(all but worker-0)" in line for line in lines)
    assert any(line.startswith("not verifiable here") and " - " in line for line in lines)


def test_one_node_and_several_roots_are_a_contradiction(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["check", "worker-0", "--root", "roots/node-0", "--root", "roots/node-1"]
    code, _, said = run_in(project, arguments, capsys)
    assert (code, "give one --root" in said) == (2, True)


@pytest.mark.parametrize("more", [(), ("--format", "json"), ("--format", "junit")])
def test_any_number_of_processes_finds_the_same(
    project: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    more: tuple[str, ...],
) -> None:
    monkeypatch.setattr(divide, "_MANY", 0)  # these few nodes are divided too
    for number in (1, 2):
        break_node(project, number)
    (project / "roots/broken.tar.gz").write_bytes(b"no archive")
    (project / "roots/node-3/etc/hostname").write_text("stranger\n")
    said = [run(project, capsys, "--jobs", jobs, *more) for jobs in ("1", "2", "3")]
    assert said[0] == said[1] == said[2]
    assert said[0][0] == 1
    assert "main.yaml" in "".join(said[0][1:]) or "junit" in more
