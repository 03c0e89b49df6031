"""The numbers of cores of each class that are used in each way: unknowns, sums, and values.

Rules make demands on them; those on single cores are met by the ways to use a core.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

from cpuplan.base.cpuset import CpuSet
from cpuplan.solve.budget import UndecidedError
from cpuplan.solve.constraints import (
    AllOrNone,
    Amount,
    Block,
    Constraint,
    Differs,
    InOne,
    Share,
    Together,
)
from cpuplan.solve.core_classes import CoreClass, Pattern, width
from cpuplan.solve.layout import Scope
from cpuplan.solve.model import engine
from cpuplan.solve.model.engine import SHARE, WAYS, Solution, Way, easy, search
from cpuplan.solve.rules.rule import Rule

#: A sum over the solver's variables.
Expression: TypeAlias = Any
#: What a core counts whose threads (the second value) are used in some way (the first one).
Weight: TypeAlias = Callable[[Pattern, Sequence[int]], int]


class Reached(NamedTuple):
    """The value of an expression that was made small, and the least that it can be."""

    value: int
    least: int | None  # None: nothing is known


def cpus_of(name: str, scope: CpuSet) -> Weight:
    """The CPUs that a set has of a scope."""

    def cpus(pattern: Pattern, threads: Sequence[int]) -> int:
        pairs = zip(threads, pattern, strict=True)
        return sum(name in slot and cpu in scope for cpu, slot in pairs)

    return cpus


class Counts:
    """The variables in `model`, and the solver for their values.

    `used` has a variable for each pattern of `ways`, kind by kind.
    """

    def __init__(
        self,
        kinds: Sequence[CoreClass],
        ways: Sequence[Sequence[Pattern]],
        sizes: Iterable[Amount] = (),
    ) -> None:
        self.cp_model = engine.cp_model()
        self.model = self.cp_model.CpModel()
        #: The solver with the last solution.
        self.solver: Any = None
        self.kinds, self.ways, self.sizes = kinds, ways, list(sizes)
        self._bits = [CpuSet(kind.sample).bits for kind in kinds]
        self._indexes: dict[int, list[int]] = {}
        self._whole: dict[tuple[str, int], list[int]] = {}
        self._mine: dict[tuple[str, int], list[int]] = {}
        cores = chain.from_iterable(kind.cores for kind in kinds)
        self.everything = CpuSet(chain.from_iterable(cores))
        self.used: list[list[Expression]] = []
        self._present: dict[tuple[str, int], Expression] = {}
        #: The least CPUs of a scope that a set has, if it has any, as far as aims have settled it.
        self.fills: dict[tuple[str, int], int] = {}
        self._rooms: dict[tuple[str, int], int] = {}
        self._widths: dict[str, set[int]] = {}
        for kind, patterns in zip(kinds, ways, strict=True):
            number = len(kind.cores)
            self.used.append([self.model.new_int_var(0, number, "") for _ in patterns])
            self.between(self.sum(self.used[-1]), number, number)

    @property
    def variables(self) -> list[Expression]:
        return [variable for used in self.used for variable in used]

    def taken(self, name: str, scope: CpuSet) -> Expression:
        """The CPUs that a set has of a scope."""
        variables, weights = [], []
        for index in self._inside(scope):
            for variable, cpus in zip(
                self.used[index], self._cpus(index, name, scope), strict=True
            ):
                if cpus:
                    variables.append(variable)
                    weights.append(cpus)
        return self.cp_model.LinearExpr.weighted_sum(variables, weights)

    def _cpus(self, index: int, name: str, scope: CpuSet) -> list[int]:
        """For each way to use a core of a kind, the CPUs that a set has of it in a scope."""
        patterns, sample = self.ways[index], self.kinds[index].sample
        count = cpus_of(name, scope)
        if self._bits[index] & ~scope.bits:
            return [count(pattern, sample) for pattern in patterns]
        key = (name, id(patterns))  # cores that are wholly inside differ in nothing else
        if key not in self._whole:
            self._whole[key] = [count(pattern, sample) for pattern in patterns]
        return self._whole[key]

    def present(self, name: str, scope: CpuSet) -> Expression:
        """Whether a set has a CPU of the scope."""
        key = (name, scope.bits)
        if key not in self._present:
            has = self.model.new_bool_var("")
            self.model.add(self.taken(name, scope) <= self.room(name, scope) * has)
            self._present[key] = has
        return self._present[key]

    def parts(self, name: str, scopes: tuple[Scope, ...]) -> Expression:
        """On how many of some scopes a set is."""
        return self.sum(self.present(name, scope.cpus) for scope in scopes)

    def tells(self, scopes: tuple[Scope, ...]) -> bool:
        """Whether cores of different scopes are of different kinds."""
        return True

    def variable(self, expression: Expression, most: int) -> Expression:
        """A variable from 0 to `most` with the value of an expression."""
        variable = self.model.new_int_var(0, most, "")
        self.model.add(variable == expression)
        return variable

    def weighted(self, weight: Weight, scope: CpuSet, name: str = "") -> Expression:
        """The sum of the cores of each kind and way with threads in a scope, times their weight.

        With a name, only ways weigh something in which this set has a thread.
        """
        variables, weights = [], []
        for index in self._inside(scope):
            kind, used, patterns = self.kinds[index], self.used[index], self.ways[index]
            for at in self._with(index, name) if name else range(len(patterns)):
                factor = weight(patterns[at], kind.sample)
                if factor:
                    variables.append(used[at])
                    weights.append(factor)
        return self.cp_model.LinearExpr.weighted_sum(variables, weights)

    def most(self, weight: Weight, scope: CpuSet, name: str) -> int:
        """The most that such a sum can be, where all cores are used in the way that weighs most."""
        total = 0
        for index in self._inside(scope):
            kind, patterns = self.kinds[index], self.ways[index]
            weights = (weight(patterns[at], kind.sample) for at in self._with(index, name))
            total += max(weights, default=0) * len(kind.cores)
        return total

    def _with(self, index: int, name: str) -> list[int]:
        """The indexes of the ways to use a core of a kind in which a set has a thread."""
        patterns = self.ways[index]
        key = (name, id(patterns))
        if key not in self._mine:
            self._mine[key] = [
                at for at, pattern in enumerate(patterns) if name in chain.from_iterable(pattern)
            ]
        return self._mine[key]

    def _inside(self, scope: CpuSet) -> list[int]:
        """The indexes of the kinds with threads in a scope."""
        if scope.bits not in self._indexes:
            self._indexes[scope.bits] = [
                index for index, bits in enumerate(self._bits) if bits & scope.bits
            ]
        return self._indexes[scope.bits]

    def room(self, name: str, scope: CpuSet) -> int:
        """At least as many CPUs as the set can have of the scope."""
        key = (name, scope.bits)
        if key not in self._rooms:
            room = 0
            for index in self._inside(scope):
                most = max(self._cpus(index, name, scope), default=0)
                room += most * len(self.kinds[index].cores)
            for size in self._sizes_of(name):
                if scope <= size.scope.cpus:
                    width = max(self._widths_of(name), default=0) if size.unit == "cores" else 1
                    room = min(room, max(size.most, 0) * width)
            self._rooms[key] = room
        return self._rooms[key]

    def least(self, name: str, scope: CpuSet | None = None) -> int:
        """At most as many CPUs as the set has of a scope, or of all CPUs."""
        least = 0
        for size in self._sizes_of(name):
            if scope is not None and not size.scope.cpus <= scope:
                continue
            is_whole = size.unit == "cores" and not size.cores
            width = min(self._widths_of(name), default=1) if is_whole else 1
            least = max(least, size.least * width)
        return least

    def _sizes_of(self, name: str) -> list[Amount]:
        """What sizes say of the CPUs or cores of a set."""
        return [size for size in self.sizes if size.name == name and size.unit != "caches"]

    def _widths_of(self, name: str) -> set[int]:
        """The numbers of CPUs that a set can have of a core on which it is."""
        if name not in self._widths:
            patterns = set(chain.from_iterable(self.ways))
            numbers = {width(name, pattern) for pattern in patterns}
            self._widths[name] = numbers - {0}
        return self._widths[name]

    def sum(self, parts: Iterable[Expression]) -> Expression:
        return self.cp_model.LinearExpr.sum(list(parts))

    def between(self, expression: Expression, least: int, most: int) -> None:
        """Keep an expression in a range; with an empty range there is no solution."""
        if least > most:
            self.model.add_bool_or([])  # CP-SAT accepts an empty sum for an empty range
        else:
            self.model.add_linear_constraint(expression, least, most)

    def minimise(self, expression: Expression, ways: Sequence[Way] = WAYS) -> Reached | None:
        """Make an expression as small as possible; None if the rules contradict each other.

        Where the limit ends before, it stays as small as the best solution so far has it.
        """
        self.model.minimize(expression)
        least: int | None = None
        try:
            solution = self.find(self.model, SHARE, ways)
        except UndecidedError:
            if self.solver is None:
                raise
        else:
            if solution is None:
                return None
            least = solution.least
            if self.solver is None or solution.solver.value(expression) < self.value(expression):
                self.solver = solution.solver
        self.model.clear_objective()
        value = self.value(expression)
        self.model.add(expression == value if value == least else expression <= value)
        self._keep_hints()
        return Reached(value, least)

    def find(self, model: Any, share: float = 1, ways: Sequence[Way] = WAYS) -> Solution | None:
        """The best solution of a model with these variables that the limit allows to find."""
        return search(self.cp_model, model, share, ways) if all(self.ways) else None

    def find_soon(self, model: Any, ways: Sequence[Way]) -> Solution | None:
        """The same with one short turn for each way; UndecidedError where that is too short."""
        return search(self.cp_model, model, ways=ways, is_short=True)

    def _keep_hints(self) -> None:
        """The last solution satisfies whatever the next objective starts from."""
        self.model.clear_hints()
        for variable in self.variables:
            self.model.add_hint(variable, self.value(variable))

    def solve_near(self, bounded: Sequence[tuple[Expression, int]]) -> bool:
        """Find a solution, if it is easily found one with each expression at its least value."""
        if not all(self.ways):
            return False
        model = self.model.clone()
        for expression, least in bounded:
            model.add(expression <= least)
        solver = easy(self.cp_model, model)
        if solver is None:
            return self.solve()
        self.solver = solver
        self._keep_hints()
        return True

    def value(self, expression: Expression) -> int:
        """In the last solution."""
        return int(self.solver.value(expression))

    def solve(self) -> bool:
        """Find a solution, the best for the objective if there is one; False if there is none.

        Raises UndecidedError where the limit ends before that is proven.
        """
        solution = self.find(self.model)
        if solution is None:
            return False
        if not solution.is_best:
            raise UndecidedError
        self.solver = solution.solver
        return True


def demand(counts: Counts, constraint: Constraint) -> None:
    """Make every solution satisfy a constraint, other than that sets are apart (`bounds`)."""
    match constraint:
        case Amount(least=least, most=most):
            counts.between(held(counts, constraint), least, most)
        case Differs():
            _differ(counts, constraint)
        case InOne(name=name, scopes=scopes):
            counts.model.add_at_most_one(counts.present(name, scope.cpus) for scope in scopes)
        case AllOrNone(name=name, blocks=blocks):
            for block in blocks:
                taken = counts.taken(name, block.cpus)
                counts.model.add(taken == block.size * _has_wholly(counts, name, block))
        case Share(table=table):
            counts.model.add_element(_others(counts, constraint), table, _mine(counts, constraint))
        case Together(name=name, others=others, scopes=scopes):
            for scope in scopes or ():
                present = counts.present(name, scope.cpus)
                taken = counts.sum(counts.taken(other, scope.cpus) for other in others)
                counts.model.add(present <= taken)


def _has_wholly(counts: Counts, name: str, block: Block) -> Expression:
    """Whether the set has all CPUs that it can have of the block."""
    taken, has = counts.taken(name, block.cpus), counts.model.new_bool_var("")
    counts.model.add(taken >= block.size * has)
    # Without the statements that bound the block's size, as in an explanation, it may have more.
    more = len(block.cpus) - block.size + 1
    counts.model.add(taken <= block.size - 1 + more * has)
    return has


def _mine(counts: Counts, share: Share) -> Expression:
    return counts.variable(counts.taken(share.name, share.scope.cpus), len(share.scope.cpus))


def _others(counts: Counts, share: Share) -> Expression:
    return counts.variable(counts.taken(share.other, share.scope.cpus), len(share.scope.cpus))


def _differ(counts: Counts, constraint: Differs) -> None:
    """The sets lack one of the CPUs, or have one more, which outweighs all that they have."""
    cpus = constraint.cpus & counts.everything
    within = _taken(counts, constraint.names, cpus)
    outside = _taken(counts, constraint.names, counts.everything - cpus)
    counts.model.add(within - len(cpus) * outside <= len(cpus) - 1 if cpus else outside >= 1)


def _taken(counts: Counts, names: Sequence[str], scope: CpuSet) -> Expression:
    """The CPUs that some sets have together of a scope."""

    def taken(pattern: Pattern, threads: Sequence[int]) -> int:
        pairs = zip(threads, pattern, strict=True)
        return sum(cpu in scope and not set(slot).isdisjoint(names) for cpu, slot in pairs)

    return counts.weighted(taken, scope)


def held(counts: Counts, amount: Amount) -> Expression:
    """How much the set has of the scope, in the amount's unit."""
    if amount.unit == "caches":
        return counts.sum(_has_wholly(counts, amount.name, block) for block in amount.blocks)
    return counts.weighted(units(amount), amount.scope.cpus, amount.name)


