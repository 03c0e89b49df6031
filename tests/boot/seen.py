"""What a booted guest showed, as values: CPUs of tasks, interrupts and files."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from cpuplan.base.cpuset import CpuSet

CPU = "sys/devices/system/cpu"
NODE = "sys/devices/system/node"


class Interrupt(NamedTuple):
    """An interrupt: the device that asks for it, and the CPUs that may get it or do."""

    number: int
    actions: tuple[str, ...]
    allowed: CpuSet
    effective: CpuSet


class Seen(NamedTuple):
    """The folder that `qemu.boot` gave."""

    folder: Path

    def text(self, path: str) -> str:
        """A file as it read on the guest, without its last newline; "" if it was not there."""
        file = self.folder / path.lstrip("/")
        return file.read_text().rstrip("\n") if file.exists() else ""

    def cpus(self, path: str) -> CpuSet:
        """A file that has a list of CPUs."""
        return CpuSet.parse_kernel(self.text(path).strip() or "")

    def mask(self, path: str) -> CpuSet:
        """A file that has a mask of CPUs."""
        return CpuSet.parse_mask(self.text(path).strip())

    def pages(self, node: int, kib: int) -> int:
        """Huge pages of one size on a NUMA node."""
        folder = f"{NODE}/node{node}/hugepages/hugepages-{kib}kB"
        return int(self.text(f"{folder}/nr_hugepages"))

    def cpus_of(self, unit: str) -> CpuSet:
        """The CPUs that the first process of a unit may run on."""
        for cgroup in sorted(self.folder.glob("proc/[0-9]*/task/[0-9]*/cgroup")):
            if cgroup.read_text().strip().endswith(f"/{unit}"):
                return _allowed(cgroup.with_name("status"))
        raise AssertionError(f"no process of {unit} was seen")

    def processes(self) -> Iterator[tuple[str, CpuSet]]:
        """Name and CPUs of every process that is no kernel thread and runs in no pod."""
        for line in sorted(self.folder.glob("proc/[0-9]*/cmdline")):
            process = line.parent
            status = process / "task" / process.name / "status"
            if status.exists() and "/kubepods" not in status.with_name("cgroup").read_text():
                yield status.with_name("comm").read_text().strip(), _allowed(status)

    def interrupts(self) -> Iterator[Interrupt]:
        """Every interrupt that a device has asked for."""
        actions: dict[int, list[str]] = {}
        for line in self.text("actions").splitlines():
            if match := re.fullmatch(r"/proc/irq/(\d+)/(.+)/", line):
                actions.setdefault(int(match[1]), []).append(match[2])
        for number, names in sorted(actions.items()):
            folder = f"proc/irq/{number}"
            allowed = self.cpus(f"{folder}/smp_affinity_list")
            effective = self.cpus(f"{folder}/effective_affinity_list")
            yield Interrupt(number, tuple(names), allowed, effective)


def _allowed(status: Path) -> CpuSet:
    return CpuSet.parse_kernel(status.read_text().split(":", 1)[1].strip())
