"""The tree in which balloons look for CPUs: packages, dies, NUMA nodes, L2 caches, cores, threads.

CPUs without an L2 cache are missing, and there is no level for the L3 cache (cputree.go).
"""

from collections.abc import Iterator
from typing import NamedTuple

from cpuplan.upstream.kubelet.bits import members
from cpuplan.upstream.nri.sysfs.system import Cache, System

_L2 = 2


class TreeNode(NamedTuple):
    """A place with the CPUs of its children."""

    level: str
    name: str
    cpus: int
    children: tuple["TreeNode", ...]

    def walk(self) -> Iterator["TreeNode"]:
        """This node and everything below it."""
        yield self
        for child in self.children:
            yield from child.walk()


def build(system: System) -> TreeNode:
    """The tree of a machine."""
    packages = []
    for package in system.packages.values():
        name = f"p{package.package}"
        dies = [_die(system, f"{name}d{die}", nodes) for die, nodes in package.die_nodes.items()]
        packages.append(_parent("package", name, dies))
    return _parent("system", "system", packages)


def _parent(level: str, name: str, children: list[TreeNode]) -> TreeNode:
    cpus = 0
    for child in children:
        cpus |= child.cpus
    return TreeNode(level, name, cpus, tuple(children))


def _die(system: System, name: str, nodes: tuple[int, ...]) -> TreeNode:
    return _parent("die", name, [_numa(system, f"{name}n{node}", node) for node in nodes])


def _numa(system: System, name: str, node: int) -> TreeNode:
    """All CPUs of the node are here, also those of other dies and packages."""
    caches: dict[Cache, None] = {}
    for cpu in members(system.nodes[node].cpus):
        if cpu in system.cpus:
            caches.update(dict.fromkeys(system.cpus[cpu].caches_of_level(_L2)))
    return _parent("numa", name, [_cache(system, name, cache) for cache in caches])


def _cache(system: System, node: str, cache: Cache) -> TreeNode:
    cores, seen = [], 0
    for cpu in members(cache.cpus):
        if seen >> cpu & 1:
            continue
        threads = system.cpus[cpu].threads
        seen |= threads
        name = f"{node}cpu{cpu}"
        leaves = [
            TreeNode("thread", f"{name}t{thread}", 1 << thread, ()) for thread in members(threads)
        ]
        cores.append(_parent("core", name, leaves))
    return _parent("l2cache", f"{node}${cache.id}", cores)


def split(tree: TreeNode) -> TreeNode:
    """The tree with each NUMA node split by the index of threads in their cores (SplitLevel)."""
    classes: dict[int, int] = {}
    indexes = _thread_indexes(tree)
    for cpu in members(tree.cpus):
        index = indexes[cpu]
        classes[index] = classes.get(index, 0) | 1 << cpu
    return _split(tree, classes)


def _thread_indexes(tree: TreeNode) -> dict[int, int]:
    indexes: dict[int, int] = {}
    for core in tree.walk():
        for index, thread in enumerate(core.children if core.level == "core" else ()):
            indexes.setdefault(members(thread.cpus)[0], index)
    return indexes


def _split(node: TreeNode, classes: dict[int, int]) -> TreeNode:
    if node.level != "numa":
        return node._replace(children=tuple(_split(child, classes) for child in node.children))
    children = []
    for index, cpus in classes.items():
        inside = [kept for child in node.children if (kept := _cut(child, cpus))]
        name = f"{node.name}class{index}"
        children.append(TreeNode("numa", name, node.cpus & cpus, tuple(inside)))
    return node._replace(children=tuple(children))


def _cut(node: TreeNode, cpus: int) -> TreeNode | None:
    """What is left of a node with only these CPUs; None if nothing is."""
    if not node.cpus & cpus:
        return None
    inside = [kept for child in node.children if (kept := _cut(child, cpus))]
    return TreeNode(node.level, node.name, node.cpus & cpus, tuple(inside))
