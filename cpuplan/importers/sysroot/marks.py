"""Marks that software left: units that switch CPUs off or set huge pages aside, SMT, GRUB.

cpuplan's units have the names and environment of the node tuning operator's, so both are
recognised.
"""

import re
from collections.abc import Iterator

from cpuplan.base.cpuset import EMPTY, MAX_CPU, CpuSet, CpuSetError
from cpuplan.base.topology import MAX_NUMA_NODE
from cpuplan.importers.machine import Machine, Marks
from cpuplan.importers.sysroot import numa as sysfs_numa
from cpuplan.importers.sysroot import sysfs
from cpuplan.importers.sysroot.values import DECIMAL, Reader

UNITS = "etc/systemd/system"
OFFLINE_UNIT = "set-cpus-offline.service"
GRUB_DROP_IN = "etc/default/grub.d/50-cpuplan.cfg"
_PAGES_UNIT = re.compile(r"hugepages-allocation-[0-9]{1,9}kB-NUMA[0-9]{1,4}\.service")
_ENVIRONMENT = re.compile(r'^Environment="?(\w+)=([^"\n]*)"?$', re.MULTILINE)
_GRUB_LINE = re.compile(r'^GRUB_CMDLINE_LINUX="(?:\$GRUB_CMDLINE_LINUX )?(.*)"$', re.MULTILINE)


def read(reader: Reader, machine: Machine) -> Marks:
    """The marks of the machine that `reader` reads; none where the tree lacks such files."""
    control = (reader.text(f"{sysfs.CPUS}/smt/control") or "").strip()
    grub = _GRUB_LINE.search(reader.text(GRUB_DROP_IN) or "")
    return Marks(
        switched_off=_switched_off(reader),
        huge_pages=dict(_huge_pages(reader)),
        smt_off=control in ("off", "forceoff"),
        grub=grub[1] if grub else "",
        linked=dict(_linked(reader, machine.offline)) if machine.offline else {},
    )


def _environment(reader: Reader, unit: str) -> dict[str, str]:
    return dict(_ENVIRONMENT.findall(reader.text(f"{UNITS}/{unit}") or ""))


def _switched_off(reader: Reader) -> CpuSet:
    try:
        return CpuSet.parse_kernel(_environment(reader, OFFLINE_UNIT).get("OFFLINE_CPUS", ""))
    except CpuSetError:
        return EMPTY


def _huge_pages(reader: Reader) -> Iterator[tuple[tuple[int, int], int]]:
    for unit in filter(_PAGES_UNIT.fullmatch, reader.tree.names(UNITS)):
        environment = _environment(reader, unit)
        values = [
            environment.get(key, "") for key in ("NUMA_NODE", "HUGEPAGES_SIZE", "HUGEPAGES_COUNT")
        ]
        if all(map(DECIMAL.fullmatch, values)):
            node, size, count = map(int, values)
            yield (node, size), count


def _linked(reader: Reader, offline: CpuSet) -> Iterator[tuple[int, CpuSet]]:
    for node in reader.numbered(sysfs_numa.NODES, "node", MAX_NUMA_NODE):
        if (
            cpus := CpuSet(reader.numbered(f"{sysfs_numa.NODES}/node{node}", "cpu", MAX_CPU))
            & offline
        ):
            yield node, cpus
