"""NUMA nodes and the type of their memory (discoverNodes)."""

from cpuplan.upstream.kubelet.errors import PanicError
from cpuplan.upstream.nri.errors import INDEX
from cpuplan.upstream.nri.sysfs.files import Files, NodeFiles
from cpuplan.upstream.nri.sysfs.system import DRAM, HBM, PMEM, Node

#: A machine without nodes has the memory of /proc/meminfo, which is not known here: enough for all.
_SOME_MEMORY = 1 << 40


def discover(files: Files) -> dict[int, Node]:
    """The nodes; PanicError where their ids are not 0 to n-1.

    The list of distances has one entry for each node and is read at the nodes' ids.
    """
    if not files.nodes:
        return {0: Node(0, files.online, _SOME_MEMORY, DRAM, (10,), 0, 0)}
    distances = _symmetric(files.nodes)
    average = _average_dram(files.nodes)
    nodes = {}
    for entry in sorted(files.nodes):
        memory = _memory_type(entry, average)
        vector = distances[entry.node]
        nodes[entry.node] = Node(entry.node, entry.cpus, entry.memory, memory, vector, 0, 0)
    return nodes


def _symmetric(nodes: tuple[NodeFiles, ...]) -> dict[int, tuple[int, ...]]:
    """Distances; where they differ between two nodes, the average is taken for both."""
    vectors = {entry.node: list(entry.distances) for entry in nodes}
    for node, mine in vectors.items():
        for other, theirs in vectors.items():
            if node == other:
                continue
            if other >= len(mine) or node >= len(theirs):
                raise PanicError(INDEX)
            if mine[other] != theirs[node]:
                mine[other] = theirs[node] = (mine[other] + theirs[node]) // 2
    return {node: tuple(vector) for node, vector in vectors.items()}


def _average_dram(nodes: tuple[NodeFiles, ...]) -> int:
    """The average memory of nodes with CPUs."""
    with_cpus = [entry.memory for entry in nodes if entry.cpus]
    return sum(with_cpus) // max(1, len(with_cpus))


def _memory_type(entry: NodeFiles, average: int) -> str:
    """A node without CPUs has special memory: a small one is fast, a large one persistent."""
    if entry.cpus:
        return DRAM
    return HBM if entry.memory < average else PMEM
