"""Programs that may run where a plan keeps them off."""

from pathlib import Path

import pytest

from cpuplan.base.cpuset import CpuSet
from cpuplan.check.roots.root import Root
from cpuplan.check.threads.programs import Promise, Strays, stray_programs
from cpuplan.check.threads.tasks import read_threads
from tests.processes import Thread, write

ISOLATED, ISOLCPUS = CpuSet.parse("2-5"), CpuSet.parse("6")
PROMISE = Promise(ISOLATED | ISOLCPUS, CpuSet.parse("0-6"), ISOLCPUS)
CLEAN = (
    Thread(1, "systemd", "0-1,7", "/init.scope"),
    Thread(2, "kthreadd", "0-7", is_kernel=True),
    Thread(30, "sshd", "0-1", "/system.slice/ssh.service"),
    Thread(40, "app", "2-3", "/kubepods.slice/kubepods-pod1.slice/crio-1.scope"),
    Thread(50, "radio", "6", "/isolcpus.slice/isolcpus-threads.slice/radio.service"),
)


def programs_found(root: Path, *more: Thread, spared: str = "") -> list[Strays]:
    write(root, *CLEAN, *more)
    return stray_programs(read_threads(Root(root)), PROMISE, frozenset([spared]))


def test_a_clean_node(tmp_path: Path) -> None:
    assert programs_found(tmp_path) == []


@pytest.mark.parametrize("allowed", ["3", "0-7", "0-1,5-6"])
def test_a_thread_with_isolated_cpus(tmp_path: Path, allowed: str) -> None:
    stray = Thread(31, "sh", allowed, "/user.slice/user-0.slice/session-1.scope")
    (only,) = programs_found(tmp_path, stray)
    forbidden = CpuSet.parse(allowed) & PROMISE.forbidden
    assert only == Strays("sh", "session-1.scope", 1, forbidden, 31)


def test_offline_cpus_of_an_affinity_are_no_matter(tmp_path: Path) -> None:
    assert programs_found(tmp_path, Thread(31, "sh", "0-1,7", "/a.service")) == []


def test_programs_are_grouped_and_the_first_process_comes_first(tmp_path: Path) -> None:
    workers = [Thread(31, "w", "0-7", "/a.service", tid=tid) for tid in (31, 32, 33)]
    init = Thread(1, "systemd", "0-7", "/init.scope")
    groups = programs_found(tmp_path, *workers, init, Thread(60, "b", "2", "/b.service"))
    assert [(program.program, program.unit, program.threads) for program in groups] == [
        ("systemd", "init.scope", 1),
        ("w", "a.service", 3),
        ("b", "b.service", 1),
    ]
    assert [program.is_init for program in groups] == [True, False, False]


def test_programs_that_choose_their_cpus_are_spared(tmp_path: Path) -> None:
    switch = Thread(31, "ovs-vswitchd", "0-6", "/ovs.slice/ovs-vswitchd.service")
    assert programs_found(tmp_path, switch, spared="ovs-vswitchd") == []
    assert len(programs_found(tmp_path, switch)) == 1
