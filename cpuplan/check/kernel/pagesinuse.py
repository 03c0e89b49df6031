"""Huge pages that programs outside of pods use or have promised to themselves."""

import re
from collections.abc import Iterator

from cpuplan.check.kernel.pagepools import POOLS, Pages, read, size_text
from cpuplan.check.subject import Subject
from cpuplan.plan.expected.answer import Answer, Heals

_GROUPS = "sys/fs/cgroup"
#: A pod's group with systemd and with cgroupfs.
_POD = re.compile(r"(?:\A|-)pod[0-9a-f]")


def foreign_use(subject: Subject, each: Pages) -> Iterator[Answer]:
    """Pages in use that no pod has: the kubelet promises them, and a pod that gets them ends."""
    used = each.number - each.free
    by_pods = _used_by_pods(subject, each.kib) if used > 0 else 0
    if used <= 0 or by_pods is None:
        return
    if used > by_pods:
        yield subject.differs(
            f"huge pages of {size_text(each.kib)} that pods do not use",
            "CP819",
            each.path.replace("nr_hugepages", "free_hugepages"),
            observed=f"{used} of {each.number} in use",
            expected=f"{by_pods} in use by pods",
            heals=Heals.LIVE,
            size=size_text(each.kib),
            number=each.number,
            used=used,
            pods=by_pods,
        )


def with_reserved(subject: Subject, each: Pages) -> Pages:
    """Pages that the machine's pool counts as free and promised (reserved), or as used.

    A program has promised pages when it maps them, before it touches one.
    """
    folder = f"{POOLS}/hugepages-{each.kib}kB"
    free, reserved = (read(subject, f"{folder}/{kind}_hugepages") for kind in ("free", "resv"))
    left = min(each.free, each.free if free is None else free)
    return each._replace(free=left - (reserved or 0))


def _used_by_pods(subject: Subject, kib: int) -> int | None:
    """Pages in the control groups of pods; None where that cannot be known, 0 without pods."""
    names = subject.root.names(_GROUPS)
    if "cgroup.controllers" not in names and "hugetlb" not in names:
        return None
    folder = _GROUPS if "cgroup.controllers" in names else f"{_GROUPS}/hugetlb"
    pods = [name for name in subject.root.names(folder) if name.startswith("kubepods")]
    if not pods:
        return 0
    unit = f"{kib // 1024**2}GB" if kib >= 1024**2 else f"{kib // 1024}MB"
    unit = unit if kib >= 1024 else f"{kib}KB"
    used = [
        read(subject, f"{folder}/{pod}/hugetlb.{unit}.{kind}")
        for pod in pods
        for kind in ("current", "usage_in_bytes")
    ]
    bytes_of = [each for each in used if each is not None]
    if bytes_of:
        return sum(bytes_of) // (kib * 1024)
    return None if any(_has_pods(subject, f"{folder}/{pod}") for pod in pods) else 0


def _has_pods(subject: Subject, path: str) -> bool:
    """Whether the group of all pods has one, itself or in the groups of its QoS classes."""
    names = subject.root.names(path)
    further = [each for name in names for each in subject.root.names(f"{path}/{name}")]
    return any(_POD.search(name) for name in (*names, *further))
