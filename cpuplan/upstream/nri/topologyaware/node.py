"""Pools: parts of the machine in a tree, with the CPUs that they have and may still give.

Upstream: containers/nri-plugins cmd/plugins/topology-aware/policy/node.go
  @ 83d986e963ad28ca31790102af6d509c7b7e7d45
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from cpuplan.upstream.nri.libmem import Mask
from cpuplan.upstream.nri.system import DRAM, HBM, PMEM

ROOT, SOCKET, DIE, NUMA, L3 = "virtual node", "socket", "die", "numa node", "L3 cache"
#: Levels of `unlimitedBurstable` by the kind of pool; the index is the depth of a level.
LEVELS = ("", "system", "package", "die", "numa", "l3cache", "l2cache", "core", "thread")
LEVEL_OF = {ROOT: 1, SOCKET: 2, DIE: 3, NUMA: 4, L3: 5}
TYPE_BIT = {DRAM: 1, PMEM: 2, HBM: 4}


@dataclass(slots=True, eq=False)
class Pool:
    """A pool. `isolated` and `sharable` are all of it, `free_…` what exclusive grants have left.

    `memory` are its nodes by type; granted amounts are thousandths of a CPU of this pool alone.
    """

    name: str
    kind: str
    parent: "Pool | None"
    isolated: int
    reserved: int
    sharable: int
    memory: dict[str, Mask]
    number: int = 0
    children: list["Pool"] = field(default_factory=list)
    free_isolated: int = 0
    free_sharable: int = 0
    granted_reserved: int = 0
    granted_shared: int = 0

    @property
    def level(self) -> int:
        return LEVEL_OF[self.kind]

    @property
    def depth(self) -> int:
        return sum(1 for _ in self.ancestors())

    def ancestors(self) -> Iterator["Pool"]:
        """Its parent first."""
        above = self.parent
        while above is not None:
            yield above
            above = above.parent

    def subtree(self) -> Iterator["Pool"]:
        """Children before their parents: the order of the numbers."""
        for child in self.children:
            yield from child.subtree()
        yield self

    def nodes(self, types: Mask) -> Mask:
        """Its memory nodes of the types."""
        chosen = 0
        for name, nodes in self.memory.items():
            chosen |= nodes if types & TYPE_BIT[name] else 0
        return chosen

    def subtree_granted(self, reserved: bool = False) -> int:
        """What is granted here and below."""
        pools = self.subtree()
        return sum(pool.granted_reserved if reserved else pool.granted_shared for pool in pools)

    def allocatable_reserved(self) -> int:
        """-1 for a pool without reserved CPUs."""
        if not self.reserved:
            return -1
        chain = (self, *self.ancestors())
        return min(1000 * pool.reserved.bit_count() - pool.subtree_granted(True) for pool in chain)

    def take_exclusive(self, cpus: int) -> None:
        """Exclusive CPUs are shared nowhere in the pool, below it and above it."""
        for pool in (*self.subtree(), *self.ancestors()):
            pool.free_isolated &= ~cpus
            pool.free_sharable &= ~cpus

    def give_back(self, cpus: int) -> None:
        for pool in (*self.subtree(), *self.ancestors()):
            pool.free_isolated |= cpus & pool.isolated
            pool.free_sharable |= cpus & pool.sharable
