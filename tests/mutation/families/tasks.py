"""Threads: of the system on isolated CPUs, PID 1, and kernel threads that could be moved."""

import re
from collections.abc import Iterator

from cpuplan.base.cpuset import CpuSet
from tests.mutation.image import Content
from tests.mutation.mutation import Case, Mutation, named

_ALLOWED = re.compile(r"(?m)^Cpus_allowed_list:.*$")
_MASK = re.compile(r"(?m)^Cpus_allowed:.*$")
#: Stays where the kernel bound it (include/linux/sched.h).
_BOUND = 0x04000000


def mutations(case: Case) -> Iterator[Mutation]:
    """One of each kind."""
    isolated = case.expected.cpus("isolated CPUs") & case.expected.cpus("online CPUs")
    if not isolated or not case.image.names("proc"):
        return
    if case.image.text("proc/1/status") and case.expected.settings.of("systemd"):
        changes = moved(case, "1", isolated)
        yield Mutation("tasks", "PID 1 moved", changes, "CPUAffinity|isolated|PID 1|proc/1/")
    for pid in case.image.names("proc"):
        if _is_program(case, pid):
            comm = (case.image.text(f"proc/{pid}/comm") or "").strip()
            yield Mutation("tasks", f"{comm} moved", moved(case, pid, isolated), named(comm))
            break
    yield from _kernel(case, isolated)


def _is_program(case: Case, pid: str) -> bool:
    cgroup = case.image.text(f"proc/{pid}/cgroup") or ""
    status = case.image.text(f"proc/{pid}/status") or ""
    comm = (case.image.text(f"proc/{pid}/comm") or "").strip()
    parent = re.search(r"(?m)^PPid:\s*(\d+)", status)
    return (
        pid.isdecimal()
        and pid != "1"
        and "kubepods" not in cgroup
        and bool(status)
        and comm not in ("sh", "cpuplan-snapshot")
        and parent is not None
        and parent[1] not in ("0", "2")
    )


def _kernel(case: Case, isolated: CpuSet) -> Iterator[Mutation]:
    """A kernel thread that is not bound, and that a tickless kernel keeps off isolated CPUs."""
    if not case.expected.settings.values("kernel").get("nohz_full"):
        return
    for pid in case.image.names("proc"):
        stat = case.image.text(f"proc/{pid}/stat") or ""
        fields = stat.rpartition(")")[2].split()
        if not pid.isdecimal() or len(fields) < 7 or fields[1] != "2" or int(fields[6]) & _BOUND:
            continue
        comm = (case.image.text(f"proc/{pid}/comm") or "").strip()
        if comm.startswith(("kcompactd", "kswapd", "rcu", "irq/", "kworker")):
            continue
        yield Mutation(
            "tasks", f"{comm} moved", moved(case, pid, isolated), f"{named(comm)}|kernel thread"
        )
        return


def moved(case: Case, pid: str, cpus: CpuSet) -> dict[str, Content]:
    """All threads of a process with other CPUs, and standing on the first of them."""
    changes: dict[str, Content] = {}
    folders = [
        f"proc/{pid}",
        *(f"proc/{pid}/task/{tid}" for tid in case.image.names(f"proc/{pid}/task")),
    ]
    for folder in folders:
        status = case.image.text(f"{folder}/status")
        stat = case.image.text(f"{folder}/stat")
        if status:
            status = _ALLOWED.sub(f"Cpus_allowed_list:\t{cpus}", status)
            changes[f"{folder}/status"] = _MASK.sub(f"Cpus_allowed:\t{cpus.short_mask()}", status)
        if stat:
            head, end, tail = stat.rpartition(")")
            fields = tail.split(" ")
            if len(fields) > 37:
                fields[37] = str(cpus.first)
            changes[f"{folder}/stat"] = head + end + " ".join(fields)
    return changes
