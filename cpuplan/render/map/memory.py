"""NUMA nodes that are only memory, and how far NUMA nodes are from each other."""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from cpuplan.base.text import counted, plural
from cpuplan.base.topology import UNKNOWN, Topology
from cpuplan.render.map.boxes import Box, Table
from cpuplan.render.map.words import memory_text

#: A table of more NUMA nodes is too large to read.
MOST_NODES = 16
_NONE = "no memory"


class _Memory(NamedTuple):
    """What a NUMA node without CPUs has."""

    size: str  # empty if it is not known
    nearest: str
    devices: tuple[str, ...]


def memory_boxes(topology: Topology, devices: dict[int | None, list[str]]) -> tuple[Box, ...]:
    """A box for each run of like NUMA nodes without CPUs; takes their lines out of `devices`."""
    runs: list[tuple[list[int], _Memory]] = []
    for node, facts in topology.numa_facts.items():
        if node in topology.numa_nodes or node == UNKNOWN:
            continue
        size = "" if facts.memory is None else _size(facts.memory)
        memory = _Memory(size, _nearest(topology, node), tuple(devices.pop(node, ())))
        if runs and runs[-1][1] == memory and runs[-1][0][-1] == node - 1:
            runs[-1][0].append(node)
        else:
            runs.append(([node], memory))
    return tuple(Box(", ".join(_titles(*run)), notes=_notes(run[1])) for run in runs)


def _titles(nodes: list[int], memory: _Memory) -> Iterator[str]:
    several = len(nodes) > 1
    yield f"NUMA nodes {nodes[0]}-{nodes[-1]}" if several else f"NUMA node {nodes[0]}"
    if memory.size:
        yield f"{memory.size} each" if several and memory.size != _NONE else memory.size
    yield "no CPUs"


def _size(memory: int) -> str:
    return memory_text(memory) if memory else _NONE


def _notes(memory: _Memory) -> tuple[str, ...]:
    return (memory.nearest, *memory.devices) if memory.nearest else memory.devices


def distance_table(topology: Topology) -> Table | None:
    """The kernel's distances; None for a single node, for many, and if they are not known."""
    distances = _distances(topology)
    if not 1 < len(distances) <= MOST_NODES:
        return None
    heads = tuple(map(str, distances))
    return Table("NUMA distances", heads, tuple(zip(heads, distances.values(), strict=True)))


def distance_notes(topology: Topology) -> Iterator[str]:
    """How often each distance occurs, if a table would be too large."""
    distances = _distances(topology)
    if len(distances) <= MOST_NODES:
        return
    own = set()
    others: Counter[int] = Counter()
    for index, row in enumerate(distances.values()):
        own.add(row[index])
        others.update(row[:index] + row[index + 1 :])
    words = [f"{distance} to itself" for distance in sorted(own)]
    words += [
        f"{distance} between {counted(others[distance], 'pair')}" for distance in sorted(others)
    ]
    yield f"NUMA distances: {', '.join(words)}"


def _distances(topology: Topology) -> dict[int, tuple[int, ...]]:
    """The rows of the matrix by node; none unless it is square."""
    rows = {node: facts.distances for node, facts in topology.numa_facts.items() if node != UNKNOWN}
    return rows if all(len(row) == len(rows) for row in rows.values()) else {}


def _nearest(topology: Topology, node: int) -> str:
    """The nearest NUMA nodes with CPUs of a node without; nothing if distances are not known."""
    rows = _distances(topology)
    if node not in rows:
        return ""
    index = list(rows).index(node)
    distances = {other: rows[other][index] for other in topology.numa_nodes if other in rows}
    if not distances:
        return ""
    least = min(distances.values())
    near = [str(other) for other, distance in distances.items() if distance == least]
    if len(near) == len(distances) > 1:
        return f"distance {least} from all CPUs"
    return f"distance {least} from NUMA {plural('node', len(near))} {', '.join(near)}"
