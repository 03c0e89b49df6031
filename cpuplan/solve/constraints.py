"""The constraints of rules, as data.

`model` gives them to the solver; `holds` tests a layout without one. Four of them are about the
threads of one core: `allows` is a test of the slots of these threads. `cores` is set only in a
layout for unlike machines (`layouts`), to the cores of the machine that the constraint is about;
`holds` reads the cores of its view.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, product
from typing import Literal, NamedTuple, TypeAlias, TypeGuard

from cpuplan.base.cpuset import MAX_CPU, CpuSet, union
from cpuplan.solve.layout import Scope, Slot, View


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


#: The siblings of each core; empty: those of the machine that is solved.
Cores: TypeAlias = tuple[CpuSet, ...]


class Within(NamedTuple):
    """The set has no CPUs but these."""

    name: str
    cpus: CpuSet

    def permits(self, cpu: int, slot: Slot) -> bool:
        return cpu in self.cpus or self.name not in slot

    def holds(self, view: View) -> bool:
        return view.cpus(self.name) <= self.cpus


class Has(NamedTuple):
    """The set has these CPUs, and perhaps more."""

    name: str
    cpus: CpuSet

    def permits(self, cpu: int, slot: Slot) -> bool:
        return cpu not in self.cpus or self.name in slot

    def holds(self, view: View) -> bool:
        return self.cpus <= view.cpus(self.name)


class OneOf(NamedTuple):
    """Each CPU (of the set `of`, if given) is in at least one of these sets."""

    names: tuple[str, ...]
    of: str = ""

    def takes(self, slot: Slot) -> bool:
        if self.of and self.of not in slot:
            return True
        return any(name in slot for name in self.names)

    def holds(self, view: View) -> bool:
        return all(map(self.takes, chain.from_iterable(view.patterns)))


#: More CPUs than a machine can have.
BEYOND = MAX_CPU + 2


def bounded(number: int) -> int:
    """A number of an intent, or one that says the same of every machine.

    The solver and the search for remedies then have no larger numbers than machines do.
    """
    return min(number, BEYOND)


class Amount(NamedTuple):
    """The set has `least` to `most` CPUs of the scope, or CPUs of that many cores.

    With the unit "caches", it has that many of the blocks wholly. Both numbers are `bounded`.
    """

    name: str
    scope: Scope
    unit: Literal["CPUs", "cores", "caches"]
    least: int
    most: int
    cores: Cores = ()
    blocks: tuple[Block, ...] = ()

    def count(self, view: View) -> int:
        if self.unit == "caches":
            return whole(view, self.name, self.blocks)
        return view.count(self.name, self.scope.cpus, cores=self.unit == "cores")

    def holds(self, view: View) -> bool:
        return self.least <= self.count(view) <= self.most


class WholeCores(NamedTuple):
    """The set shares no core with another one, except those of `beside`."""

    name: str
    beside: tuple[str, ...] = ()
    cores: Cores = ()

    def allows(self, threads: Sequence[Slot]) -> bool:
        if not _is_on(threads, self.name):
            return True
        names = {self.name, *self.beside}
        return not any(names.isdisjoint(slot) for slot in threads)

    def holds(self, view: View) -> bool:
        return all(map(self.allows, view.patterns))


class OneThread(NamedTuple):
    """The set has one thread of each of its cores, and `sibling` has the others."""

    name: str
    sibling: str
    cores: Cores = ()

    def allows(self, threads: Sequence[Slot]) -> bool:
        others = [slot for slot in threads if self.name not in slot]
        if len(others) == len(threads):
            return True
        return len(others) == len(threads) - 1 and all(self.sibling in slot for slot in others)

    def holds(self, view: View) -> bool:
        return all(map(self.allows, view.patterns))


class Apart(NamedTuple):
    """The two sets have no core in common, or none of the scopes."""

    name: str
    other: str
    scopes: tuple[Scope, ...] | None  # None: cores
    cores: Cores = ()

    def allows(self, threads: Sequence[Slot]) -> bool:
        return not (_is_on(threads, self.name) and _is_on(threads, self.other))

    def holds(self, view: View) -> bool:
        if self.scopes is None:
            return all(map(self.allows, view.patterns))
        return not view.parts(self.name, self.scopes) & view.parts(self.other, self.scopes)


class Together(NamedTuple):
    """Wherever the set is, one of some others is too: on each of its cores, or of its scopes."""

    name: str
    others: tuple[str, ...]
    scopes: tuple[Scope, ...] | None  # None: cores
    cores: Cores = ()

    def allows(self, threads: Sequence[Slot]) -> bool:
        if not _is_on(threads, self.name):
            return True
        return any(_is_on(threads, other) for other in self.others)

    def holds(self, view: View) -> bool:
        if self.scopes is None:
            return all(map(self.allows, view.patterns))
        mine = view.cpus(self.name)
        others = union(view.cpus(other) for other in self.others)
        return not any(mine & scope.cpus and not others & scope.cpus for scope in self.scopes)


class Differs(NamedTuple):
    """The sets, which have no CPU in common, have together other CPUs than exactly these.

    No statement demands it: it asks for another layout.
    """

    names: tuple[str, ...]
    cpus: CpuSet

    def holds(self, view: View) -> bool:
        return union(view.cpus(name) for name in self.names) != self.cpus


def _is_on(threads: Sequence[Slot], name: str) -> bool:
    return any(name in slot for slot in threads)


CoreConstraint: TypeAlias = WholeCores | OneThread | Apart | Together
Portion: TypeAlias = InOne | AllOrNone | Share
Constraint: TypeAlias = Within | Has | OneOf | Amount | Portion | CoreConstraint | Differs
#: Two slots that cannot share a core cannot share it with a third one either.
PAIRWISE = (WholeCores, OneThread, Apart)


def binds_cores(constraint: Constraint) -> TypeGuard[CoreConstraint]:
    """Whether it is about the threads of one core."""
    if isinstance(constraint, Apart | Together):
        return constraint.scopes is None
    return isinstance(constraint, WholeCores | OneThread)


def on_cores(constraint: Constraint, cores: Cores) -> Constraint:
    """The same constraint about these cores, if it is about cores at all."""
    if isinstance(constraint, Amount) or binds_cores(constraint):
        return constraint._replace(cores=cores)
    return constraint


def slots_by_core(cores: Cores, threads: Sequence[int], slots: Sequence[Slot]) -> list[list[Slot]]:
    """The slots of some threads, core by core."""
    groups: dict[CpuSet, list[Slot]] = {}
    for siblings, (cpu, slot) in product(cores, zip(threads, slots, strict=True)):
        if cpu in siblings:
            groups.setdefault(siblings, []).append(slot)
    return list(groups.values())


def distinguished(constraints: Iterable[Constraint]) -> Iterator[CpuSet]:
    """The sets of CPUs that constraints distinguish; of parts that many share, once."""
    seen: set[int] = set()
    for constraint in constraints:
        parts = constraint.scopes if isinstance(constraint, Apart) else None
        if parts is None or id(parts) not in seen:
            yield from sets_of(constraint)
            seen.add(id(parts))


def sets_of(constraint: Constraint) -> list[CpuSet]:
    """The sets of CPUs that the constraint distinguishes from the others."""
    match constraint:
        case Within(cpus=cpus) | Has(cpus=cpus) | Differs(cpus=cpus):
            return [cpus]
        case Amount(scope=scope, blocks=blocks):
            return [scope.cpus, *(block.cpus for block in blocks)]
        case Share(scope=scope):
            return [scope.cpus]
        case InOne(scopes=scopes):
            return [scope.cpus for scope in scopes]
        case AllOrNone(blocks=blocks):
            return [block.cpus for block in blocks]
        case Apart(scopes=scopes) | Together(scopes=scopes):
            return [scope.cpus for scope in scopes or ()]
        case _:
            return []
