"""Units and scripts: their texts, and what the scripts do in a file system of their own."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.program import resource
from cpuplan.components import units
from cpuplan.components.openshift import operator_units as of_openshift
from tests.machines.plans import plan, regular

SCRIPTS = sorted(resource("templates", "bin").glob("*.sh"))
PAGES = {
    "hugePages": {"pages": [{"size": "2M", "count": 64, "numaNode": 1}, {"size": "1G", "count": 2}]}
}
HUGE_UNIT = "hugepages-allocation-2048kB-NUMA1.service"
CHECK_UNIT = "hugepages-check-1048576kB.service"


def run(script: str, *arguments: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    path = resource("templates", "bin", script)
    return subprocess.run(
        ["bash", str(path), *map(str, arguments)],
        env={"PATH": os.environ["PATH"], **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_nothing_to_prepare_on_kubernetes() -> None:
    node = plan(platform="kubernetes", version="1.33")
    assert not node.settings.of(units.NAME)


def test_kubernetes_gets_what_is_used() -> None:
    node = plan(
        regular(sockets=2), offlined="6-7", platform="kubernetes", version="1.33", spec=PAGES
    )
    settings = node.settings.of(units.NAME)
    assert sorted(units.units(settings)) == [HUGE_UNIT, CHECK_UNIT, units.OFFLINE_UNIT]
    assert sorted(units.files(settings)) == [
        "/usr/local/bin/hugepages-allocation.sh",
        "/usr/local/bin/hugepages-check.sh",
        "/usr/local/bin/set-cpus-offline.sh",
    ]


def test_all_pages_of_a_size_are_waited_for() -> None:
    """Those of NUMA nodes, which units set aside, and those of boot arguments."""
    pages = [
        {"size": "2M", "count": 64, "numaNode": 1},
        {"size": "2M", "count": 10},
        {"size": "1G", "count": 0},
    ]
    node = plan(
        regular(sockets=2),
        platform="kubernetes",
        version="1.33",
        spec={"hugePages": {"pages": pages}},
    )
    by_unit = node.settings.values(units.NAME)
    assert by_unit["hugepages-check-2048kB.service"] == {
        "HUGEPAGES_COUNT": "69",
        "HUGEPAGES_SIZE": "2048",
    }
    assert "hugepages-check-1048576kB.service" not in by_unit


def test_scripts_need_no_mode_on_kubernetes() -> None:
    node = plan(offlined="7", platform="kubernetes", version="1.33")
    assert (
        "ExecStart=/bin/bash /usr/local/bin/set-cpus-offline.sh\n"
        in units.units(node.settings.of(units.NAME))[units.OFFLINE_UNIT]
    )


def test_units_carry_their_environment() -> None:
    node = plan(regular(sockets=2), offlined="5-7", spec=PAGES)
    by_unit = node.settings.values(units.NAME)
    assert by_unit[units.OFFLINE_UNIT] == {"OFFLINE_CPUS": CpuSet.parse("5-7")}
    assert by_unit[HUGE_UNIT] == {
        "HUGEPAGES_COUNT": "64",
        "HUGEPAGES_SIZE": "2048",
        "NUMA_NODE": "1",
    }
    texts = of_openshift.units(node.settings.of(units.NAME))
    assert "Environment=OFFLINE_CPUS=5,6,7\n" in texts[units.OFFLINE_UNIT]


def test_an_edited_file_is_seen() -> None:
    text = of_openshift.render(list(of_openshift.settings(plan())))
    edited = of_openshift.parse(text.replace('BE="-b sched_debug"', 'BE="-b queue_track"'))
    assert edited["/etc/sysconfig/stalld-backend"] == 'BE="-b queue_track"\n'
    assert of_openshift.parse(text)["/etc/sysconfig/stalld-backend"] is True


@pytest.mark.skipif(not shutil.which("shellcheck"), reason="shellcheck is not installed")
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_scripts_are_clean(script: Path) -> None:
    ended = subprocess.run(["shellcheck", str(script)], capture_output=True, text=True, check=False)
    assert ended.stdout == ""


def cpus(root: Path, *numbers: int) -> Path:
    for number in numbers:
        folder = root / f"devices/system/cpu/cpu{number}"
        folder.mkdir(parents=True)
        (folder / "online").write_text("1\n")
    return root


def online(root: Path) -> list[str]:
    return [path.read_text().strip() for path in sorted(root.rglob("online"))]


def test_cpus_are_switched_off(tmp_path: Path) -> None:
    sysfs = cpus(tmp_path, 1, 2, 3)
    assert run("set-cpus-offline.sh", SYSFS=str(sysfs), OFFLINE_CPUS="1,3").returncode == 0
    assert online(sysfs) == ["0", "1", "0"]


def test_all_cpus_stay_on_if_one_is_missing(tmp_path: Path) -> None:
    sysfs = cpus(tmp_path, 1, 2)
    ended = run("set-cpus-offline.sh", SYSFS=str(sysfs), OFFLINE_CPUS="1,9")
    assert ended.returncode == 1
    assert "CPU 9" in ended.stderr
    assert online(sysfs) == ["1", "1"]


@pytest.mark.parametrize("given", [{}, {"OFFLINE_CPUS": ""}])
def test_no_list_is_an_error(given: dict[str, str]) -> None:
    assert run("set-cpus-offline.sh", SYSFS="/nowhere", **given).returncode == 1


def test_huge_pages_are_set_aside(tmp_path: Path) -> None:
    pages = tmp_path / "devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages"
    pages.parent.mkdir(parents=True)
    pages.write_text("0\n")
    environment = {"SYSFS": str(tmp_path), "HUGEPAGES_COUNT": "64", "HUGEPAGES_SIZE": "2048"}
    assert run("hugepages-allocation.sh", NUMA_NODE="1", **environment).returncode == 0
    assert pages.read_text() == "64\n"
    ended = run("hugepages-allocation.sh", NUMA_NODE="0", **environment)
    assert ended.returncode == 1
    assert "NUMA node 0" in ended.stderr


def test_too_few_huge_pages_are_an_error(tmp_path: Path) -> None:
    # Writes are lost, as when the kernel finds no memory.
    pages = tmp_path / "devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages"
    pages.parent.mkdir(parents=True)
    pages.symlink_to("/dev/null")
    environment = {
        "HUGEPAGES_COUNT": "64",
        "HUGEPAGES_SIZE": "2048",
        "NUMA_NODE": "0",
        "ATTEMPTS": "1",
    }
    ended = run("hugepages-allocation.sh", SYSFS=str(tmp_path), **environment)
    assert ended.returncode == 1
    assert "64 pages" in ended.stderr


@pytest.mark.parametrize(("there", "code"), [("2", 0), ("3", 0), ("1", 1)])
def test_pages_of_boot_arguments_are_waited_for(tmp_path: Path, there: str, code: int) -> None:
    pages = tmp_path / "kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages"
    pages.parent.mkdir(parents=True)
    pages.write_text(f"{there}\n")
    environment = {"HUGEPAGES_COUNT": "2", "HUGEPAGES_SIZE": "1048576", "ATTEMPTS": "1"}
    ended = run("hugepages-check.sh", SYSFS=str(tmp_path), **environment)
    assert ended.returncode == code
    assert ("1 of 2 pages" in ended.stderr) is bool(code)
    environment["HUGEPAGES_SIZE"] = "2048"
    assert (
        "no pages of 2048 kB" in run("hugepages-check.sh", SYSFS="/nowhere", **environment).stderr
    )


#: Interrupts 30 and 32 are placed by the kernel: Linux 6.1 says it so, 6.12 otherwise. 31 has no
#: vector left on the CPUs.
REFUSING = """\
echo() {
    local pid=$BASHPID
    case $(readlink "/proc/$pid/fd/1") in
        */30/*) builtin echo "echo: write error: Input/output error" >&2; return 1 ;;
        */32/*) builtin echo "echo: write error: Operation not permitted" >&2; return 1 ;;
        */31/*) builtin echo "echo: write error: No space left on device" >&2; return 1 ;;
    esac
    builtin echo "$@"
}
"""


def place(folder: Path, affinities: dict[int, str]) -> subprocess.CompletedProcess[str]:
    for irq, cpus in affinities.items():
        (folder / f"irq/{irq}").mkdir(parents=True)
        (folder / f"irq/{irq}/smp_affinity_list").write_text(f"{cpus}\n")
    (folder / "refusing").write_text(REFUSING)
    return run(
        "place-interrupts.sh",
        PROC=str(folder),
        CPUS="0-1,8",
        ROUNDS="1",
        PAUSE="0",
        UNMOVABLE=str(folder / "unmovable"),
        BASH_ENV=str(folder / "refusing"),
    )


def affinities(folder: Path) -> dict[int, str]:
    return {
        int(path.parent.name): path.read_text().strip()
        for path in sorted(folder.glob("irq/*/smp_affinity_list"))
    }


