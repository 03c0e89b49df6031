"""Isolation by a partition: settings, the script, and what the kernel does with what it writes."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from cpuplan.base.cpuset import CpuSet
from cpuplan.components import kernel, slices
from cpuplan.components.host import partitions
from cpuplan.plan import ConfiguredPlan
from cpuplan.simulate.runtimes import runtime_of
from cpuplan.upstream.linux.cpuset_files import Tree
from tests.machines.plans import plan

SLICE, THREADS, PODS = "isolcpus.slice", f"isolcpus.slice/{partitions.THREADS}", "kubepods.slice"
EXCLUSIVE, PARTITION = "cpuset.cpus.exclusive", "cpuset.cpus.partition"


def isolating(platform: str = "kubernetes") -> ConfiguredPlan:
    spec = {"isolation": {"by": "partitions"}, "kubelet": {"cpuManagerPolicy": "none"}}
    return plan(platform=platform, version="1.33", isolcpus="6-7", spec=spec)


def files_of(node: ConfiguredPlan) -> Mapping[str, str]:
    return partitions.files(node.settings.of(partitions.NAME))


def test_a_partition_takes_the_place_of_boot_arguments_and_limits() -> None:
    node = isolating()
    assert node.settings.values(partitions.NAME)[partitions.THREADS] == CpuSet.parse("6-7")
    assert node.settings.values(kernel.NAME)["isolcpus"] == ("managed_irq", CpuSet.parse("2-7"))
    assert not node.settings.of(slices.NAME)
    assert not files_of(plan(isolcpus="6-7"))


def test_simulated_pods_do_not_run_there() -> None:
    allowed = runtime_of(isolating()).allowed
    assert allowed == {PODS: CpuSet.parse("0-5")}


def test_the_kubelet_waits_for_the_unit() -> None:
    files = files_of(isolating())
    drop_in = files["/etc/systemd/system/kubelet.service.d/50-isolate-cpus.conf"]
    assert "After=isolate-cpus.service\n" in drop_in
    unit = files["/etc/systemd/system/isolate-cpus.service"]
    assert unit.endswith("ExecStart=/bin/bash /usr/local/bin/isolate-cpus.sh 6-7\n")


def test_the_unit_that_runs_the_kubelet_waits() -> None:
    paths = files_of(isolating("rke2"))
    assert "/etc/systemd/system/rke2-agent.service.d/50-isolate-cpus.conf" in paths


@pytest.fixture
def cgroups(tmp_path: Path) -> Path:
    """The files of a kernel that takes every write."""
    for path in (SLICE, THREADS):
        (tmp_path / path).mkdir()
        (tmp_path / path / EXCLUSIVE).write_text("\n")
    (tmp_path / THREADS / PARTITION).write_text("member\n")
    (tmp_path / THREADS / "cpuset.cpus.exclusive.effective").write_text("\n")
    return tmp_path


def run(cgroups: Path, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    script = tmp_path / "isolate-cpus.sh"
    script.write_text(files_of(isolating())["/usr/local/bin/isolate-cpus.sh"])
    environment = {"CGROUPS": str(cgroups), "PATH": "/usr/bin:/bin"}
    command = ["/bin/bash", str(script), "6-7"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_the_script_makes_the_partition(cgroups: Path, tmp_path: Path) -> None:
    assert run(cgroups, tmp_path).returncode == 0
    texts = {path: (cgroups / path / EXCLUSIVE).read_text() for path in (SLICE, THREADS)}
    assert texts == {SLICE: "6-7\n", THREADS: "6-7\n"}
    assert (cgroups / THREADS / PARTITION).read_text() == "isolated\n"


def test_the_script_leaves_a_valid_partition(cgroups: Path, tmp_path: Path) -> None:
    (cgroups / THREADS / PARTITION).write_text("isolated\n")
    (cgroups / THREADS / "cpuset.cpus.exclusive.effective").write_text("6-7\n")
    assert run(cgroups, tmp_path).stdout == ""
    assert (cgroups / SLICE / EXCLUSIVE).read_text() == "\n"


def test_the_script_fails_on_an_old_kernel(cgroups: Path, tmp_path: Path) -> None:
    (cgroups / THREADS / EXCLUSIVE).unlink()
    ended = run(cgroups, tmp_path)
    assert (ended.returncode, "Linux 6.7" in ended.stderr) == (1, True)


@pytest.fixture
def tree() -> Tree:
    """What systemd makes of the slices, beside the slice of pods."""
    made = Tree(0xFF)
    for path in (SLICE, PODS):
        made.mkdir(path)
    made.write(SLICE, "cgroup.subtree_control", "+cpuset")
    made.mkdir(THREADS)
    made.write(THREADS, "cpuset.cpus", "6-7")
    return made


def isolate(tree: Tree) -> None:
    """The writes of the script."""
    tree.write(THREADS, PARTITION, "member")
    for path in (SLICE, THREADS):
        tree.write(path, EXCLUSIVE, "6-7")
    tree.write(THREADS, PARTITION, "isolated")


def effective(tree: Tree, path: str) -> str:
    return str(CpuSet.from_bits(tree.cpuset(path).effective))


def test_pods_lose_the_cpus_whatever_the_kubelet_writes(tree: Tree) -> None:
    tree.write(PODS, "cpuset.cpus", "0-5")
    isolate(tree)
    tree.write(PODS, "cpuset.cpus", "0-7")
    assert tree.partition(THREADS) == "isolated"
    assert (effective(tree, THREADS), effective(tree, PODS)) == ("6-7", "0-5")


def test_a_local_partition_would_not_survive_it(tree: Tree) -> None:
    """Why it is a remote one."""
    tree.write(SLICE, "cpuset.cpus", "6-7")
    tree.write(SLICE, PARTITION, "isolated")
    tree.write(PODS, "cpuset.cpus", "0-7")
    assert "invalid" in tree.partition(SLICE)


def test_the_timer_mends_it_after_its_cpus_were_off(tree: Tree) -> None:
    isolate(tree)
    tree.spawn(THREADS, "daemon")
    for cpu in (6, 7):
        tree.switch(cpu, online=False)
    assert "invalid" in tree.partition(THREADS)
    for cpu in (6, 7):
        tree.switch(cpu, online=True)
    assert "invalid" in tree.partition(THREADS)
    isolate(tree)
    assert tree.partition(THREADS) == "isolated"
