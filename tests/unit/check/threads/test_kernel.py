"""Kernel threads: which ones a boot with nohz_full= moves."""

from pathlib import Path

import pytest

from cpuplan.base.cpuset import CpuSet
from cpuplan.check.roots.root import Root
from cpuplan.check.threads import kernel
from cpuplan.check.threads.tasks import read_threads
from tests.processes import Thread, write

ISOLATED = CpuSet.parse("2-3")


def moved(root: Path, thread: Thread, *, with_stat: bool = True) -> list[str]:
    write(root, thread, with_stat=with_stat)
    tasks = kernel.moved(read_threads(Root(root)))
    return [task.name for task in tasks if task.allowed & ISOLATED]


@pytest.mark.parametrize("with_stat", [True, False])
@pytest.mark.parametrize("name", ["kthreadd", "khugepaged", "rcu_preempt", "rcuop/2", "rcuog/0"])
@pytest.mark.parametrize("allowed", ["0-3", "2"])
def test_these_are_moved(tmp_path: Path, name: str, allowed: str, with_stat: bool) -> None:
    thread = Thread(2, name, allowed, is_kernel=True)
    assert moved(tmp_path, thread, with_stat=with_stat) == [name]
    assert moved(tmp_path, thread._replace(allowed="0-1"), with_stat=with_stat) == []


@pytest.mark.parametrize("with_stat", [True, False])
@pytest.mark.parametrize(
    ("name", "allowed", "is_bound"),
    [
        ("ksoftirqd/2", "2", True),
        ("migration/2", "2", True),
        ("kworker/2:1-events", "2", True),
        ("kworker/7:0-events", "0-3", True),
        ("writeback", "0-3", True),
        ("irq/24-nvme0q1", "2", False),
        ("idle_inject/2", "2", False),
        ("kswapd0", "0-3", False),
        ("kcompactd1", "2-3", False),
    ],
)
def test_these_stay(
    tmp_path: Path,
    name: str,
    allowed: str,
    is_bound: bool,
    with_stat: bool,
) -> None:
    thread = Thread(9, name, allowed, is_kernel=True, is_bound=is_bound)
    assert moved(tmp_path, thread, with_stat=with_stat) == []


def test_a_movable_thread_on_one_isolated_cpu_is_no_thread_of_that_cpu(tmp_path: Path) -> None:
    assert moved(tmp_path, Thread(9, "jbd2/sda1-8", "2", is_kernel=True)) == ["jbd2/sda1-8"]


def test_callback_threads_of_both_flavours(tmp_path: Path) -> None:
    names = ("rcuop/0", "rcuos/2", "rcuog/3")
    write(tmp_path, *(Thread(20 + i, name, "0", is_kernel=True) for i, name in enumerate(names)))
    threads = read_threads(Root(tmp_path))
    assert str(kernel.without_callback_threads(threads, CpuSet.parse("0,2-3"))) == "3"


def test_priorities_are_those_of_grace_periods(tmp_path: Path) -> None:
    names = {"rcu_preempt": 11, "rcuc/1": 1, "rcuog/0": 0, "rcub/0": 11, "rcu_gp": 0}
    write(
        tmp_path,
        *(
            Thread(20 + i, name, "0", is_kernel=True, priority=priority)
            for i, (name, priority) in enumerate(names.items())
        ),
    )
    tasks = kernel.of_grace_periods(read_threads(Root(tmp_path)))
    assert [task.name for task in tasks if not kernel.has_priority(task, 11)] == ["rcuc/1"]
    write(tmp_path, Thread(20, "rcu_preempt", "0", is_kernel=True), with_stat=False)
    (tmp_path / "proc/20/task/20/stat").unlink()
    assert "rcu_preempt" not in [
        task.name for task in kernel.of_grace_periods(read_threads(Root(tmp_path)))
    ]
