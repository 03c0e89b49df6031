"""A node with threads, control groups and containers that holds all.

Each fact is broken once, and exactly its finding appears."""

from collections.abc import Callable
from pathlib import Path

import pytest

from cpuplan.base.cpuset import CpuSet
from cpuplan.plan import ConfiguredPlan
from tests import checked, kubepods, processes
from tests.hosts import CPU, make_root
from tests.kubepods import MOUNT, PODS, container_path, pod_path
from tests.machines.plans import plan, regular
from tests.processes import Thread

Change = Callable[[Path], object]

ONLINE, SYSTEM = "0-15", "0-1,4,8-9,12"
#: The pool of the kubelet, what best effort pods have of it, and what CRI-O gives sandboxes.
POOL, BEST_EFFORT, INFRA = "5-6,13-14", "5,13", "0,4,8,12"
FAST, RADIO, WEB = "1a", "2b", "3c"
SERVICE = "/system.slice/sshd.service"
PARTITION = "cpuset.cpus.partition"


def planned() -> ConfiguredPlan:
    options = {"full-pcpus-only": "true", "strict-cpu-reservation": "true"}
    return plan(
        regular(sockets=2, cores=4, threads=2),
        reserved=INFRA,
        shared="1,9",
        isolcpus="7,15",
        sets={"bestEffort": BEST_EFFORT},
        platform="kubernetes",
        version="1.34",
        spec={
            "kubelet": {"topologyManagerPolicy": "restricted", "cpuManagerPolicyOptions": options},
            "workloadHints": {"realTime": True},
        },
    )


def make(plan: ConfiguredPlan, root: Path) -> Path:
    """A pod with exclusive CPUs, one with shared CPUs besides, and one of best effort."""
    make_root(plan, root)
    kubepods.write_root(root, ONLINE)
    best_effort = f"{PODS}/kubepods-besteffort.slice"
    kubepods.write_group(root, best_effort, BEST_EFFORT, BEST_EFFORT)
    kubepods.write_pod(root, FAST, {"10a": INFRA, "11a": "2,10"}, ONLINE)
    kubepods.write_pod(root, RADIO, {"20b": INFRA, "21b": "1,3,9,11"}, ONLINE)
    kubepods.write_pod(root, WEB, {"30c": INFRA, "31c": POOL}, BEST_EFFORT, "besteffort")
    kubepods.write_state(root, POOL, {FAST: {"fast": "2,10"}, RADIO: {"radio": "3,11"}})
    processes.write(root, *_threads())
    environ = "OPENSHIFT_ISOLATED_CPUS=3,11\0OPENSHIFT_SHARED_CPUS=1,9\0"
    (root / "proc/210/environ").write_text(environ)
    return root


def _threads() -> list[Thread]:
    kernel = {"kthreadd": 2, "khugepaged": 60}
    callbacks = [Thread(100 + cpu, f"rcuop/{cpu}", SYSTEM, is_kernel=True) for cpu in range(16)]
    return [
        Thread(1, "systemd", SYSTEM, "/init.scope"),
        *(
            Thread(
                pid,
                name,
                "0-7" if name == "kswapd0" else SYSTEM,
                is_kernel=True,
                priority=11 * (pid == 15),
            )
            for name, pid in kernel.items()
        ),
        *callbacks,
        Thread(70, "kworker/u32:0", SYSTEM, is_kernel=True, is_bound=True),
        Thread(71, "kworker/3:1", "3", is_kernel=True, is_bound=True),
        Thread(80, "sshd", SYSTEM, SERVICE),
        Thread(95, "tuned", SYSTEM, "/system.slice/tuned.service"),
        Thread(96, "stalld", SYSTEM, "/system.slice/stalld.service"),
        Thread(81, "conmon", INFRA, "/system.slice/crio-conmon-11a.scope"),
        Thread(82, "dpdk", "7,15", "/system.slice/dpdk.service"),
        Thread(190, "pause", INFRA, f"/{container_path(FAST, '10a')}"),
        Thread(200, "fast", "2,10", f"/{container_path(FAST, '11a')}"),
        Thread(200, "poll", "10", f"/{container_path(FAST, '11a')}", tid=201),
        Thread(210, "radio", "1,3,9,11", f"/{container_path(RADIO, '21b')}/cgroup-child"),
        Thread(310, "web", BEST_EFFORT, f"/{container_path(WEB, '31c', 'besteffort')}"),
    ]


def _thread(pid: int, name: str, allowed: str, group: str = "", tid: int = 0) -> Change:
    """Of the kernel without a group."""
    thread = Thread(pid, name, allowed, group or "/", is_kernel=not group, tid=tid)
    return lambda root: processes.write(root, thread)


def _file(path: str, text: str) -> Change:
    def write(root: Path) -> None:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"{text}\n")

    return write


def _group(path: str, file: str, text: str) -> Change:
    return _file(f"{MOUNT}/{path}/{file}", text)


def _foreign(state: str, cpus: str) -> Change:
    return lambda root: kubepods.write_group(
        root, "other.slice", cpus, cpus, cpuset_cpus_partition=state
    )