def test_interrupts_are_moved_but_for_those_that_the_kernel_places(tmp_path: Path) -> None:
    before = {24: "0-13", 25: "0", 26: "1,8", 27: "9", 30: "4-7", 32: "5"}
    ended = place(tmp_path, before)
    assert (ended.returncode, ended.stderr) == (0, "")
    moved = {24: "0-1,8", 27: "0-1,8"}
    # In this test, a shell opens the file that the kernel would not write to.
    assert affinities(tmp_path) == before | moved | {30: "", 32: ""}
    assert (tmp_path / "unmovable").read_text() == "30\n32\n"
    assert ended.stdout == "2 moved, 2 placed by the kernel, 0 failed\n"


def test_an_interrupt_that_cannot_be_moved_is_an_error(tmp_path: Path) -> None:
    ended = place(tmp_path, {31: "5"})
    assert ended.returncode == 1
    assert "interrupt 31 stays on CPUs 5: " in ended.stderr
    assert (tmp_path / "unmovable").read_text() == ""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "IRQBALANCE_BANNED_CPUS=0\n"),
        ("A=1\n IRQBALANCE_BANNED_CPUS=ff\nB=2\n", "A=1\nB=2\nIRQBALANCE_BANNED_CPUS=0\n"),
        ("# IRQBALANCE_BANNED_CPUS=\n", "# IRQBALANCE_BANNED_CPUS=\nIRQBALANCE_BANNED_CPUS=0\n"),
        (
            "IRQBALANCE_BANNED_CPULIST=1\n",
            "IRQBALANCE_BANNED_CPULIST=1\nIRQBALANCE_BANNED_CPUS=0\n",
        ),
    ],
)
def test_no_cpu_is_banned(tmp_path: Path, before: str, after: str) -> None:
    config, saved = tmp_path / "irqbalance", tmp_path / "saved"
    config.write_text(before)
    saved.write_text("ff\n")
    assert run("clear-irqbalance-banned-cpus.sh", config, saved).returncode == 0
    assert config.read_text() == after
    assert saved.read_text() == "0\n"


