"""The cores of a machine as rows of a document: lists of threads, and the kernel's ids."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.emit import Flow
from cpuplan.importers.machine import Machine

#: The CPUs of a core, ascending.
_Core = tuple[int, ...]


def cores(machine: Machine) -> Iterator[dict[str, Any]]:
    """A row for all cores of one type and width, as long as every list of their threads ascends."""
    default = _default_ids(machine)
    for kind, chain in _chains(machine):
        threads = [CpuSet(cpus).kernel_list() for cpus in zip(*chain, strict=True)]
        ids = _core_ids(machine.core_ids, default, chain)
        yield {"type": kind, "threads": Flow(threads), "ids": Flow(ids) if ids else None}


def _chains(machine: Machine) -> list[tuple[str, list[_Core]]]:
    """The cores that become a row together, with their type."""
    chains: list[tuple[str, list[_Core]]] = []
    for siblings in machine.siblings:
        core = tuple(siblings)
        kind = machine.core_types.get(core[0], "")
        for name, chain in chains:
            if name == kind and _continues(chain[-1], core):
                chain.append(core)
                break
        else:
            chains.append((kind, [core]))
    return chains


def _continues(last: _Core, core: _Core) -> bool:
    return len(last) == len(core) and all(a < b for a, b in zip(last, core, strict=True))


def _default_ids(machine: Machine) -> dict[int, int]:
    """The core_id that a document without ids stands for: 0, 1, ... within each socket."""
    counts: dict[int, int] = {}
    ids = {}
    for siblings in machine.siblings:
        socket = max(machine.sockets.get(siblings.first, 0), -1)
        number = counts.get(socket, 0)
        ids.update(dict.fromkeys(siblings, number))
        counts[socket] = number + 1
    return ids


def _core_ids(ids: dict[int, int], default: dict[int, int], chain: list[_Core]) -> list[str]:
    """The ids of each list of threads, one list if all are the same; none where they are default.

    -1 stands where the kernel says so, or has an id for other cores only.
    """
    cpus = [cpu for core in chain for cpu in core]
    if not any(cpu in ids for cpu in cpus) or all(ids.get(cpu) == default[cpu] for cpu in cpus):
        return []
    rows = [_row(ids, threads) for threads in zip(*chain, strict=True)]
    differ = any(row != rows[0] for row in rows)
    return [sequence(row) for row in (rows if differ else rows[:1])]


def _row(ids: dict[int, int], threads: Iterable[int]) -> list[int]:
    return [max(ids.get(cpu, -1), -1) for cpu in threads]


def sequence(numbers: Sequence[int]) -> str:
    """`0-2,0-2` for 0, 1, 2, 0, 1, 2."""
    pairs = enumerate(pairwise(numbers), start=1)
    breaks = [at for at, (one, two) in pairs if two != one + 1 or one < 0]
    runs = [numbers[start:end] for start, end in pairwise([0, *breaks, len(numbers)])]
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)
