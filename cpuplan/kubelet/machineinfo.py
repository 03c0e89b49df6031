"""The machine as cadvisor reports it to the kubelet (cadvisor utils/sysinfo/sysinfo.go,
machine/machine.go).

What cadvisor gets wrong decides what the kubelet does: a cache counts as that of a whole NUMA node
when it is shared by just (cores of the node) x (threads of this core) CPUs, so that offline threads
turn node caches into uncore caches.
"""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from cpuplan.cpuset import CpuSet
from cpuplan.kubelet.cpu.topology import MachineCore, MachineNode
from cpuplan.kubelet.errors import KubeletError
from cpuplan.kubelet.memory.memorymanager import NodeMemory

CPUS, NODES = "sys/devices/system/cpu", "sys/devices/system/node"
_CPU, _NODE, _INDEX = (
    re.compile("cpu([0-9]+)"),
    re.compile("node([0-9]+)"),
    re.compile("index[0-9]+"),
)
_HUGEPAGES = re.compile("hugepages-([0-9]+)kB")
_MEMORY = re.compile(r"MemTotal:\s*([0-9]+) kB")
_SOCKET = re.compile(r"^physical id\s*:\s*([0-9]+)", re.MULTILINE)


class Cache(NamedTuple):
    """A cache of a CPU; `shared` is how many CPUs share it."""

    id: int
    level: int
    type: str
    size: str
    shared: int


class Node(NamedTuple):
    """A NUMA node, or a package where the kernel has no NUMA nodes and so no distances.

    `caches` are those of the whole node, by id.
    """

    cores: MachineNode
    memory: NodeMemory
    distances: tuple[int, ...] | None
    caches: tuple[int, ...]


class MachineInfo(NamedTuple):
    """Nodes in the order of their directories' names: node0, node1, node10, node2."""

    nodes: tuple[Node, ...]
    num_cpus: int  # cadvisor's NumCores
    num_sockets: int


class Tree:
    """A file tree below a root: the text of files, and directories that may be empty."""

    def __init__(self, files: Mapping[str, str], folders: Iterable[str] = ()) -> None:
        self._files = files
        self._children: dict[str, set[str]] = {}
        for path in [*files, *folders]:
            left = path
            while left:
                left, _, name = left.rpartition("/")
                self._children.setdefault(left, set()).add(name)

    def names(self, folder: str, pattern: re.Pattern[str]) -> list[str]:
        """The matching names in a folder, in the order of their letters."""
        return sorted(name for name in self._children.get(folder, ()) if pattern.fullmatch(name))

    def read(self, path: str) -> str | None:
        return self._files.get(path)


def read_machine_info(tree: Tree) -> MachineInfo:
    """GetNodesInfo and GetSockets; KubeletError for a machine without CPUs."""
    online = _online(tree)
    folders = tree.names(NODES, _NODE)
    nodes = [_read_node(tree, name, online) for name in folders]
    count = sum(len(core.threads) for node in nodes for core in node.cores.cores)
    if not folders:
        nodes = _packages(tree, online)
        count = len(tree.names(CPUS, _CPU))
    return MachineInfo(tuple(nodes), count, _count_sockets(tree, online))


def _online(tree: Tree) -> CpuSet | None:
    """The CPUs that are online; None (all) where the kernel does not tell."""
    text = tree.read(f"{CPUS}/online")
    return None if text is None else CpuSet.parse_kernel(text)


def _number(name: str) -> int:
    return int(re.sub("[^0-9]", "", name))


def _read_node(tree: Tree, name: str, online: CpuSet | None) -> Node:
    folder = f"{NODES}/{name}"
    cores = _read_cores(tree, folder, tree.names(folder, _CPU), online)
    cores, caches = _add_caches(tree, cores)
    memory = _MEMORY.search(tree.read(f"{folder}/meminfo") or "")
    pages = tuple(
        (_number(size), int(tree.read(f"{folder}/hugepages/{size}/nr_hugepages") or 0))
        for size in tree.names(f"{folder}/hugepages", _HUGEPAGES)
    )
    number = _number(name)
    return Node(
        MachineNode(number, cores),
        NodeMemory(number, int(memory[1]) * 1024 if memory else 0, pages),
        tuple(map(int, (tree.read(f"{folder}/distance") or "").split())),
        caches,
    )


