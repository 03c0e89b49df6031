"""Constraints on whole parts of the machine, and on the share that one set has of another."""

from collections.abc import Iterable
from typing import NamedTuple

from cpuplan.base.cpuset import CpuSet, union
from cpuplan.solve.layout import Scope, View


class Block(NamedTuple):
    """A part that a set can have wholly, and the CPUs that it then has of it.

    These are all of them, or one thread of each core.
    """

    cpus: CpuSet
    size: int


class InOne(NamedTuple):
    """The set is on at most one of these scopes."""

    name: str
    scopes: tuple[Scope, ...]

    def holds(self, view: View) -> bool:
        return sum(bool(view.cpus(self.name) & scope.cpus) for scope in self.scopes) <= 1


class AllOrNone(NamedTuple):
    """The set has each of these blocks wholly, or nothing of it."""

    name: str
    blocks: tuple[Block, ...]

    def holds(self, view: View) -> bool:
        return not self.partly(view)

    def partly(self, view: View) -> CpuSet:
        """The CPUs of the set in blocks that it has not wholly."""
        held = [(view.cpus(self.name) & block.cpus, block.size) for block in self.blocks]
        return union(cpus for cpus, size in held if len(cpus) not in (0, size))


class Share(NamedTuple):
    """The set has as many CPUs of the scope as the table says for those of the other set."""

    name: str
    other: str
    scope: Scope
    table: tuple[int, ...]  # by the number of CPUs of the other set, from none to all

    def holds(self, view: View) -> bool:
        wanted = self.table[view.count(self.other, self.scope.cpus)]
        return view.count(self.name, self.scope.cpus) == wanted


def whole(view: View, name: str, blocks: tuple[Block, ...]) -> int:
    """The number of blocks that a set has wholly."""
    return sum(len(view.cpus(name) & block.cpus) == block.size for block in blocks)


def fewest(amount: int, rooms: Iterable[int]) -> int:
    """The fewest parts with these rooms that hold an amount; all of them, if they do not."""
    number = 0
    for room in sorted(rooms, reverse=True):
        if amount <= 0:
            break
        number, amount = number + 1, amount - room
    return number
