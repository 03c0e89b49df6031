"""`--time-limit`: what a compilation that reaches it writes, says, and keeps."""

from pathlib import Path
from typing import TypeAlias

import pytest
import yaml

from cpuplan.solve import budget
from tests.projects import make_project, run_in

Capture: TypeAlias = pytest.CaptureFixture[str]
LOCK = "intents/plan.lock.yaml"
INTENT = """\
apiVersion: cpuplan.io/v1alpha1
kind: Intent
metadata:
  name: main
spec:
  selector:
    matchLabels: {role: worker}
  targets:
  - platform: kubernetes
    version: "1.33"
    runtime: crio
  pools:
    reserved: {cores: 1, per: numaNode}
    shared: {cores: 3}
    isolated:
      rest: true
      partitions:
        a: {cores: 18}
        b: {cores: 17, apart: {isolated.a: cache}}
        c: {cores: 4, apart: {isolated.a: cache, isolated.b: cache}}
"""
HARDWARE = """\
apiVersion: cpuplan.io/v1alpha1
kind: Hardware
metadata:
  name: small
spec:
  vendor: AuthenticAMD
  regular: {sockets: 1, coresPerSocket: 72, numaNodesPerSocket: 8, cachesPerSocket: 24}
---
apiVersion: cpuplan.io/v1alpha1
kind: Nodes
metadata:
  name: lab
spec:
  cluster: lab
  hardware: small
  nodes:
  - name: worker-[0-1]
    labels: {role: worker}
"""
WAIVER = """\
apiVersion: cpuplan.io/v1alpha1
kind: Waivers
metadata:
  name: lab
spec:
  waivers:
  - code: CP322
    at: Intent/main:spec.pools
    reason: the layout is good enough for these nodes
    expires: "2199-01-01"
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CPUPLAN_NO_CACHE", "1")  # it does not know that seconds are shorter here
    folder = make_project(tmp_path)
    (folder / "intents/main.yaml").write_text(INTENT)
    (folder / "inventories/site.yaml").write_text(HARDWARE)
    return folder


def compiled_in_part(
    project: Path, capture: Capture, monkeypatch: pytest.MonkeyPatch
) -> tuple[str, float]:
    """The first compilation whose limit is enough for a layout, and not for a proof."""
    for units in (step * step / 1000 for step in range(1, 40)):
        monkeypatch.setattr(budget, "_UNITS", units)
        code, _, printed = run_in(project, ["compile", "--time-limit", "1"], capture)
        if code == 6:
            return printed, units
        assert code == 1
        assert "CP404" in printed
        assert not (project / "out").exists()
        assert not (project / LOCK).exists()
    raise AssertionError("no limit is between nothing and everything")


def test_an_unproven_layout_is_written_said_and_kept(
    project: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed, units = compiled_in_part(project, capsys, monkeypatch)
    assert "CP322" in printed
    assert "not proven best within --time-limit: lab/main-small" in printed
    locked = (project / LOCK).read_bytes()
    (entry,) = yaml.safe_load(locked)["classes"]
    assert entry["unproven"]["seconds"] == 1
    monkeypatch.setattr(budget, "_UNITS", 1000.0)
    for arguments in (["compile"], ["compile", "--check"], ["validate"], ["compile", "--force"]):
        code, _, again = run_in(project, arguments, capsys)
        assert code == 0, again
        assert "CP322" in again
    assert (project / LOCK).read_bytes() == locked
    monkeypatch.setattr(budget, "_UNITS", units)
    assert run_in(project, ["compile", "--strict", "--resolve"], capsys)[0] == 1
    assert (project / LOCK).read_bytes() == locked


@pytest.mark.slow
def test_who_gives_it_longer_gets_the_proven_layout(
    project: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled_in_part(project, capsys, monkeypatch)
    monkeypatch.setattr(budget, "_UNITS", 1000.0)
    code, _, printed = run_in(project, ["compile", "--time-limit", "2"], capsys)
    assert code == 0
    assert "CP322" not in printed
    proven = (project / LOCK).read_text()
    assert "unproven" not in proven
    assert run_in(project, ["compile", "--check"], capsys)[0] == 0
    assert run_in(project, ["compile", "--resolve"], capsys)[0] == 0
    assert (project / LOCK).read_text() == proven


def test_longer_without_a_proof_moves_nothing_without_gain(
    project: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, units = compiled_in_part(project, capsys, monkeypatch)
    before = yaml.safe_load((project / LOCK).read_text())["classes"][0]
    monkeypatch.setattr(budget, "_UNITS", units / 2)  # two seconds are as much as one was
    code, _, _ = run_in(project, ["compile", "--time-limit", "2"], capsys)
    after = yaml.safe_load((project / LOCK).read_text())["classes"][0]
    assert after["pools"] == before["pools"]
    assert after["unproven"]["seconds"] == 2
    assert code == 6
    assert run_in(project, ["compile", "--time-limit", "2"], capsys)[0] == 0


def test_a_waived_layout_is_no_failure(
    project: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, units = compiled_in_part(project, capsys, monkeypatch)
    (project / "intents/waivers.yaml").write_text(WAIVER)
    monkeypatch.setattr(budget, "_UNITS", units)
    code, _, printed = run_in(project, ["compile", "--resolve", "--time-limit", "1"], capsys)
    assert code == 0, printed


def test_one_of_several_best_layouts_is_no_finding(
    project: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its goals are proven; the lock says that the choice is not, and nothing moves for that."""
    monkeypatch.setattr(budget, "_TIES", 0.0)
    code, _, printed = run_in(project, ["compile"], capsys)
    assert code == 0, printed
    assert "CP322" not in printed
    locked = (project / LOCK).read_bytes()
    (entry,) = yaml.safe_load(locked)["classes"]
    assert [goal["goal"] for goal in entry["unproven"]["goals"]] == ["canonical"]
    monkeypatch.setattr(budget, "_TIES", 0.5)
    for arguments in (["compile", "--time-limit", "90"], ["compile", "--check"]):
        code, _, printed = run_in(project, arguments, capsys)
        assert code == 0, printed
    assert (project / LOCK).read_bytes() == locked


def test_less_than_a_second_is_no_limit(project: Path, capsys: Capture) -> None:
    for text in ("0", "-1", "soon"):
        assert run_in(project, ["compile", "--time-limit", text], capsys)[0] == 2
