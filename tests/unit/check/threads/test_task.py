"""Reading threads: what exists, whose it is, and what only one of the two files says."""

from pathlib import Path

import pytest

from cpuplan.base.cpuset import CpuSet
from cpuplan.check.roots.root import Root
from cpuplan.check.threads.tasks import Task, is_pod, path_of, read_task, read_threads, unit_of
from tests.processes import Thread, write

STATUS = "Name:\tapp\nState:\tS (sleeping)\nPPid:\t1\nCpus_allowed_list:\t0-3\n"


def test_a_thread_without_stat_is_a_kernel_thread_by_its_parent() -> None:
    kernel = STATUS.replace("PPid:\t1", "PPid:\t2")
    newer = f"{STATUS}Kthread:\t1\n"
    assert read_task(7, 7, STATUS, None) == Task(7, 7, "app", CpuSet.parse("0-3"), is_kernel=False)
    for task in (
        read_task(7, 7, kernel, None),
        read_task(7, 7, newer, None),
        read_task(2, 2, STATUS, None),
    ):
        assert task is not None
        assert task.is_kernel
        assert task.is_bound is None


@pytest.mark.parametrize("status", ["", "Name:\tapp\n", STATUS.replace("0-3", "x-y")])
def test_a_thread_that_says_no_affinity_is_left_out(status: str) -> None:
    assert read_task(7, 7, status, None) is None


def test_threads_that_have_ended_are_left_out(tmp_path: Path) -> None:
    for number, state in enumerate("SRDTZX", start=10):
        write(tmp_path, Thread(number, "app", "0-3", state=state), with_stat=number % 2 == 0)
    threads = read_threads(Root(tmp_path))
    assert [task.pid for task in threads.tasks] == [10, 11, 12, 13]


def test_a_name_may_hold_blanks_and_brackets(tmp_path: Path) -> None:
    write(tmp_path, Thread(5, "a) R 2 (b", "1", is_kernel=True, is_bound=True, priority=50))
    (task,) = read_threads(Root(tmp_path)).tasks
    assert (task.is_kernel, task.is_bound, task.policy, task.priority) == (True, True, 1, 50)


def test_every_thread_of_a_process_counts(tmp_path: Path) -> None:
    write(tmp_path, Thread(5, "app", "0"), Thread(5, "worker", "1", cgroup="/a.slice", tid=6))
    threads = read_threads(Root(tmp_path))
    assert [(task.tid, task.name) for task in threads.tasks] == [(5, "app"), (6, "worker")]
    assert threads.cgroups == {5: "0::/a.slice\n"}


def test_a_copy_may_have_the_status_of_a_process_alone(tmp_path: Path) -> None:
    (tmp_path / "proc/1").mkdir(parents=True)
    (tmp_path / "proc/1/status").write_text(STATUS)
    assert [task.name for task in read_threads(Root(tmp_path)).tasks] == ["app"]


@pytest.mark.parametrize(
    ("text", "path", "unit", "of_pod"),
    [
        ("0::/init.scope\n", "/init.scope", "init.scope", False),
        ("0::/system.slice/a.service/sub\n", "/system.slice/a.service/sub", "a.service", False),
        ("0::/\n", "", "", False),
        (
            "4:memory:/x\n3:cpu,cpuset:/kubepods/burstable/podab/12\n1:name=systemd:/y.service\n",
            "/kubepods/burstable/podab/12",
            "/kubepods/burstable/podab/12",
            True,
        ),
        ("3:cpuset:/\n1:name=systemd:/y.service\n", "/y.service", "y.service", False),
        (
            "0::/k.slice/k-kubepods.slice/k-kubepods-pod1.slice/crio-2.scope\n",
            "/k.slice/k-kubepods.slice/k-kubepods-pod1.slice/crio-2.scope",
            "crio-2.scope",
            True,
        ),
        ("0::/../kubepods.slice/x\n", "/../kubepods.slice/x", "kubepods.slice", True),
        (
            "0::/system.slice/mykubepodsd.service\n",
            "/system.slice/mykubepodsd.service",
            "mykubepodsd.service",
            False,
        ),
    ],
)
def test_units(text: str, path: str, unit: str, of_pod: bool) -> None:
    assert (path_of(text), unit_of(path_of(text)), is_pod(path)) == (path, unit, of_pod)
