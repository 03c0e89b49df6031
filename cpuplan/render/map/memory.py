"""NUMA nodes that are only memory, and how far NUMA nodes are from each other."""

from collections import Counter

from cpuplan.model.topology import UNKNOWN, Topology
from cpuplan.render.map.boxes import Box, Table, memory_text
from cpuplan.text import counted

#: More NUMA nodes than this make no table that people read.
MOST_NODES = 16


def memory_boxes(topology: Topology, devices: dict[int | None, list[str]]) -> tuple[Box, ...]:
    """A box for each run of like NUMA nodes without CPUs. Takes the lines of their devices out of
    `devices`.
    """
    runs: list[tuple[list[int], tuple[str, str, tuple[str, ...]]]] = []
    for node, facts in topology.numa_facts.items():
        if node in topology.numa_nodes or node == UNKNOWN:
            continue
        memory = (
            ""
            if facts.memory is None
            else memory_text(facts.memory)
            if facts.memory
            else "no memory"
        )
        what = (memory, _nearest(topology, node), tuple(devices.pop(node, ())))
        if runs and runs[-1][1] == what and runs[-1][0][-1] == node - 1:
            runs[-1][0].append(node)
        else:
            runs.append(([node], what))
    return tuple(_memory_box(nodes, *what) for nodes, what in runs)


def _memory_box(nodes: list[int], memory: str, nearest: str, devices: tuple[str, ...]) -> Box:
    several = len(nodes) > 1
    name = f"NUMA nodes {nodes[0]}-{nodes[-1]}" if several else f"NUMA node {nodes[0]}"
    each = " each" * (several and memory[:1].isdigit())
    title = ", ".join(filter(None, (name, memory + each if memory else "", "no CPUs")))
    return Box(title, notes=(*([nearest] if nearest else []), *devices))


def distance_table(topology: Topology) -> Table | None:
    """The distances as the kernel tells them; None for one node, for many, and where they are not
    known.
    """
    rows = _rows(topology)
    if not 1 < len(rows) <= MOST_NODES:
        return None
    heads = tuple(map(str, rows))
    return Table("NUMA distances", heads, tuple((str(node), row) for node, row in rows.items()))


def distance_notes(topology: Topology) -> tuple[str, ...]:
    """How often each distance is found, where a table would be too large."""
    rows = _rows(topology)
    if len(rows) <= MOST_NODES:
        return ()
    own = Counter(row[index] for index, row in enumerate(rows.values()))
    others = Counter(
        distance
        for index, row in enumerate(rows.values())
        for distance in row[:index] + row[index + 1 :]
    )
    words = [f"{distance} to itself" for distance in sorted(own)]
    words += [
        f"{distance} between {counted(count, 'pair')}" for distance, count in sorted(others.items())
    ]
    return (f"NUMA distances: {', '.join(words)}",)


def _rows(topology: Topology) -> dict[int, tuple[int, ...]]:
    """The rows of the matrix; none unless it is square."""
    rows = {node: facts.distances for node, facts in topology.numa_facts.items() if node != UNKNOWN}
    return rows if all(len(row) == len(rows) for row in rows.values()) else {}


def _nearest(topology: Topology, node: int) -> str:
    """The NUMA nodes with CPUs that a memory-only node is near to; nothing where that is all of
    them.
    """
    rows = _rows(topology)
    far = {
        other: rows[other][index]
        for index, each in enumerate(rows)
        if each == node
        for other in topology.numa_nodes
        if other in rows
    }
    if not far:
        return ""
    least = min(far.values())
    near = [str(other) for other, distance in far.items() if distance == least]
    if len(near) == len(far) > 1:
        return f"distance {least} from all CPUs"
    return f"distance {least} from NUMA node{'s' if len(near) > 1 else ''} {', '.join(near)}"
