"""Classes of cores that rules and goals do not distinguish, and the ways to use a core."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations, groupby, islice, product
from typing import NamedTuple, TypeAlias

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.topology import Topology
from cpuplan.solve.budget import UndecidedError
from cpuplan.solve.constraints import (
    PAIRWISE,
    Constraint,
    CoreConstraint,
    Cores,
    Has,
    OneOf,
    Within,
    binds_cores,
)
from cpuplan.solve.layout import Slot

#: Pairs of slots that are looked at in the time of a pattern of a model.
_PAIRS = 20
#: The slot of each thread of a core, in the order of the kind's threads.
Pattern: TypeAlias = tuple[Slot, ...]


def renamed(pattern: Pattern, names: Mapping[str, str]) -> Pattern:
    """The pattern with other names of sets."""
    return tuple([tuple(map(names.get, slot, slot)) for slot in pattern])


def width(name: str, pattern: Pattern) -> int:
    """The threads of a core that a set has, where the core is used in some way."""
    return sum(name in slot for slot in pattern)


class CoreClass(NamedTuple):
    """Cores whose threads are in the same of the sets that rules and goals distinguish."""

    # the threads of each core; cores in the order in which they are given away
    cores: tuple[tuple[int, ...], ...]
    groups: tuple[int, ...]  # the numbers of neighbouring threads that nothing distinguishes
    is_divided: bool = False  # unlike machines divide it into cores of their own

    @property
    def sample(self) -> tuple[int, ...]:
        """The threads of one core; any core would do."""
        return self.cores[0]


def core_classes(
    topology: Topology, sets: Iterable[CpuSet], divisions: Iterable[Cores] = ()
) -> list[CoreClass]:
    """All cores by kind, the kind of the first core first.

    `divisions` are the ways in which unlike machines divide the cores of `topology`, which consist
    of whole cores of each machine. Cores of a kind are divided alike; their threads all differ.
    """
    machines = [_lowest_sibling(cores) for cores in divisions]
    marks = _marks(topology, sets)
    kinds: dict[tuple[tuple[int, ...], ...], list[tuple[int, ...]]] = {}
    for siblings in in_order(topology):
        threads = tuple(sorted(siblings, key=lambda cpu: (marks[cpu], cpu)))
        shapes = [_shape(threads, lowest) for lowest in machines]
        key = (tuple(marks[cpu] for cpu in threads), *shapes)
        kinds.setdefault(key, []).append(threads)
    return [
        CoreClass(tuple(cores), (1,) * len(key[0]) if machines else _groups(key[0]), bool(machines))
        for key, cores in kinds.items()
    ]


def _lowest_sibling(cores: Cores) -> dict[int, int]:
    """The lowest sibling of each CPU."""
    lowest = {}
    for siblings in cores:
        lowest.update(dict.fromkeys(siblings, siblings.first))
    return lowest


def _marks(topology: Topology, sets: Iterable[CpuSet]) -> dict[int, int]:
    """The sets that each CPU is in, as the bits of a number."""
    marks = dict.fromkeys(topology.online, 0)
    for index, cpus in enumerate(dict.fromkeys(sets)):
        for cpu in cpus & topology.online:
            marks[cpu] |= 1 << index
    return marks


def _shape(threads: Sequence[int], lowest: dict[int, int]) -> tuple[int, ...]:
    """For each thread the index of the first thread on the same core of another machine."""
    cores = [lowest[cpu] for cpu in threads]
    return tuple(map(cores.index, cores))


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
        prefixes = (places[:depth] for depth in range(1, len(places) + 1))
        # Cores come in ascending order, so the first core in a place gives the place its rank.
        ranks = tuple(lowest.setdefault(prefix, cpu.cpu) for prefix in prefixes)
        ranked.append((ranks, siblings.first, siblings))
    return [siblings for _, _, siblings in sorted(ranked, key=lambda core: core[:2])]


class Ways:
    """The ways in which the rules allow a core to be used."""

    def __init__(
        self, slots: Sequence[Slot], constraints: Sequence[Constraint], most: int | None = None
    ) -> None:
        self._most = most
        self._slots = list(slots)
        self._places: list[Within | Has] = []
        self._everywhere: list[CoreConstraint] = []
        self._divided: list[CoreConstraint] = []
        for constraint in constraints:
            if isinstance(constraint, OneOf):
                self._slots = list(filter(constraint.takes, self._slots))
            elif isinstance(constraint, Within | Has):
                self._places.append(constraint)
            elif binds_cores(constraint):
                (self._divided if constraint.cores else self._everywhere).append(constraint)
        # Of slots without its set such a rule says nothing.
        pairwise = [rule for rule in self._everywhere if isinstance(rule, PAIRWISE)]
        having = Counter(chain.from_iterable(self._slots))
        #: Pairs of slots that are looked at: they grow with the square of the sets.
        self.pairs = len(self._slots) * sum(having[rule.name] for rule in pairwise)
        if most is not None and self.pairs > most * _PAIRS:
            raise UndecidedError
        self._never_meet: set[tuple[Slot, ...]] = set()
        for rule in pairwise:
            mine = [slot for slot in self._slots if rule.name in slot]
            met = (pair for pair in product(mine, self._slots) if not rule.allows(pair))
            for slot, other in met:
                self._never_meet |= {(slot, other), (other, slot)}
        self._known: dict[tuple[tuple[tuple[Slot, ...], ...], tuple[int, ...]], list[Pattern]] = {}

    def of(self, kind: CoreClass) -> list[Pattern]:
        """The patterns that the rules allow a kind, those preferred for the lowest cores first."""
        choices = tuple(self._allowed(cpu) for cpu in kind.sample)
        if self._divided:
            return self._of_divided(kind, choices)
        key = (choices, kind.groups)
        if key not in self._known:
            self._known[key] = self._few(self._patterns(choices, kind.groups))
        return self._known[key]

    def _few(self, patterns: Iterable[Pattern]) -> list[Pattern]:
        """The patterns; a core of eight threads can have millions, which no limit allows."""
        if self._most is None:
            return list(patterns)
        listed = list(islice(patterns, self._most + 1))
        if len(listed) > self._most:
            raise UndecidedError
        return listed

    def _of_divided(self, kind: CoreClass, choices: Sequence[Sequence[Slot]]) -> list[Pattern]:
        """The patterns of cores that unlike machines divide into cores of their own."""
        parts = _Parts(self._divided, kind.sample, self._slots)
        return self._few(filter(parts.allow, self._patterns(choices, kind.groups, parts)))

    def _allowed(self, cpu: int) -> tuple[Slot, ...]:
        """The slots that a CPU may have."""
        slots = self._slots
        for place in self._places:
            slots = [slot for slot in slots if place.permits(cpu, slot)]
        return tuple(slots)

    def _patterns(
        self,
        choices: Sequence[Sequence[Slot]],
        groups: Sequence[int],
        parts: "_Parts | None" = None,
    ) -> Iterator[Pattern]:
        firsts = {sum(groups[:index]) for index in range(len(groups))}

        def extend(chosen: tuple[Slot, ...], latest: int) -> Iterator[Pattern]:
            """The patterns that begin with `chosen`; `latest` is the index of its last choice."""
            thread = len(chosen)
            if thread == len(choices):
                if all(constraint.allows(chosen) for constraint in self._everywhere):
                    yield chosen
                return
            # Threads of one group are alike, so only ascending choices are different ways.
            start = 0 if thread in firsts else latest
            for index in range(start, len(choices[thread])):
                slot = choices[thread][index]
                if parts and not parts.may_follow(chosen, slot):
                    continue
                if not any((slot, other) in self._never_meet for other in chosen):
                    yield from extend((*chosen, slot), index)

        return extend((), 0)


def _together(cores: Cores, threads: Sequence[int]) -> list[list[int]]:
    """The indexes of threads, by core."""
    together = []
    for core in cores:
        inside = [index for index, cpu in enumerate(threads) if cpu in core]
        if inside:
            together.append(inside)
    return together


def _allowed_pairs(
    constraints: Iterable[CoreConstraint], slots: Sequence[Slot]
) -> set[tuple[Slot, Slot]]:
    """The slots that rules allow two threads of one core."""
    pairs = [(slot, other) for slot in slots for other in slots]
    for constraint in constraints:
        pairs = [pair for pair in pairs if constraint.allows(pair)]
    return set(pairs)


class _Parts:
    """What rules allow threads that are on one core of some machine.

    Most ways to use a core end with its first two threads, and need not be tried to their end.
    """

    def __init__(
        self, constraints: Sequence[CoreConstraint], threads: Sequence[int], slots: Sequence[Slot]
    ) -> None:
        self._others: list[tuple[CoreConstraint, list[int]]] = []
        pairs: dict[tuple[int, int], dict[CoreConstraint, None]] = {}
        divided: dict[int, list[list[int]]] = {}  # by machine: its rules share one tuple of cores
        for constraint in constraints:
            if id(constraint.cores) not in divided:
                divided[id(constraint.cores)] = _together(constraint.cores, threads)
        for constraint in constraints:
            anywhere = constraint._replace(cores=())
            for inside in divided[id(constraint.cores)]:
                if not isinstance(constraint, PAIRWISE):
                    self._others.append((anywhere, inside))
                    continue
                for pair in combinations(inside, 2):
                    pairs.setdefault(pair, {})[anywhere] = None
        tables: dict[tuple[CoreConstraint, ...], set[tuple[Slot, Slot]]] = {}
        self._before: list[list[tuple[int, set[tuple[Slot, Slot]]]]] = [[] for _ in threads]
        for (first, second), same in pairs.items():
            key = tuple(same)
            if key not in tables:
                tables[key] = _allowed_pairs(key, slots)
            self._before[second].append((first, tables[key]))

    def may_follow(self, chosen: Sequence[Slot], slot: Slot) -> bool:
        """Whether the next thread can have a slot after those of the others."""
        return all((chosen[before], slot) in met for before, met in self._before[len(chosen)])

    def allow(self, pattern: Pattern) -> bool:
        """Whether the rules that are not about pairs of threads allow a pattern."""
        for constraint, inside in self._others:
            if not constraint.allows([pattern[index] for index in inside]):
                return False
        return True


def place(kind: CoreClass, used: Iterable[tuple[Pattern, int]]) -> dict[int, Slot]:
    """The slots of a kind's threads: so many cores for each pattern, the lowest for the first."""
    cores = iter(kind.cores)
    slots: dict[int, Slot] = {}
    for pattern, number in used:
        for threads in islice(cores, number):
            slots.update(zip(threads, pattern, strict=True))
    return slots