def _several(*changes: Change) -> Change:
    return lambda root: [change(root) for change in changes]


def _without(path: str) -> Change:
    return lambda root: (root / path).rename(root / "removed")


def _state(fast: str) -> Change:
    entries = {FAST: {"fast": fast}, RADIO: {"radio": "3,11"}}
    rest = CpuSet.parse(f"{POOL},2,10") - CpuSet.parse(fast)
    return lambda root: kubepods.write_state(root, str(rest), entries)


def _has(cpus: str) -> Change:
    """The container has these CPUs, and the pool has the rest."""
    rest = CpuSet.parse(f"{POOL},2,10") - CpuSet.parse(cpus)

    def write(root: Path) -> None:
        kubepods.write_group(root, _FAST, cpus, cpus)
        kubepods.write_group(root, _WEB, str(rest), BEST_EFFORT)
        processes.write(root, *(Thread(200, "x", cpus, f"/{_FAST}", tid=tid) for tid in (200, 201)))
        processes.write(root, Thread(310, "web", str(rest), f"/{_WEB}"))

    return write


_FAST, _RADIO = container_path(FAST, "11a"), container_path(RADIO, "21b")
_WEB = container_path(WEB, "31c", "besteffort")
#: A clean node has all of these otherwise.
BROKEN: dict[str, tuple[Change, str]] = {
    "PID 1 on all CPUs": (_thread(1, "systemd", ONLINE, "/init.scope"), "CP836"),
    "a service on an isolated CPU": (_thread(80, "sshd", "0-2", SERVICE), "CP836"),
    "one thread of a service": (_thread(80, "sshd", "2", SERVICE, tid=90), "CP836"),
    "a program beside isolcpus": (_thread(82, "dpdk", "6-7", "/system.slice/d.service"), "CP836"),
    "a session": (_thread(83, "sh", ONLINE, "/user.slice/session-1.scope"), "CP836"),
    "a thread of no unit": (_thread(84, "sh", ONLINE, "/"), "CP836"),
    "kthreadd": (_thread(2, "kthreadd", ONLINE), "CP837"),
    "khugepaged": (_thread(60, "khugepaged", "2"), "CP837"),
    "an RCU thread that runs on the CPU it should spare": (_thread(102, "rcuop/2", "2"), "CP837"),
    "a worker of unbound work": (_thread(70, "kworker/u32:0", "0-3"), "CP837"),
    "no RCU thread for a CPU": (_without("proc/103"), "CP838"),
    "the priority of RCU": (_thread(15, "rcu_preempt", SYSTEM), "CP838"),
    "a partition of others": (_foreign("isolated", "6,14"), "CP839"),
    "a partition root of others": (_foreign("root", "6,14"), "CP839"),
    "an invalid partition": (
        _foreign("isolated invalid (Cpu list in cpuset.cpus not exclusive)", "6,14"),
        "CP839",
    ),
    "an invalid partition of a container": (
        _group(_FAST, PARTITION, "isolated invalid (Parent is not a partition root)"),
        "CP839",
    ),
    "CPUs that have leaked": (_file(f"{MOUNT}/cpuset.cpus.isolated", "2,10"), "CP839"),
    "a partition that is not seen": (_file(f"{MOUNT}/cpuset.cpus.effective", "0-13"), "CP839"),
    "no list of what isolcpus= isolates": (
        _several(_without(f"{CPU}/isolated"), _file(f"{MOUNT}/cpuset.cpus.isolated", "7,15")),
        "CP806",
    ),
    "stale exclusive CPUs": (_group(PODS, "cpuset.cpus.exclusive", "2,10"), "CP839"),
    "the cpuset of a container": (_group(_FAST, "cpuset.cpus", "2-3"), "CP857"),
    "a container in the pool": (_group(_FAST, "cpuset.cpus", POOL), "CP857"),
    "less CPUs in force": (_group(_FAST, "cpuset.cpus.effective", "2"), "CP857"),
    "a container of the pool": (_group(_WEB, "cpuset.cpus", ONLINE), "CP857"),
    "a thread of the pool": (_thread(310, "web", ONLINE, f"/{_WEB}"), "CP857"),
    "a container of the pool without a cpuset": (
        _several(_group(_WEB, "cpuset.cpus", ""), _thread(310, "web", "0-7", f"/{_WEB}")),
        "CP857",
    ),
    "shared CPUs that a container lacks": (_group(_RADIO, "cpuset.cpus", "1,3,11"), "CP857"),
    "a thread of a container": (_thread(200, "x", "2-3", f"/{_FAST}", tid=202), "CP857"),
    "an entry of a pod that is gone": (_without(f"{MOUNT}/{pod_path(RADIO)}"), "CP857"),
    "the quota of a container": (_group(_FAST, "cpu.max", "100000 100000"), "CP858"),
    "the quota of a pod": (_group(pod_path(FAST), "cpu.max", "15000 10000"), "CP858"),
    "the quota of all pods": (_group(PODS, "cpu.max", "50000 100000"), "CP858"),
    "the quota inside a container": (
        _group(f"{_RADIO}/cgroup-child", "cpu.max", "200000 100000"),
        "CP858",
    ),
    "a container without a cpuset": (
        _several(_group(_WEB, "cpuset.cpus", ""), _group(_WEB, "cpuset.cpus.effective", ONLINE)),
        "CP857",
    ),
    "the limit of a pod": (_group(pod_path(FAST), "cpuset.cpus", "5-6"), "CP862"),
    "the memory of all pods": (_group(PODS, "cpuset.mems", "0"), "CP862"),
    "services on isolated CPUs": (
        lambda root: kubepods.write_group(root, "site.slice", "2-3", "2-3"),
        "CP862",
    ),
    "memory of another NUMA node": (_group(_FAST, "cpuset.mems", "1"), "CP859"),
    "no controller": (_file(f"{MOUNT}/cgroup.controllers", "cpu memory pids"), "CP8221"),
    "throttling": (
        _several(
            _group(_FAST, "cpu.max", "200000 100000"),
            _group(_FAST, "cpu.stat", "nr_periods 9\nnr_throttled 3"),
        ),
        "CP858",
    ),
    "half a core": (_several(_state("5-6"), _has("5-6")), "CP859"),
    "two NUMA nodes": (_several(_state("2,6,10,14"), _has("2,6,10,14")), "CP859"),
    "a slice of pods": (
        _group(f"{PODS}/kubepods-besteffort.slice", "cpuset.cpus", ONLINE),
        "CP862",
    ),
    "a limit that nobody planned": (
        _group(f"{PODS}/kubepods-burstable.slice", "cpuset.cpus", "0-3"),
        "CP862",
    ),
    "a limit of all pods": (_group(PODS, "cpuset.cpus", "0-7"), "CP862"),
    "a sandbox": (_thread(190, "pause", ONLINE, f"/{container_path(FAST, '10a')}"), "CP864"),
    "the cpuset of a sandbox": (
        _group(container_path(FAST, "10a"), "cpuset.cpus", "0-1,4"),
        "CP864",
    ),
    "conmon": (_thread(81, "conmon", SYSTEM, "/system.slice/crio-conmon-11a.scope"), "CP864"),
    "shared CPUs of a container that was not started again": (
        _several(
            _file("proc/210/environ", "OPENSHIFT_ISOLATED_CPUS=3,11\0OPENSHIFT_SHARED_CPUS=1\0"),
            _group(_RADIO, "cpuset.cpus", "1,3,11"),
            _thread(210, "radio", "1,3,11", f"/{_RADIO}"),
        ),
        "CP864",
    ),
    "exclusive CPUs of a container that was not started again": (
        _file("proc/210/environ", "OPENSHIFT_ISOLATED_CPUS=2,11\0OPENSHIFT_SHARED_CPUS=1,9\0"),
        "CP864",
    ),
}
#: Nothing of this matters.
SAME: dict[str, Change] = {
    "another order": _group(_FAST, "cpuset.cpus", "10,2"),
    "a quota that is enough": _group(_FAST, "cpu.max", "200000 100000"),
    "a quota of what exec starts": _group(f"{_FAST}/exec", "cpu.max", "1000 100000"),
    "offline CPUs in an affinity": _thread(80, "sshd", f"{SYSTEM},16-31", SERVICE),
    "all CPUs in all pods": _group(PODS, "cpuset.cpus", ONLINE),
    "a thread pinned within its container": _thread(200, "x", "2", f"/{_FAST}", tid=202),
    "a process that has ended": lambda root: processes.write(
        root, Thread(85, "sh", ONLINE, SERVICE, state="Z")
    ),
    "a kernel thread of one CPU": _thread(86, "idle_inject/3", "3"),
    "a partition of a container": _several(
        _group(_FAST, PARTITION, "isolated"),
        _group(_FAST, "cpuset.cpus.exclusive", "2,10"),
        _group(_FAST, "cpuset.cpus.exclusive.effective", "2,10"),
        _group(pod_path(FAST), "cpuset.cpus.exclusive", "2,10"),
        _group(PODS, "cpuset.cpus.exclusive", "2,10"),
        _file(f"{MOUNT}/cpuset.cpus.isolated", "2,10"),
        _file(f"{MOUNT}/cpuset.cpus.effective", "0-1,3-9,11-15"),
    ),
}


@pytest.fixture(scope="module")
def node() -> ConfiguredPlan:
    return planned()


def codes(root: Path, node: ConfiguredPlan) -> list[str]:
    return [finding.code for finding in checked.findings(root, node)]


def test_a_clean_node(tmp_path: Path, node: ConfiguredPlan) -> None:
    assert codes(make(node, tmp_path), node) == []


@pytest.mark.parametrize(("change", "code"), BROKEN.values(), ids=BROKEN)
def test_one_fact_is_broken(
    tmp_path: Path, node: ConfiguredPlan, change: Change, code: str
) -> None:
    change(make(node, tmp_path))
    assert codes(tmp_path, node) == [code]


@pytest.mark.parametrize("change", SAME.values(), ids=SAME)
def test_what_does_not_matter(tmp_path: Path, node: ConfiguredPlan, change: Change) -> None:
    change(make(node, tmp_path))
    assert codes(tmp_path, node) == []