def test_no_irqbalance_no_file(tmp_path: Path) -> None:
    assert (
        run(
            "clear-irqbalance-banned-cpus.sh", tmp_path / "irqbalance", tmp_path / "saved"
        ).returncode
        == 0
    )
    assert list(tmp_path.iterdir()) == []


def test_cgroup_v2_needs_no_cpusets(tmp_path: Path) -> None:
    (tmp_path / "cgroup.controllers").write_text("cpuset\n")
    assert run("cpuset-configure.sh", CGROUPS=str(tmp_path)).returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["cgroup.controllers"]


def test_cgroup_v1_gets_cpusets_for_services(tmp_path: Path) -> None:
    root = tmp_path / "cpuset"
    (root / "machine.slice/old").mkdir(parents=True)
    (root / "machine.slice/old/cpuset.cpus").write_text("0-7\n")
    for name, text in {
        "cpuset.mems": "0-1\n",
        "cpuset.cpus": "0-7\n",
        "cgroup.procs": "1\n2\n",
    }.items():
        (root / name).write_text(text)
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "taskset").write_text('#!/bin/sh\necho "pid 1\'s current affinity list: 0,4"\n')
    (tools / "taskset").chmod(0o755)
    ended = run("cpuset-configure.sh", CGROUPS=str(tmp_path), PATH=f"{tools}:{os.environ['PATH']}")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert (root / "cpuset.sched_load_balance").read_text() == "0\n"
    assert (root / "system.slice/cpuset.cpus").read_text() == "0,4\n"
    assert (root / "system.slice/cpuset.mems").read_text() == "0-1\n"
    assert (root / "system.slice/cgroup.procs").read_text() == "2\n"
    assert (root / "machine.slice/old/cpuset.cpus").read_text() == "0,4\n"
    assert (root / "ovs.slice/cpuset.cpus").read_text() == "0-7\n"
    assert (root / "ovs.slice/cpuset.sched_load_balance").read_text() == "0\n"
