"""The memory of each NUMA node.

The kernel counts less than is built in: firmware, the kernel's map of pages (1/64) and a crash
kernel take their part. So a node may have less by 1/32 and 256 MiB, and by 512 MiB more with
`crashkernel=`; a module of memory is more than that. It may have more by as much.
"""

import re
from collections.abc import Iterator

from cpuplan.base.quantity import to_text
from cpuplan.check.machine.files import NODES
from cpuplan.check.machine.online import is_another
from cpuplan.check.subject import Subject
from cpuplan.plan.expected.answer import Answer

_TOTAL = re.compile(r"MemTotal:[ \t]+([0-9]{1,15}) kB")
_MIB = 1024**2
_PART, _FIXED, _CRASH_KERNEL = 32, 256 * _MIB, 512 * _MIB


def memory(subject: Subject) -> Iterator[Answer]:
    """Each node's memory as in the inventory, by what the kernel has of it."""
    if is_another(subject):
        return
    spare = _FIXED
    if "crashkernel=" in (subject.root.read("proc/cmdline") or ""):
        spare += _CRASH_KERNEL
    for node, facts in subject.expected.topology.numa_facts.items():
        path = f"{NODES}/node{node}/meminfo"
        if facts.memory is not None:
            match = _TOTAL.search(subject.root.read(path) or "")
            found = int(match[1]) * 1024 if match else None
            yield _answer(subject, f"NUMA node {node}", path, facts.memory, found, spare)


def _answer(
    subject: Subject, what: str, path: str, wanted: int, found: int | None, spare: int
) -> Answer:
    fact = f"machine memory of {what}"
    if found is None:
        return subject.unverifiable(fact, path, "there is no such file here")
    known, seen = to_text(wanted // _MIB * _MIB), to_text(found // _MIB * _MIB)
    if abs(found - wanted) <= wanted // _PART + spare:
        return subject.held(fact, path)._replace(expected=known, observed=seen)
    return subject.differs(
        fact,
        "CP818",
        path,
        observed=seen,
        expected=known,
        hardware=subject.expected.hardware,
        differences=f"{what} has {seen} of memory instead of {known}",
    )