def units(amount: Amount) -> Weight:
    """The CPUs or cores of an amount that a core used in some way is."""
    name, cpus = amount.name, amount.scope.cpus
    if amount.unit == "CPUs":
        return cpus_of(name, cpus)
    divided = [set(siblings) for siblings in amount.cores]

    def cores(pattern: Pattern, threads: Sequence[int]) -> int:
        pairs = zip(threads, pattern, strict=True)
        mine = [cpu for cpu, slot in pairs if name in slot and cpu in cpus]
        return sum(not siblings.isdisjoint(mine) for siblings in divided) if divided else bool(mine)

    return cores


def first_of(counts: Counts, options: Sequence[Rule]) -> int | None:
    """The index of the first option that fits, None if none does.

    Options differ in numbers of Amounts, and in tables of Shares. Scopes with the same numbers
    share a table.
    """
    index = counts.model.new_int_var(0, len(options) - 1, "")
    tables: dict[tuple[int, ...], Expression] = {}

    def chosen(numbers: tuple[int, ...]) -> Expression:
        if numbers not in tables:
            tables[numbers] = counts.model.new_int_var(min(numbers), max(numbers), "")
            counts.model.add_element(index, list(numbers), tables[numbers])
        return tables[numbers]

    for shares in zip(*(rule.shares for rule in options), strict=True):
        width = len(shares[0].table)
        place = counts.variable(index * width + _others(counts, shares[0]), width * len(options))
        table = [number for share in shares for number in share.table]
        counts.model.add_element(place, table, _mine(counts, shares[0]))
    for amounts in zip(*(rule.amounts for rule in options), strict=True):
        taken = held(counts, amounts[0])
        counts.model.add(taken >= chosen(tuple(amount.least for amount in amounts)))
        counts.model.add(taken <= chosen(tuple(amount.most for amount in amounts)))
    counts.model.minimize(index)
    return counts.value(index) if counts.solve() else None
