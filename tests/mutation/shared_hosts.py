"""The booted hosts beside the checkout, where they are: roots, and what else was seen on them.

What was seen of tasks, interrupts, control groups and sysctls becomes files of the root, as the
script of snapshots has them.
"""

import json
import lzma
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from cpuplan import pipeline
from cpuplan.base.cpuset import CpuSet
from cpuplan.base.roots.archive import ArchiveReader, Index, pieces_of
from cpuplan.check.roots.limits import KEEPING, LIMITS
from cpuplan.check.roots.root import Kind
from tests import captured, checked
from tests.mutation.image import Content, Image
from tests.mutation.mutation import Case

FOLDER = Path(__file__).parents[3] / "shared" / "hosts"
#: Nodes of the project, by folder. The third was booted by hand, with busybox for systemd.
NODES: Mapping[str, str] = {"kubernetes-full": "vm0", "openshift-tuned": "vm2"}
_KERNEL, _BOUND = 0x00200000, 0x04000000
_CPUS = 16
_STATUS = (
    "Name:\t{comm}\nState:\tS (sleeping)\nPid:\t{tid}\nPPid:\t{parent}\n"
    "Cpus_allowed:\t{mask}\nCpus_allowed_list:\t{allowed}\nMems_allowed_list:\t{mems}\n"
)


def names() -> list[str]:
    """The hosts that are there."""
    return [name for name in NODES if (FOLDER / name / "observed.json.xz").exists()]


@cache
def case(name: str) -> Case:
    """A host with all that was seen on it."""
    folder = FOLDER / name
    reader = ArchiveReader(Index(pieces_of(str(folder / "root.tar.xz")), KEEPING), LIMITS)
    observed = json.loads(lzma.decompress((folder / "observed.json.xz").read_bytes()))
    plan = _plan().by_node["lab", NODES[name]]
    expected = checked.expected(plan)
    image = Image(reader, Kind.COPY).but({**dict(_files(observed)), **captured.compiled(expected)})
    return Case(name, image, expected)


@cache
def _plan() -> Any:
    plan, problems = pipeline.solve(pipeline.load(FOLDER / "project"))
    assert not problems, problems
    return plan


def _files(observed: Mapping[str, Any]) -> Iterator[tuple[str, Content]]:
    for task in observed["tasks"]:
        yield from _task(task)
    for number, irq in observed["irqs"].items():
        place = f"proc/irq/{number}"
        yield f"{place}/smp_affinity_list", f"{irq['aff']}\n"
        yield f"{place}/effective_affinity_list", f"{irq['eff']}\n"
    yield "proc/irq/default_smp_affinity", f"{observed['irq_default']}\n"
    yield "proc/interrupts", observed["interrupts"]
    yield "cpuplan/dmesg", observed["dmesg"]
    for place, files in observed["cgroups"].items():
        for name, text in files.items():
            yield f"{place.lstrip('/')}/{name}", f"{text}\n"
    for line in observed["sysctl"].splitlines():
        key, equals, value = line.partition(" = ")
        if equals:
            yield f"proc/sys/{key.replace('.', '/')}", f"{value}\n"
    for part in ("wq", "huge", "rcu", "mods"):
        for path, text in observed[part].items():
            if "Errno" not in text:
                yield path.lstrip("/"), f"{text.strip()}\n"


def _task(task: Mapping[str, str]) -> Iterator[tuple[str, Content]]:
    is_kernel = task["kthread"] == "1"
    allowed = CpuSet.parse_kernel(task["allowed"])
    # Not among what was seen: bound are threads of one CPU, and rescuers of workqueues to all CPUs.
    flags = _KERNEL * is_kernel | _BOUND * (is_kernel and len(allowed) in (1, _CPUS))
    parent = "0" if task["pid"] in ("1", "2") else "2" if is_kernel else "1"
    fields = ["S", parent, "0", "0", "0", "0", str(flags), *["0"] * 29]
    fields += [task["psr"], task["rtprio"], task["policy"], *["0"] * 11]
    status = _STATUS.format(**task, parent=parent, mask=allowed.short_mask())
    places = [f"proc/{task['pid']}/task/{task['tid']}"]
    if task["pid"] == task["tid"]:
        places.append(f"proc/{task['pid']}")
    for place in places:
        yield f"{place}/status", status
        yield f"{place}/stat", f"{task['tid']} ({task['comm']}) {' '.join(fields)}\n"
        yield f"{place}/comm", f"{task['comm']}\n"
        yield f"{place}/cgroup", f"{task['cgroup']}\n"