def _packages(tree: Tree, online: CpuSet | None) -> list[Node]:
    """One node for each package, where the kernel has none (getCPUTopology)."""
    names = tree.names(CPUS, _CPU)
    if not names:
        raise KubeletError("could not detect number of cpus")
    packages: dict[int, list[str]] = {}
    for name in names:
        text = tree.read(f"{CPUS}/{name}/topology/physical_package_id")
        if text is not None:
            packages.setdefault(int(text), []).append(name)
    nodes = []
    for package, cpus in sorted(packages.items()):
        cores, caches = _add_caches(tree, _read_cores(tree, CPUS, cpus, online))
        nodes.append(Node(MachineNode(package, cores), NodeMemory(package, 0), None, caches))
    return nodes


def _read_cores(
    tree: Tree, folder: str, cpus: Iterable[str], online: CpuSet | None
) -> tuple[MachineCore, ...]:
    """Cores by core_id and package; CPUs that are offline, or say neither, are skipped
    (getCoresInfo).
    """
    threads: dict[tuple[int, int], list[int]] = {}
    for name in cpus:
        core = tree.read(f"{folder}/{name}/topology/core_id")
        package = tree.read(f"{folder}/{name}/topology/physical_package_id")
        if core is not None and package is not None and (online is None or _number(name) in online):
            threads.setdefault((int(core), int(package)), []).append(_number(name))
    return tuple(
        MachineCore(core, package, tuple(found), ()) for (core, package), found in threads.items()
    )


def _add_caches(
    tree: Tree, cores: tuple[MachineCore, ...]
) -> tuple[tuple[MachineCore, ...], tuple[int, ...]]:
    """The cores with their uncore caches, and the caches of the node (addCacheInfo).

    Cores after one whose caches cannot be read have none.
    """
    whole: list[Cache] = []
    found = list(cores)
    for index, core in enumerate(cores):
        caches = _read_caches(tree, core.threads[0])
        if caches is None:
            break
        node_size = len(cores) * len(core.threads)
        own: list[Cache] = []
        for cache in caches:
            listed = whole if cache.shared == node_size else own
            if cache.level > 2 and cache._replace(shared=0) not in [
                known._replace(shared=0) for known in listed
            ]:
                listed.append(cache)
        found[index] = core._replace(uncore_caches=tuple(cache.id for cache in own))
    return tuple(found), tuple(cache.id for cache in whole)


def _read_caches(tree: Tree, cpu: int) -> list[Cache] | None:
    """All caches of a CPU; None when a file is missing."""
    folder = f"{CPUS}/cpu{cpu}/cache"
    caches = []
    names = tree.names(folder, _INDEX)
    for name in names:
        words = [
            tree.read(f"{folder}/{name}/{file}")
            for file in ("id", "level", "type", "size", "shared_cpu_map")
        ]
        number, level, kind, size, shared = [
            None if word is None else word.strip() for word in words
        ]
        if number is None or level is None or kind is None or size is None or shared is None:
            return None
        count = sum(int(word, 16).bit_count() for word in shared.split(","))
        caches.append(Cache(int(number), int(level), kind, size, count))
    return caches if names else None


def _count_sockets(tree: Tree, online: CpuSet | None) -> int:
    """Distinct physical ids in /proc/cpuinfo, or else packages of online CPUs."""
    found = set(_SOCKET.findall(tree.read("proc/cpuinfo") or ""))
    if not found:
        for name in tree.names(CPUS, _CPU):
            package = tree.read(f"{CPUS}/{name}/topology/physical_package_id")
            if package is not None and (online is None or _number(name) in online):
                found.add(package)
    return len(found)
