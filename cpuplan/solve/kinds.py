"""Cores that the rules and goals do not tell apart, the ways to use such a core, and the choice of
CPUs among them.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple, TypeAlias

from cpuplan.cpuset import CpuSet
from cpuplan.model.topology import Topology
from cpuplan.solve.constraints import (
    PAIRWISE,
    Constraint,
    CoreConstraint,
    Cores,
    Has,
    OneOf,
    Within,
    binds_cores,
    slots_by_core,
)
from cpuplan.solve.layout import Slot

#: The slot of each thread of a core, in the order of the kind's threads.
Pattern: TypeAlias = tuple[Slot, ...]


class Kind(NamedTuple):
    """Cores whose threads are in the same of the sets of CPUs that are spoken of."""

    # the threads of each core; cores in the order in which they are given away
    cores: tuple[tuple[int, ...], ...]
    groups: tuple[int, ...]  # how many threads, one after the other, nobody tells apart

    @property
    def sample(self) -> tuple[int, ...]:
        """The threads of one core, as good as any."""
        return self.cores[0]


def kinds_of(
    topology: Topology, sets: Iterable[CpuSet], others: Iterable[Cores] = ()
) -> list[Kind]:
    """All cores by kind, the kind of the first core first.

    `others` are ways in which unlike machines divide the cores of `topology`, which are whole cores
    of each: cores of a kind are divided alike, and then no two of their threads are alike.
    """
    divided = [{cpu: siblings.first for siblings in cores for cpu in siblings} for cores in others]
    marks = dict.fromkeys(topology.online, 0)
    for index, cpus in enumerate(dict.fromkeys(sets)):
        for cpu in cpus & topology.online:
            marks[cpu] |= 1 << index
    kinds: dict[tuple[tuple[int, ...], ...], list[tuple[int, ...]]] = {}
    for siblings in in_order(topology):
        threads = sorted(siblings, key=lambda cpu: (marks[cpu], cpu))
        shapes = [[core_of[cpu] for cpu in threads] for core_of in divided]
        shape = (tuple(map(firsts.index, firsts)) for firsts in shapes)
        kinds.setdefault((tuple(marks[cpu] for cpu in threads), *shape), []).append(tuple(threads))
    return [
        Kind(tuple(cores), _groups(key[0]) if not divided else (1,) * len(key[0]))
        for key, cores in kinds.items()
    ]


def _groups(marks: Iterable[int]) -> tuple[int, ...]:
    return tuple(len(list(same)) for _, same in groupby(marks))


def in_order(topology: Topology) -> list[CpuSet]:
    """The cores in the order in which they are given away.

    Sockets, NUMA nodes, dies and caches come one after the other, each ranked by its lowest CPU.
    """
    lowest: dict[tuple[int, ...], int] = {}
    ranked = []
    for siblings in sorted(topology.cores.values(), key=lambda siblings: siblings.first):
        cpu = topology[siblings.first]
        places = (cpu.socket, cpu.numa_node, cpu.die, cpu.uncore_cache)
        # Cores come in ascending order, so the first core in a place gives the place its rank.
        ranks = tuple(
            lowest.setdefault(places[: depth + 1], cpu.cpu) for depth in range(len(places))
        )
        ranked.append((ranks, siblings.first, siblings))
    return [siblings for _, _, siblings in sorted(ranked, key=lambda each: each[:2])]


class Ways:
    """The ways in which the rules let a core be used."""

    def __init__(self, slots: Sequence[Slot], constraints: Iterable[Constraint]) -> None:
        constraints = list(constraints)
        one_of = [each for each in constraints if isinstance(each, OneOf)]
        self._slots = [slot for slot in slots if all(each.takes(slot) for each in one_of)]
        self._places = [each for each in constraints if isinstance(each, Within | Has)]
        self._core: list[CoreConstraint] = [each for each in constraints if binds_cores(each)]  # type: ignore[misc]
        pairwise = [each for each in self._core if isinstance(each, PAIRWISE) and not each.cores]
        self._may_meet = {
            (a, b): all(each.allows((a, b)) for each in pairwise)
            for a in self._slots
            for b in self._slots
        }
        self._found: dict[tuple[tuple[tuple[Slot, ...], ...], tuple[int, ...]], list[Pattern]] = {}

    def of(self, kind: Kind) -> list[Pattern]:
        """The patterns of a kind, those that are preferred for the lowest cores first; none if the
        rules leave none.
        """
        choices = tuple(tuple(self._allowed(cpu)) for cpu in kind.sample)
        divided = [_narrowed(each, kind.sample) for each in self._core if each.cores]
        key = (choices, kind.groups)
        if key not in self._found:
            self._found[key] = list(self._patterns(choices, kind.groups))
        if not divided:
            return self._found[key]
        return [
            pattern
            for pattern in self._found[key]
            if all(
                each.allows(some)
                for each in divided
                for some in slots_by_core(each.cores, kind.sample, pattern)
            )
        ]

    def _allowed(self, cpu: int) -> Iterator[Slot]:
        """The slots that one CPU may have."""
        for slot in self._slots:
            if all(
                (each.name in slot) <= (cpu in each.cpus)
                if isinstance(each, Within)
                else (cpu in each.cpus) <= (each.name in slot)
                for each in self._places
            ):
                yield slot

    def _patterns(
        self, choices: Sequence[Sequence[Slot]], groups: Sequence[int]
    ) -> Iterator[Pattern]:
        firsts = {sum(groups[:index]) for index in range(len(groups))}

        def extend(chosen: tuple[Slot, ...], at: int) -> Iterator[Pattern]:
            """`chosen`, and `at` in the choices of the latest thread."""
            thread = len(chosen)
            if thread == len(choices):
                if all(each.allows(chosen) for each in self._core if not each.cores):
                    yield chosen
                return
            # Threads of one group are alike, so only ascending choices are different ways.
            start = 0 if thread in firsts else at
            for index in range(start, len(choices[thread])):
                slot = choices[thread][index]
                if all(self._may_meet[slot, other] for other in chosen):
                    yield from extend((*chosen, slot), index)

        return extend((), 0)


def _narrowed(constraint: CoreConstraint, threads: Iterable[int]) -> CoreConstraint:
    """The constraint with only those of its cores that the threads are on."""
    cpus = CpuSet(threads)
    return constraint._replace(
        cores=tuple(siblings for siblings in constraint.cores if siblings & cpus)
    )


def place(kind: Kind, used: Iterable[tuple[Pattern, int]]) -> dict[int, Slot]:
    """Give the cores of a kind away: so many to each pattern, the lowest to the first."""
    cores = iter(kind.cores)
    found: dict[int, Slot] = {}
    for pattern, many in used:
        for _, threads in zip(range(many), cores, strict=False):
            found.update(zip(threads, pattern, strict=True))
    return found
