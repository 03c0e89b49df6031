"""Nodes of `tests/rejected/` with other values in force, or without what their plan builds on."""

from collections.abc import Callable
from pathlib import Path

from cpuplan.base.cpuset import CpuSet
from tests import kubepods, processes
from tests.hosts import CPU
from tests.processes import Thread

Step = Callable[[Path], object]

_WORKQUEUES = "sys/devices/virtual/workqueue"
_CARD = "sys/class/net/eth0"
_ISOLATED = "1-3,5-7,9-11,13-15"


def _file(path: str, text: str) -> Step:
    def write(project: Path) -> None:
        place = project / "node" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    return write


def _groups(project: Path) -> None:
    kubepods.write_root(project / "node", "0-15")


def _groups_of_version_1(project: Path) -> None:
    mount = project / "node" / kubepods.MOUNT
    (mount / "cpuset").mkdir(parents=True)
    (mount / "cpuset/cpuset.cpus").write_text("0-15\n")


def _threads(*threads: Thread) -> Step:
    return lambda project: processes.write(project / "node", *threads)


CASES: dict[str, tuple[Step, ...]] = {
    "CP8200-later-write": (_file("proc/sys/vm/stat_interval", "1\n"),),
    "CP8201-transparent-pages": (
        _file("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n"),
    ),
    "CP8202-no-packet-steering": (_file("proc/sys/net/core/somaxconn", "4096\n"),),
    "CP8203-all-cpus": (_file(f"{_WORKQUEUES}/cpumask", "ffff\n"),),
    "CP8204-writeback": (_file(f"{_WORKQUEUES}/writeback/cpumask", "000e\n"),),
    "CP8205-older-queue": (_file(f"{_CARD}/queues/rx-2/rps_cpus", "0003\n"),),
    "CP8206-all-queues": (
        _file(f"{_CARD}/device/vendor", "0x15b3\n"),
        *(_file(f"{_CARD}/queues/rx-{queue}/rps_cpus", "0000\n") for queue in range(16)),
    ),
    "CP8207-usual-kernel": (
        _file("proc/version", "Linux version 5.14.0-570.el9.x86_64 #1 SMP PREEMPT_DYNAMIC\n"),
    ),
    "CP8208-governor": (_file(f"{CPU}/cpu5/cpufreq/scaling_governor", "powersave\n"),),
    "CP8209-new-thread": (
        _file("proc/300/comm", "tuned\n"),
        _file("proc/301/comm", "stalld\n"),
        _threads(
            Thread(14, "ksoftirqd/0", "0", is_kernel=True, is_bound=True, priority=2),
            Thread(22, "ksoftirqd/1", "1", is_kernel=True, is_bound=True, priority=11),
            *(
                Thread(100 + cpu, f"rcuop/{cpu}", "0,4,8,12", is_kernel=True, priority=11)
                for cpu in CpuSet.parse(_ISOLATED)
            ),
        ),
    ),
    "CP8210-timer": (
        _file("etc/systemd/system/timers.target.wants/fwupd-refresh.timer", "[Timer]\n"),
    ),
    "CP8220-version-1": (_groups_of_version_1,),
    "CP8221-no-controller": (
        _groups,
        _file("sys/fs/cgroup/cgroup.controllers", "cpu memory pids\n"),
    ),
    "CP8222-dropped-list": (
        _file(
            "cpuplan/dmesg",
            "[    0.000000] Linux version 6.8.0-45-generic\n"
            f"[    0.000000] rcu: \tOffload RCU callbacks from CPUs: {_ISOLATED}.\n"
            "[    0.000000] rcu: \tNote: kernel parameter 'rcu_nocbs=' contains nonexistent CPUs."
            "\n",
        ),
    ),
    "CP8223-installed-with": (
        _file("etc/kubernetes/openshift-workload-pinning", '{"management": {"cpuset": "0-1"}}\n'),
    ),
    "CP8224-cgroupfs": (
        _file(
            "etc/crio/crio.conf.d/10-site.conf",
            '[crio.runtime]\ncgroup_manager = "cgroupfs"\nconmon_cgroup = "pod"\n',
        ),
    ),
    "CP8225-taken-away": (
        _file("proc/901/comm", "kubelet\n"),
        _file(
            "proc/901/cmdline",
            "/usr/bin/kubelet\0--config=/var/lib/kubelet/config.yaml\0"
            "--config-dir=/etc/kubernetes/kubelet.conf.d\0",
        ),
        _file("var/lib/kubelet/memory_manager_state", "{}"),
    ),
}
