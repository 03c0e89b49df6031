"""Nodes of `tests/rejected/` with threads, control groups and containers."""

from collections.abc import Callable, Mapping
from pathlib import Path

from cpuplan.base.cpuset import CpuSet, union
from tests import kubepods, processes
from tests.processes import Thread

Step = Callable[[Path], object]

#: worker-0: its CPUs, the reserved ones, those that the kubelet gives away, and one container's.
ONLINE, RESERVED, ISOLATED, OWN = "0-15", "0,4,8,12", "1-3,5-7,9-11,13-15", "1,9"
POD, OTHER_POD = "0d9bd4b5-1f3c-4ad6-8a0e-7c3a1e6f2b11", "5a2c7e90-66b1-4c0f-9f2d-1b8e0c4d7a22"
PAUSE, APP = "aa17c0de4411b2c3", "bb28d1ef5522c3d4"
_SYSTEM = "/system.slice"
_SCOPE = f"/{kubepods.container_path(POD, APP)}"
_PAUSE_SCOPE = f"/{kubepods.container_path(POD, PAUSE)}"
INIT = Thread(1, "systemd", RESERVED, "/init.scope")


def _threads(*threads: Thread) -> Step:
    return lambda project: processes.write(project / "node", *threads)


def _group(path: str, cpus: str, effective: str, **files: str) -> Step:
    return lambda project: kubepods.write_group(project / "node", path, cpus, effective, **files)


def _pods(
    own: str = OWN, entries: Mapping[str, Mapping[str, str]] | None = None, assigned: str = OWN
) -> Step:
    """A pod with a container that has CPUs of its own."""

    def write(project: Path) -> None:
        root = project / "node"
        kubepods.write_root(root, ONLINE)
        kubepods.write_pod(root, POD, {PAUSE: RESERVED, APP: own}, ONLINE)
        given = entries or {POD: {"app": assigned}}
        sets = (CpuSet.parse(cpus) for containers in given.values() for cpus in containers.values())
        kubepods.write_state(root, str(CpuSet.parse(ONLINE) - union(sets)), given)

    return write


def _file(path: str, text: str) -> Step:
    def write(project: Path) -> None:
        place = project / "node" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    return write


def _root(effective: str, isolated: str) -> Step:
    def write(project: Path) -> None:
        kubepods.write_root(project / "node", ONLINE)
        folder = project / "node" / kubepods.MOUNT
        (folder / "cpuset.cpus.effective").write_text(f"{effective}\n")
        (folder / "cpuset.cpus.isolated").write_text(f"{isolated}\n")

    return write


def _callbacks(cpus: str) -> list[Thread]:
    return [
        Thread(100 + int(cpu), f"rcuop/{cpu}", RESERVED, is_kernel=True) for cpu in cpus.split()
    ]


CASES: dict[str, tuple[Step, ...]] = {
    "CP836-first-process": (
        _threads(
            INIT._replace(allowed=ONLINE), Thread(700, "sshd", ONLINE, "/system.slice/ssh.service")
        ),
    ),
    "CP836-service": (
        _threads(
            INIT,
            *(
                Thread(700, "backup", "0-3", "/system.slice/backup.service", tid=700 + n)
                for n in range(3)
            ),
            Thread(800, "sh", "5", "/user.slice/user-0.slice/session-1.scope"),
        ),
    ),
    "CP837-moved": (
        _threads(
            INIT,
            Thread(2, "kthreadd", ONLINE, is_kernel=True),
            *_callbacks("1 2 3 5 6 7 9 10 11 13 14 15"),
        ),
    ),
    "CP838-no-thread": (
        _threads(
            INIT,
            Thread(15, "rcu_preempt", RESERVED, is_kernel=True, priority=11),
            *_callbacks("1 2 3 5 6 7 9 10 11"),
        ),
    ),
    "CP839-partition-of-others": (
        _root("0-5,8-13", ""),
        _group("dpdk.slice", "6-7,14-15", "6-7,14-15", cpuset_cpus_partition="root"),
    ),
    "CP839-leaked": (_root("0-13", "14-15"),),
    "CP857-moved": (_pods("2-3"),),
    "CP857-pod-is-gone": (_pods(OWN, {POD: {"app": OWN}, OTHER_POD: {"sim": "2,10"}}),),
    "CP858-too-small": (
        _pods(),
        _group(kubepods.container_path(POD, APP), OWN, OWN, cpu_max="150000 100000"),
    ),
    "CP859-half-a-core": (_pods("1-2", assigned="1-2"),),
    "CP864-started-before": (
        _pods(),
        _threads(INIT, Thread(900, "pause", ONLINE, _PAUSE_SCOPE), Thread(910, "app", OWN, _SCOPE)),
    ),
    "CP864-other-shared-cpus": (
        _pods("2-3,10", assigned="2,10"),
        _threads(
            INIT, Thread(900, "pause", RESERVED, _PAUSE_SCOPE), Thread(910, "app", "2-3,10", _SCOPE)
        ),
        _file("proc/910/environ", "OPENSHIFT_ISOLATED_CPUS=2,10\0OPENSHIFT_SHARED_CPUS=3\0"),
    ),
}
