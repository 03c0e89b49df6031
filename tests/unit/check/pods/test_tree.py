"""Reading control groups: versions, copies that lack files, and too many."""

from pathlib import Path

import pytest

from cpuplan.check.pods import cgroups as module
from cpuplan.check.pods.cgroups import MOUNT, Tree
from cpuplan.check.roots.root import Root
from tests import kubepods

DEEP = f"{kubepods.PODS}/kubepods-pod1.slice/crio-2.scope"


def _write(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("0-3\n")


def test_without_the_controller_there_are_no_cpusets_below(tmp_path: Path) -> None:
    _write(
        tmp_path,
        f"{MOUNT}/cgroup.controllers",
        f"{MOUNT}/system.slice/cgroup.procs",
        f"{MOUNT}/system.slice/a.service/cgroup.procs",
        f"{MOUNT}/machine.slice/cpuset.cpus",
    )
    assert set(Tree(Root(tmp_path)).groups) == {"", "machine.slice"}


def test_a_copy_may_lack_the_files_of_groups_above(tmp_path: Path) -> None:
    _write(tmp_path, f"{MOUNT}/{DEEP}/cpuset.cpus", f"{MOUNT}/a.slice/b.slice/cpuset.cpus")
    tree = Tree(Root(tmp_path))
    assert str(tree.cpus(DEEP)) == "0-3"
    assert "a.slice/b.slice" in tree.groups
    assert tree.pods() == {"1"}


def test_without_control_groups_there_is_a_problem(tmp_path: Path) -> None:
    assert Tree(Root(tmp_path)).problem == "there are no control groups to read"


def test_more_groups_than_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_GROUPS", 3)
    _write(tmp_path, *(f"{MOUNT}/{name}.slice/cpuset.cpus" for name in "abcde"))
    assert "more than 3" in Tree(Root(tmp_path)).problem


@pytest.mark.parametrize("controller", ["cpu,cpuacct", "cpu"])
def test_version_1_has_a_tree_for_each_controller(tmp_path: Path, controller: str) -> None:
    path = "kubepods/burstable/pod1/2"
    _write(tmp_path, f"{MOUNT}/cpuset/cpuset.cpus", f"{MOUNT}/cpuset/{path}/cpuset.effective_cpus")
    folder = tmp_path / MOUNT / controller / path
    folder.mkdir(parents=True)
    (folder / "cpu.cfs_quota_us").write_text("150000\n")
    (folder / "cpu.cfs_period_us").write_text("100000\n")
    (folder / "cpu.stat").write_text("nr_periods 9\nnr_throttled 4\n")
    tree = Tree(Root(tmp_path))
    quota = tree.quota(path)
    assert tree.is_v1
    assert quota
    assert (quota.cpus, tree.throttled(path)) == (1.5, 4)
    (folder / "cpu.cfs_quota_us").write_text("-1\n")
    assert tree.quota(path) is None


@pytest.mark.parametrize("text", ["", "max 100000", "100000 0", "x y", "100000"])
def test_what_is_no_quota(tmp_path: Path, text: str) -> None:
    kubepods.write_group(tmp_path, kubepods.PODS, "", "0-3", cpu_max=text)
    assert Tree(Root(tmp_path)).quota(kubepods.PODS) is None
