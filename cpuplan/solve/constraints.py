"""What rules demand, as data: `model` hands it to the solver, and `holds` tests a layout without
one.

Four of them look at the threads of one core only: `allows` says which slots these may have
together. `cores` is only given where a layout is for unlike machines (`common`): the cores of the
machine that the constraint is about; `holds` takes them from its view.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from cpuplan.cpuset import CpuSet, union
from cpuplan.solve.layout import Scope, Slot, View

#: Siblings; empty: those of the machine that is solved.
Cores: TypeAlias = tuple[CpuSet, ...]


class Within(NamedTuple):
    """The set has none but these CPUs."""

    name: str
    cpus: CpuSet

    def holds(self, view: View) -> bool:
        return view.cpus(self.name) <= self.cpus


class Has(NamedTuple):
    """The set has these CPUs, and perhaps more."""

    name: str
    cpus: CpuSet

    def holds(self, view: View) -> bool:
        return self.cpus <= view.cpus(self.name)


class OneOf(NamedTuple):
    """Each CPU (of the set `of`, if one is named) is in one of these sets at least."""

    names: tuple[str, ...]
    of: str = ""

    def takes(self, slot: Slot) -> bool:
        return bool(self.of and self.of not in slot) or any(name in slot for name in self.names)

    def holds(self, view: View) -> bool:
        return all(self.takes(slot) for pattern in view.patterns for slot in pattern)


class Amount(NamedTuple):
    """The set has `least` to `most` CPUs of the scope, or CPUs of that many cores."""

    name: str
    scope: Scope
    unit: Literal["CPUs", "cores"]
    least: int
    most: int
    cores: Cores = ()

    def holds(self, view: View) -> bool:
        return (
            self.least
            <= view.count(self.name, self.scope.cpus, cores=self.unit == "cores")
            <= self.most
        )


class WholeCores(NamedTuple):
    """The set shares no core with another one, those of `beside` excepted."""

    name: str
    beside: tuple[str, ...] = ()
    cores: Cores = ()

    def allows(self, threads: Sequence[Slot]) -> bool:
        return not any(self.name in slot for slot in threads) or all(
            self.name in slot or any(other in slot for other in self.beside) for slot in threads
        )

    def holds(self, view: View) -> bool:
        return all(map(self.allows, view.patterns))


class OneThread(NamedTuple):
    """The set has one thread of each of its cores, and `sibling` has the others."""

    name: str
    sibling: str
    cores: Cores = ()

    def allows(self, threads: Sequence[Slot]) -> bool:
        mine = [slot for slot in threads if self.name in slot]
        return not mine or (
            len(mine) == 1 and all(self.name in slot or self.sibling in slot for slot in threads)
        )

    def holds(self, view: View) -> bool:
        return all(map(self.allows, view.patterns))


class Apart(NamedTuple):
    """Where one of two sets is, the other is not: on no core, or on none of the scopes."""

    name: str
    other: str
    scopes: tuple[Scope, ...] | None  # None: cores
    cores: Cores = ()

    def allows(self, threads: Sequence[Slot]) -> bool:
        return not (
            any(self.name in slot for slot in threads)
            and any(self.other in slot for slot in threads)
        )

    def holds(self, view: View) -> bool:
        if self.scopes is None:
            return all(map(self.allows, view.patterns))
        mine, others = view.cpus(self.name), view.cpus(self.other)
        return not any(mine & scope.cpus and others & scope.cpus for scope in self.scopes)


class Together(NamedTuple):
    """Where a set is, one of some others is too: on each of its cores, or of its scopes."""

    name: str
    others: tuple[str, ...]
    scopes: tuple[Scope, ...] | None  # None: cores
    cores: Cores = ()

    def allows(self, threads: Sequence[Slot]) -> bool:
        return not any(self.name in slot for slot in threads) or any(
            other in slot for slot in threads for other in self.others
        )

    def holds(self, view: View) -> bool:
        if self.scopes is None:
            return all(map(self.allows, view.patterns))
        mine = view.cpus(self.name)
        others = [view.cpus(other) for other in self.others]
        return all(
            any(cpus & scope.cpus for cpus in others) for scope in self.scopes if mine & scope.cpus
        )


class Differs(NamedTuple):
    """The sets, which have no CPU in common, have together other CPUs than exactly these.

    No statement demands it: it asks for another layout.
    """

    names: tuple[str, ...]
    cpus: CpuSet

    def holds(self, view: View) -> bool:
        return union(view.cpus(name) for name in self.names) != self.cpus


Constraint: TypeAlias = (
    Within | Has | OneOf | Amount | WholeCores | OneThread | Apart | Together | Differs
)
CoreConstraint: TypeAlias = WholeCores | OneThread | Apart | Together
#: Where two slots that cannot share a core cannot with a third one either.
PAIRWISE = (WholeCores, OneThread, Apart)


def binds_cores(constraint: Constraint) -> bool:
    """Is it about the threads of one core?"""
    return isinstance(constraint, WholeCores | OneThread) or (
        isinstance(constraint, Apart | Together) and constraint.scopes is None
    )


def on_cores(constraint: Constraint, cores: Cores) -> Constraint:
    """The same, about these cores, if it is about cores at all."""
    if isinstance(constraint, Within | Has | OneOf | Differs) or not (
        isinstance(constraint, Amount) or binds_cores(constraint)
    ):
        return constraint
    return constraint._replace(cores=cores)


def slots_by_core(cores: Cores, threads: Sequence[int], slots: Sequence[Slot]) -> list[list[Slot]]:
    """The slots of some threads, core by core."""
    found = (
        [slot for cpu, slot in zip(threads, slots, strict=True) if cpu in siblings]
        for siblings in cores
    )
    return [each for each in found if each]


def sets_of(constraint: Constraint) -> list[CpuSet]:
    """The sets of CPUs that it tells apart from the others."""
    match constraint:
        case Within(cpus=cpus) | Has(cpus=cpus) | Differs(cpus=cpus):
            return [cpus]
        case Amount(scope=scope):
            return [scope.cpus]
        case Apart(scopes=scopes) | Together(scopes=scopes):
            return [scope.cpus for scope in scopes or ()]
        case _:
            return []
