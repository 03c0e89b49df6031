"""/sys/devices/system/node: NUMA nodes, memory, huge pages (ABI/stable/sysfs-devices-node)."""

import re

from cpuplan.base.cpuset import EMPTY, MAX_CPU, CpuSet
from cpuplan.base.topology import MAX_NUMA_NODE
from cpuplan.importers.machine import NumaFacts, in_several
from cpuplan.importers.sysroot.values import DECIMAL, Reader

NODES = "sys/devices/system/node"
# the kernel's are bytes (ACPI, "System Locality Information Table")
_DISTANCE = re.compile(r"[0-9]{1,3}")


def numa_nodes(reader: Reader, cpus: CpuSet) -> tuple[NumaFacts, ...]:
    """The NUMA nodes of the kernel; a CPU in several (broken firmware) belongs to the lowest."""
    nodes = []
    rest = cpus
    for number in reader.numbered(NODES, "node", MAX_NUMA_NODE):
        folder = f"{NODES}/node{number}"
        members = reader.set(f"{folder}/cpulist", f"{folder}/cpumap")
        # links are the last resort: dumps often have none, or point all of them at the node itself
        if members is None:
            members = CpuSet(reader.numbered(folder, "cpu", MAX_CPU))
        memory, distances = _memory(reader, folder), _distances(reader, folder)
        pages = _huge_pages(reader, f"{folder}/hugepages")
        nodes.append(NumaFacts(number, members & rest, memory, distances, pages))
        rest -= members
    return tuple(nodes)


def claimed_twice(reader: Reader) -> CpuSet:
    """CPUs that more than one NUMA node lists."""
    listed = []
    for number in reader.numbered(NODES, "node", MAX_NUMA_NODE):
        folder = f"{NODES}/node{number}"
        listed.append(reader.set(f"{folder}/cpulist", f"{folder}/cpumap") or EMPTY)
    return in_several(listed)


def _distances(reader: Reader, folder: str) -> tuple[int, ...]:
    """The node's row of the matrix; () where it is not one."""
    row = (reader.text(f"{folder}/distance") or "").split()
    if len(row) > MAX_NUMA_NODE + 1 or not all(map(_DISTANCE.fullmatch, row)):
        return ()
    return tuple(map(int, row))


def _memory(reader: Reader, folder: str) -> int | None:
    """`Node 0 MemTotal: 131484584 kB` in bytes."""
    match = re.search(r"MemTotal:[ \t]*([0-9]{1,15}) kB", reader.text(f"{folder}/meminfo") or "")
    return int(match[1]) * 1024 if match else None


def _huge_pages(reader: Reader, folder: str) -> dict[int, int]:
    """Configured pages by size in kB."""
    pages = {}
    for name in reader.tree.names(folder):
        size = name.removeprefix("hugepages-").removesuffix("kB")
        count = reader.number(f"{folder}/{name}/nr_hugepages") if DECIMAL.fullmatch(size) else None
        if count is not None and count >= 0 and int(size):
            pages[int(size)] = count
    return dict(sorted(pages.items()))


def huge_pages(reader: Reader) -> dict[int, int]:
    """The machine's configured pages by size in kB; needs no NUMA."""
    return _huge_pages(reader, "sys/kernel/mm/hugepages")
