"""Building the tree of pools (buildPoolsByTopology)."""

from collections.abc import Iterator
from typing import NamedTuple

from cpuplan.upstream.nri.errors import NriError
from cpuplan.upstream.nri.libmem.nodes import Mask
from cpuplan.upstream.nri.sysfs.system import DRAM, HBM, PMEM, Node, Package, System
from cpuplan.upstream.nri.topologyaware.pool import DIE, L3, NUMA, ROOT, SOCKET, Pool


class Cpus(NamedTuple):
    """What the policy may use at all, and which of these CPUs are isolated and reserved."""

    allowed: int
    isolated: int
    reserved: int


def build(system: System, cpus: Cpus) -> list[Pool]:
    """The pools in the order of their numbers: the last is the root."""
    _check_distances(system)
    builder = _Builder(system, cpus)
    root = builder.machine()
    pools = list(root.subtree())
    for number, pool in enumerate(pools):
        pool.number = number
    return pools


def _check_distances(system: System) -> None:
    nodes = system.nodes
    for node in nodes.values():
        for other in nodes:
            there, back = node.distances[other], nodes[other].distances[node.node]
            if there != back:
                raise NriError(
                    f"topology-aware: asymmetric NUMA distance (#{node.node}, #{other}): "
                    f"{there} != {back}"
                )


class _Builder:
    def __init__(self, system: System, cpus: Cpus) -> None:
        self._system = system
        self._cpus = cpus

    def machine(self) -> Pool:
        """A root above the sockets only where there are several."""
        packages = self._system.packages
        if len(packages) < 2:
            (only,) = packages.values()
            return self._socket(only, None)
        root = self._pool("root", ROOT, None, self._system.all_cpus)
        for package in packages.values():
            self._socket(package, root)
        return root

    def _socket(self, package: Package, root: Pool | None) -> Pool:
        socket = self._pool(f"socket #{package.package}", SOCKET, root, package.cpus)
        if self._has_dies(package):
            for die, inside in package.die_cpus.items():
                name = f"die #{package.package}/{die}"
                pool = self._pool(name, DIE, socket, inside)
                self._nodes_or_caches(package, pool, list(package.die_nodes[die]), inside)
        else:
            on = sorted({node for nodes in package.die_nodes.values() for node in nodes})
            self._nodes_or_caches(package, socket, on, package.cpus)
        return socket

    def _has_dies(self, package: Package) -> bool:
        """A single die is none, and dies that are clusters are none either."""
        if len(package.die_cpus) < 2:
            return False
        clusters: dict[int, set[int]] = {}
        for cpu in self._system.cpus.values():
            if cpu.online and cpu.package == package.package:
                clusters.setdefault(cpu.die, set()).add(cpu.cluster)
        return any(len(inside) > 1 for inside in clusters.values())

    def _nodes_or_caches(self, package: Package, pool: Pool, nodes: list[int], cpus: int) -> None:
        if len(nodes) < 2:
            self._caches(package, pool, cpus)
            return
        for number in nodes:
            node = self._system.nodes[number]
            if node.memory:
                below = self._pool(f"NUMA node #{number}", NUMA, pool, node.cpus)
                self._caches(package, below, node.cpus)

    def _caches(self, package: Package, pool: Pool, cpus: int) -> None:
        """A pool for each L3 cache that is inside, if there are several."""
        caches = {
            number: behind
            for number, behind in self._l3_caches(package).items()
            if behind & cpus == behind
        }
        for number, behind in caches.items() if len(caches) > 1 else ():
            self._pool(f"{pool.name}/L3 cache #{number}", L3, pool, behind)

    def _l3_caches(self, package: Package) -> dict[int, int]:
        """By id: the first level-3 cache of each CPU."""
        caches: dict[int, int] = {}
        for cpu in self._system.cpus.values():
            third = cpu.caches_of_level(3) if package.cpus >> cpu.cpu & 1 else []
            if third:
                caches.setdefault(third[0].id, third[0].cpus)
        return dict(sorted(caches.items()))

    def _pool(self, name: str, kind: str, parent: Pool | None, cpus: int) -> Pool:
        mine = cpus & self._cpus.allowed
        isolated, reserved = mine & self._cpus.isolated, mine & self._cpus.reserved
        sharable = mine & ~isolated & ~reserved
        nodes = self._all_nodes() if parent is None else self._near(cpus)
        pool = Pool(name, kind, parent, isolated, reserved, sharable, _by_type(nodes))
        pool.free_isolated, pool.free_sharable = isolated, sharable
        if parent is not None:
            parent.children.append(pool)
        return pool

    def _all_nodes(self) -> list[Node]:
        return [node for node in self._system.nodes.values() if node.memory]

    def _near(self, cpus: int) -> list[Node]:
        """Nodes with some of the CPUs, and special memory that is nearest to one of these."""
        near = [node for node in self._system.nodes.values() if node.cpus & cpus]
        numbers = {node.node for node in near}
        special = [node for node in self._special() if set(self._nearest(node)) & numbers]
        return [*near, *special]

    def _special(self) -> Iterator[Node]:
        for node in self._system.nodes.values():
            if node.memory and not node.cpus and node.memory_type in (PMEM, HBM):
                yield node

    def _nearest(self, node: Node) -> list[int]:
        """The nodes with CPUs at the smallest distance."""
        distances = {
            other.node: node.distances[other.node]
            for other in self._system.nodes.values()
            if other.node != node.node and other.cpus and other.memory_type == DRAM
        }
        shortest = min(distances.values(), default=0)
        return [other for other, distance in distances.items() if distance == shortest]


def _by_type(nodes: list[Node]) -> dict[str, Mask]:
    memory = {DRAM: 0, PMEM: 0, HBM: 0}
    for node in nodes:
        memory[node.memory_type] |= 1 << node.node
    return memory
