"""The oracle of which rules hold together, and the number of calls that it may take.

The limit is a number of calls and not of seconds, so that the answer is always the same. A call
takes long for a machine with many classes of cores, so fewer are allowed. Where that is enough, a
layout is made set by set, without a search.
"""

from collections.abc import Iterator, Sequence
from itertools import chain

from cpuplan.base.cpuset import EMPTY, CpuSet, union
from cpuplan.language.model.pools import POOLS, QOS_SETS
from cpuplan.solve import budget, model, symmetry
from cpuplan.solve.conflict import Memory, Oracle
from cpuplan.solve.constraints import (
    Amount,
    Apart,
    Constraint,
    Has,
    InOne,
    OneOf,
    WholeCores,
    Within,
)
from cpuplan.solve.layout import Scope, View
from cpuplan.solve.model.bounds import levels
from cpuplan.solve.pigeonhole import is_crowded, neighbours, pigeonholes
from cpuplan.solve.rules.rule import Problem, Rule, scopes_of
from cpuplan.solve.symmetry import names_of

#: With fewer statements on sets that exclude each other a search is as fast.
_FEW = 10


def greedy_layout(problem: Problem) -> View | None:
    """A layout that is found at once; None where a search must say whether there is one."""
    constraints = [constraint for rule in problem.rules for constraint in rule.constraints]
    places = sum(isinstance(constraint, Apart | InOne) for constraint in constraints)
    if places < _FEW or not set(QOS_SETS).isdisjoint(problem.names):
        return None
    made = _Made(problem)
    made.place()
    view = View(problem.topology, made.taken)
    return view if all(constraint.holds(view) for constraint in constraints) else None


class _Level:
    """Parts of the machine that sets share with no set that they are apart from."""

    def __init__(self, scopes: Sequence[Scope], statements: Sequence[Apart]) -> None:
        self.scopes = scopes
        self.apart = neighbours(statements)
        self._on: list[set[str]] = [set() for _ in scopes]

    def put(self, name: str, cpus: CpuSet) -> None:
        """Remember where a set is."""
        if name in self.apart:
            for scope, on in zip(self.scopes, self._on, strict=True):
                if scope.cpus & cpus:
                    on.add(name)

    def blocked(self, name: str) -> CpuSet:
        """The parts with sets that this one is apart from."""
        others = self.apart.get(name, set())
        pairs = zip(self.scopes, self._on, strict=True)
        return union(scope.cpus for scope, on in pairs if not on.isdisjoint(others))

    def ranked(self, name: str, free: CpuSet, units: CpuSet, size: int) -> Iterator[CpuSet]:
        """The free CPUs of each part: first where the set is, or others that it may share it with.

        Then the least that are enough, and the most where none are. CPUs of `units` are counted.
        """
        ranks = []
        for at, (scope, on) in enumerate(zip(self.scopes, self._on, strict=True)):
            cpus = scope.cpus & free
            if cpus:
                room = len(cpus & units)
                is_enough = room >= size
                rank = (name not in on, not on, not is_enough, room if is_enough else -room, at)
                ranks.append((rank, cpus))
        yield from (cpus for _, cpus in sorted(ranks, key=lambda ranked_part: ranked_part[0]))


class _Made:
    """A layout in the making."""

    def __init__(self, problem: Problem) -> None:
        self._topology, self._names = problem.topology, problem.names
        self._firsts = CpuSet(core.first for core in problem.topology.cores.values())
        self.taken = dict.fromkeys(problem.names, EMPTY)
        self._free = problem.topology.online
        self._allowed = dict.fromkeys(problem.names, problem.topology.online)
        self._amounts: dict[str, list[Amount]] = {name: [] for name in problem.names}
        self._within: dict[str, tuple[Scope, ...]] = {}
        self._whole: list[str] = []
        self._needs_pools = False
        constraints = [constraint for rule in problem.rules for constraint in rule.constraints]
        self._levels = [_Level(*level) for level in levels(constraints).items()]
        for constraint in constraints:
            self._note(constraint)
        for name in dict.fromkeys(self._whole):
            self._take(name, self._topology.whole_cores(self.taken[name]) & self._free)

    def _note(self, constraint: Constraint) -> None:
        match constraint:
            case Has(name=name, cpus=cpus):
                self._take(name, cpus)
            case Within(name=name, cpus=cpus):
                self._allowed[name] &= cpus
            case Amount(name=name):
                self._amounts[name].append(constraint)
            case WholeCores(name=name):
                self._whole.append(name)
            case InOne(name=name, scopes=scopes):
                self._within[name] = scopes
            case OneOf(of=""):
                self._needs_pools = True

    def _take(self, name: str, cpus: CpuSet) -> None:
        for taker in dict.fromkeys((name, name.partition(".")[0])):
            self.taken[taker] |= cpus
            for level in self._levels:
                level.put(taker, cpus)
        self._free -= cpus

    def place(self) -> None:
        """Give each set its CPUs, those with the least choice first, and one pool the rest."""
        for name in sorted(self._names, key=self._order):
            for amount in sorted(self._amounts[name], key=lambda amount: len(amount.scope.cpus)):
                self._fill(name, amount)
        pools = [name for name in self._names if name in POOLS]
        if self._needs_pools and self._free:
            rest = min(pools, key=lambda name: (len(self._amounts[name]), name != "isolated"))
            self._take(rest, self._free)

    def _order(self, name: str) -> tuple[bool, int, int, bool, int]:
        """Where a set stands in the order of placing: those with the least choice come first.

        Pools after their partitions, then small places before large ones, sets that are within
        or apart from others before those that can be anywhere, and large sets before small ones.
        """
        is_host = any(other.startswith(f"{name}.") for other in self._names)
        amounts = self._amounts[name]
        least = max((amount.least for amount in amounts), default=0)
        is_apart = any(name in level.apart for level in self._levels)
        is_free = name not in self._within and not is_apart
        return is_host, -len(amounts), len(self._allowed[name]), is_free, -least

    def _fill(self, name: str, amount: Amount) -> None:
        """Take what is lacking of an amount, core by core."""
        lacking = amount.least - amount.count(View(self._topology, self.taken))
        for core in self._cores(name, amount) if lacking > 0 else ():
            cpus = CpuSet(list(core)[:lacking]) if amount.unit == "CPUs" else core
            self._take(name, cpus)
            lacking -= len(cpus) if amount.unit == "CPUs" else 1
            if lacking <= 0:
                return

    def _cores(self, name: str, amount: Amount) -> Iterator[CpuSet]:
        """The free threads of cores that a set can have, those of the best part first."""
        free = self._free & amount.scope.cpus & self._allowed[name]
        for level in self._levels:
            free -= level.blocked(name)
        levels_of_it = [level for level in self._levels if name in level.apart]
        level = levels_of_it[0] if levels_of_it else self._plain(name)
        units = self._firsts if amount.unit == "cores" else free
        parts = list(level.ranked(name, free, units, amount.least))
        if name not in self._within:
            parts.append(free - union(parts))
        for cpus in parts[:1] if name in self._within else parts:
            for siblings in self._topology.cores.values():
                if siblings & cpus:
                    yield siblings & cpus

    def _plain(self, name: str) -> _Level:
        """The parts of which a set may have one, or NUMA nodes."""
        scopes = self._within.get(name) or scopes_of(self._topology, "numaNode")
        return _Level(scopes, ())


