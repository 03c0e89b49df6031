"""The numbers of cores of each kind that are used in each way: unknowns, sums, and values.

`kinds.place` chooses the cores; nothing is lost, since neither rules nor aims distinguish them.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, chain, repeat
from typing import Any, TypeAlias

from cpuplan.cpuset import CpuSet
from cpuplan.solve.constraints import Amount
from cpuplan.solve.kinds import Kind, Pattern

#: A sum over the solver's variables.
Expression: TypeAlias = Any
#: What a core counts whose threads (the second value) are used in some way (the first one).
Weight: TypeAlias = Callable[[Pattern, Sequence[int]], int]

#: The deterministic time for an attempt whose failure says nothing: about half a second.
_EASY = 0.3
#: The deterministic time of the first turn of each way to search, and how much longer the next is.
_TURN, _LONGER = 0.5, 4
#: Levels of cutting planes: most models are so tight that these cost more than they save.
_CUTS = (0, 1)


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
        kinds: Sequence[Kind],
        ways: Sequence[Sequence[Pattern]],
        sizes: Iterable[Amount] = (),
    ) -> None:
        from ortools.sat.python import cp_model

        self.cp_model = cp_model
        self.model = cp_model.CpModel()
        self.solver = self.new_solver()
        self.kinds, self.ways, self.sizes = kinds, ways, list(sizes)
        self._bits = [CpuSet(kind.sample).bits for kind in kinds]
        self._indexes: dict[int, list[int]] = {}
        self._whole: dict[tuple[str, int], list[int]] = {}
        cores = chain.from_iterable(kind.cores for kind in kinds)
        self.everything = CpuSet(chain.from_iterable(cores))
        self.used: list[list[Expression]] = []
        self._present: dict[tuple[str, int], Expression] = {}
        self._rooms: dict[tuple[str, int], int] = {}
        self._widths: dict[str, set[int]] = {}
        for kind, patterns in zip(kinds, ways, strict=True):
            number = len(kind.cores)
            self.used.append([self.model.new_int_var(0, number, "") for _ in patterns])
            self.between(self.sum(self.used[-1]), number, number)

    def new_solver(self) -> Any:
        solver = self.cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = 0
        # sums over many kinds: branching alone does not bound them
        solver.parameters.linearization_level = 2
        # Models are small and solved often: symmetries and probing cost more than they save.
        solver.parameters.cp_model_probing_level = 0
        solver.parameters.symmetry_level = 0
        return solver

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

    def variable(self, expression: Expression, most: int) -> Expression:
        """A variable from 0 to `most` with the value of an expression."""
        variable = self.model.new_int_var(0, most, "")
        self.model.add(variable == expression)
        return variable

    def weighted(self, weight: Weight, scope: CpuSet) -> Expression:
        """The sum of the cores of each kind and way with threads in a scope, times their weight."""
        variables, weights = [], []
        for index in self._inside(scope):
            kind, used = self.kinds[index], self.used[index]
            for pattern, variable in zip(self.ways[index], used, strict=True):
                factor = weight(pattern, kind.sample)
                if factor:
                    variables.append(variable)
                    weights.append(factor)
        return self.cp_model.LinearExpr.weighted_sum(variables, weights)

    def most(self, weight: Weight, scope: CpuSet) -> int:
        """The most that such a sum can be, where all cores are used in the way that weighs most."""
        total = 0
        for index in self._inside(scope):
            kind = self.kinds[index]
            most = max((weight(pattern, kind.sample) for pattern in self.ways[index]), default=0)
            total += most * len(kind.cores)
        return total

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

    def least(self, name: str) -> int:
        """At most as many CPUs as the set has."""
        least = 0
        for size in self._sizes_of(name):
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
            numbers = {sum(name in slot for slot in pattern) for pattern in patterns}
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

    def minimise(self, expression: Expression) -> bool:
        """Make an expression as small as possible; False if the rules contradict each other."""
        self.model.minimize(expression)
        if not self.solve():
            return False
        self.model.clear_objective()
        self.model.add(expression == self.value(expression))
        self._keep_hints()
        return True

    def _keep_hints(self) -> None:
        """The last solution satisfies whatever the next objective starts from."""
        self.model.clear_hints()
        for variable in self.variables:
            self.model.add_hint(variable, self.value(variable))

    def solve_near(self, bounded: Sequence[tuple[Expression, int]]) -> bool:
        """Find a solution, if it is easily found one with each expression at its least value."""
        if not all(self.ways):
            return False
        model, solver = self.model.clone(), self.new_solver()
        for expression, least in bounded:
            model.add(expression <= least)
        solver.parameters.max_deterministic_time = _EASY
        if solver.solve(model) in (self.cp_model.FEASIBLE, self.cp_model.OPTIMAL):
            self.solver = solver
            self._keep_hints()
            return True
        return self.solve()

    def value(self, expression: Expression) -> int:
        """In the last solution."""
        return int(self.solver.value(expression))

    def solve(self) -> bool:
        """Find a solution, the best for the objective if there is one; False if there is none."""
        return all(self.ways) and self.is_solved(self.solver, self.model)

    def is_solved(self, solver: Any, model: Any) -> bool:
        """Whether there is a solution, the best one: the solver's ways to search take turns.

        Turns are in deterministic time, so that the answer comes the same way on every machine.
        """
        for time in accumulate(repeat(_TURN), lambda turn, _: turn * _LONGER):
            for cuts in _CUTS:
                solver.parameters.cut_level = cuts
                solver.parameters.max_deterministic_time = time
                status = solver.solve(model)
                if status in (self.cp_model.INFEASIBLE, self.cp_model.OPTIMAL):
                    return bool(status != self.cp_model.INFEASIBLE)
                if status == self.cp_model.MODEL_INVALID:
                    raise RuntimeError(f"the solver refuses its model: {model.validate()}")
        raise AssertionError("turns do not end")
