"""The node of an agent: another expected state is read again, and no file stays open."""

import os
import shutil
from pathlib import Path

import pytest

from cpuplan.diagnostics import CpuplanError
from cpuplan.node.loop import Node
from cpuplan.plan.expected.state import render
from tests import checked
from tests.hosts import make_root
from tests.machines.plans import plan, regular

PLAN = plan(regular(cores=4, threads=2), offlined="7")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_root(PLAN, tmp_path / "root")


@pytest.fixture
def state(tmp_path: Path) -> Path:
    folder = tmp_path / "state"
    folder.mkdir()
    (folder / "ran-server.json").write_text(render(checked.expected(PLAN)))
    return folder


@pytest.fixture(autouse=True)
def stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests keep their CPUs."""
    monkeypatch.setattr("cpuplan.node.loop.os.sched_setaffinity", lambda *_: None)


def test_what_a_check_finds(root: Path, state: Path) -> None:
    node = Node(root, state, "worker-0")
    assert node.plan() is None
    findings = node.check()
    assert findings.plan == node.plan()
    assert (findings.plan.cluster, findings.plan.name) == ("site-a", "ran-server")
    assert sum(findings.counts.facts.values()) > 20
    before = findings.counts.facts["differs"]
    (root / "proc/cmdline").write_text("quiet\n")
    findings = node.check()
    assert findings.counts.facts["differs"] > before
    assert ("CP811", "error") in findings.counts.findings
    assert any(sentence.startswith("CP811 ") for sentence in findings.findings)


def test_the_name_is_that_of_the_host(root: Path, state: Path) -> None:
    (root / "etc").mkdir(exist_ok=True)
    (root / "etc/hostname").write_text("worker-1\n")
    assert Node(root, state, "").check().plan.name == "ran-server"
    (root / "etc/hostname").write_text("other\n")
    with pytest.raises(CpuplanError, match="CP889"):
        Node(root, state, "").check()


def test_another_plan_is_seen(root: Path, state: Path) -> None:
    node = Node(root, state, "worker-0")
    assert not node.has_changed()  # nothing was read yet
    digest = node.check().plan.digest
    assert not node.has_changed()
    other = plan(regular(cores=4, threads=2), offlined="6-7")
    new = state / "new"
    new.write_text(render(checked.expected(other)))
    os.replace(new, state / "ran-server.json")
    assert node.has_changed()
    assert node.check().plan.digest != digest
    assert not node.has_changed()


def test_a_mounted_config_map_changes_by_its_link(root: Path, tmp_path: Path) -> None:
    """The kubelet writes a new folder, and then moves the link `..data` to it."""
    mount = tmp_path / "mount"
    for name, offlined in (("..1", "7"), ("..2", "6-7")):
        (mount / name).mkdir(parents=True)
        made = plan(regular(cores=4, threads=2), offlined=offlined)
        (mount / name / "ran-server.json").write_text(render(checked.expected(made)))
    (mount / "..data").symlink_to("..1")
    (mount / "ran-server.json").symlink_to("..data/ran-server.json")
    node = Node(root, mount, "worker-0")
    first = node.check().plan
    (mount / "..new").symlink_to("..2")
    os.replace(mount / "..new", mount / "..data")
    assert node.has_changed()
    assert node.check().plan.digest != first.digest


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (lambda state: (state / "ran-server.json").write_text("{}"), "CP877"),
        (lambda state: (state / "ran-server.json").unlink(), "CP878"),
        (shutil.rmtree, "CP878"),
    ],
)
def test_without_an_expected_state_there_is_no_plan(
    root: Path, state: Path, damage: object, code: str
) -> None:
    node = Node(root, state, "worker-0")
    node.check()
    assert callable(damage)
    damage(state)
    with pytest.raises(CpuplanError, match=code):
        node.check()
    assert node.plan() is None


def test_a_node_of_no_class(root: Path, state: Path) -> None:
    with pytest.raises(CpuplanError, match="CP250"):
        Node(root, state, "worker-7").check()


def test_nothing_stays_open(root: Path, state: Path) -> None:
    node = Node(root, state, "worker-0")
    node.check()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        node.check()
    assert len(os.listdir("/proc/self/fd")) == before
