"""What numactl(8) prints with -H or --hardware: NUMA nodes, their CPUs, memory and distances."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from cpuplan.base.cpuset import EMPTY, MAX_CPU, CpuSet, union
from cpuplan.base.topology import MAX_NUMA_NODE
from cpuplan.importers.base import MAX_MEMORY, NumaFacts
from cpuplan.importers.lscpu.tables import RowError

_AVAILABLE = re.compile(r"available: ([0-9]{1,5}) nodes?\b")
_FIELD = re.compile(r"node ([0-9]{1,5}) (cpus|size):(.*)")
#: The header of the matrix has the numbers of its columns, each row its own before the colon.
_HEADER = re.compile(r"node((?:\s+[0-9]{1,5})+)")
_DISTANCES = re.compile(r"([0-9]{1,5}):((?:\s+[0-9]{1,3})+)")
_NUMBERS = re.compile(r"(?:\s+[0-9]{1,5})*")
_SIZE = re.compile(r"([0-9]{1,12}) MB")


class NumaList(NamedTuple):
    """The NUMA nodes of one machine, ascending."""

    nodes: tuple[NumaFacts, ...]

    @property
    def online(self) -> CpuSet:
        """The CPUs of all nodes; the kernel lists those that are online."""
        return union(node.cpus for node in self.nodes)


def parse(text: str) -> NumaList:
    """The nodes of an output. Raises RowError."""
    count, columns = 0, []
    cpus: dict[int, CpuSet] = {}
    memory: dict[int, int] = {}
    rows: dict[int, tuple[int, ...]] = {}
    for place, line in _lines(text):
        if match := _AVAILABLE.match(line):
            count = int(match[1])
        elif match := _FIELD.fullmatch(line):
            number = int(match[1])
            if number > MAX_NUMA_NODE or (match[2] == "cpus" and number in cpus):
                raise RowError(place, line, "it is no NUMA node, or one that came before")
            if match[2] == "cpus":
                cpus[number] = _cpus(place, line, match[3])
            elif size := _SIZE.fullmatch(match[3].strip()):
                memory[number] = min(int(size[1]) * 1024**2, MAX_MEMORY)
        elif match := _HEADER.fullmatch(line):
            columns = [int(number) for number in match[1].split()]
        elif match := _DISTANCES.fullmatch(line):
            rows[int(match[1])] = tuple(map(int, match[2].split()))
    if len(cpus) != count:
        raise RowError("available", f"{count} nodes", f"CPUs of {len(cpus)} nodes follow")
    _check_matrix(sorted(cpus), columns, rows)
    return NumaList(tuple(_nodes(cpus, memory, rows)))


def _check_matrix(numbers: list[int], columns: list[int], rows: dict[int, tuple[int, ...]]) -> None:
    widths = {len(row) for row in rows.values()}
    if rows and (columns != numbers or sorted(rows) != numbers or widths != {len(numbers)}):
        raise RowError("node distances", str(columns), "they are not of the nodes that are listed")


def _lines(text: str) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(text.splitlines(), start=1):
        yield f"line {number}", line.strip()


def _cpus(place: str, line: str, numbers: str) -> CpuSet:
    if not _NUMBERS.fullmatch(numbers) or any(int(cpu) > MAX_CPU for cpu in numbers.split()):
        raise RowError(place, line, f"they are not numbers of CPUs up to {MAX_CPU}")
    return CpuSet(map(int, numbers.split()))


def _nodes(
    cpus: dict[int, CpuSet], memory: dict[int, int], rows: dict[int, tuple[int, ...]]
) -> Iterator[NumaFacts]:
    """Of several nodes, a CPU is in the lowest."""
    seen = EMPTY
    for number in sorted(cpus):
        yield NumaFacts(number, cpus[number] - seen, memory.get(number), rows.get(number, ()), {})
        seen |= cpus[number]