#: About a tenth of a millisecond each: a second for an explanation, and as much for its remedies.
_EFFORT = 10_000
_FEWEST = 8
#: Of more sets than these the unknowns are not counted: that takes the square of them.
_LARGE = 512
#: The seconds of work in which a conflict that was found by counting is made irreducible.
_COUNTED = 0.6
#: What a question takes for each statement beside the search, in units of the limit; and a test of
#: a proposal, which has no others to compare with.
_ASKED, _TRIED = 6e-5, 2e-5
#: A conflict of fewer statements, among few, is found by search in as little time.
_CROWD, _MANY = 10, 100


def most_calls(problem: Problem) -> int:
    """The number of calls that an explanation of a problem may take."""
    if len(problem.names) > _LARGE:
        return _FEWEST
    return max(_EFFORT // max(model.size(problem), 1), _FEWEST)


def oracle(problem: Problem, calls: int, unfit: Sequence[Rule] = ()) -> Oracle[Rule]:
    """Answers which rules of a problem hold together; a layout answers for other rules too.

    Of the rules `unfit` it is known that they do not.
    """

    def example(rules: Sequence[Rule]) -> View | None:
        budget.current().spend(_ASKED * len(rules))
        if is_crowded(problem.topology, rules):
            return None
        asked = without_idle(problem.having(rules))
        view = greedy_layout(asked)
        if view:
            return view
        layout = model.example(asked)
        return None if layout is None else View(problem.topology, layout)

    memory = Memory(problem.rules, example, holds, unfit)

    def first_part(rules: Sequence[Rule], feasible: symmetry.Feasible) -> list[Rule]:
        for crowd in pigeonholes(problem.topology, rules):
            if len(crowd) >= _CROWD or len(rules) >= _MANY:
                with budget.part(_COUNTED):
                    is_needed = _is_irreducible(crowd, rules, feasible)
                    return crowd if is_needed else symmetry.minimal(crowd, feasible)
        return symmetry.minimal(rules, feasible)

    return Oracle(memory.example, holds, calls, first_part, symmetry.sorts)


def fits(problem: Problem) -> bool:
    """Whether there is a layout, for proposals: False also where that is not known."""
    budget.current().spend(_TRIED * len(problem.rules))
    if is_crowded(problem.topology, problem.rules):
        return False
    return greedy_layout(problem) is not None or model.fits(problem)


def holds(rule: Rule, view: object) -> bool:
    """Whether the rule holds for a layout."""
    if not isinstance(view, View):
        return False
    return all(constraint.holds(view) for constraint in rule.constraints)


def _is_irreducible(
    crowd: Sequence[Rule], rules: Sequence[Rule], feasible: symmetry.Feasible
) -> bool:
    """Whether rules of a crowd, which cannot hold together, can without any one of them.

    Where all rules but this one hold together, so does the crowd, and more is known. Where one is
    not enough for that, no other one is.
    """
    is_enough = [True]

    def feasible_without(some: Sequence[Rule]) -> bool:
        left = set(crowd).difference(some)
        is_enough[0] = is_enough[0] and feasible([rule for rule in rules if rule not in left])
        return is_enough[0] or feasible(some)

    return symmetry.is_irreducible(crowd, feasible_without)


def without_idle(problem: Problem, *kept: str) -> Problem:
    """The problem without partitions of which no rule speaks: their pools can have their CPUs."""
    named = {*kept, *chain.from_iterable(map(names_of, problem.rules))}
    names = tuple(name for name in problem.names if "." not in name or name in named)
    return problem._replace(names=names)
