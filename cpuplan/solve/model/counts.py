"""The numbers of cores of each kind that are used in each way: unknowns, sums, and values.

`kinds.place` chooses the cores; nothing is lost, since neither rules nor aims distinguish them.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any, TypeAlias

from cpuplan.cpuset import CpuSet
from cpuplan.solve.kinds import Kind, Pattern

#: A sum over the solver's variables.
Expression: TypeAlias = Any


class Counts:
    """The variables in `model`, and the solver for their values.

    `used` has a variable for each pattern of `ways`, kind by kind.
    """

    def __init__(self, kinds: Sequence[Kind], ways: Sequence[Sequence[Pattern]]) -> None:
        from ortools.sat.python import cp_model

        self.cp_model = cp_model
        self.model = cp_model.CpModel()
        self.solver = self.new_solver()
        self.kinds, self.ways = kinds, ways
        self._bits = {kind.sample: CpuSet(kind.sample).bits for kind in kinds}
        cores = chain.from_iterable(kind.cores for kind in kinds)
        self.everything = CpuSet(chain.from_iterable(cores))
        self.used: list[list[Expression]] = []
        self._present: dict[tuple[str, int], Expression] = {}
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

        def cpus(pattern: Pattern, threads: Sequence[int]) -> int:
            pairs = zip(threads, pattern, strict=True)
            return sum(name in slot and cpu in scope for cpu, slot in pairs)

        return self.weighted(cpus, scope)

    def present(self, name: str, scope: CpuSet) -> Expression:
        """Whether a set has a CPU of the scope."""
        key = (name, scope.bits)
        if key not in self._present:
            has = self.model.new_bool_var("")
            self.model.add(self.taken(name, scope) <= len(scope) * has)
            self._present[key] = has
        return self._present[key]

    def variable(self, expression: Expression, most: int) -> Expression:
        """A variable from 0 to `most` with the value of an expression."""
        variable = self.model.new_int_var(0, most, "")
        self.model.add(variable == expression)
        return variable

    def weighted(
        self, weight: Callable[[Pattern, Sequence[int]], int], scope: CpuSet
    ) -> Expression:
        """The sum of the cores of each kind and way with threads in a scope, times their weight."""
        variables, weights = [], []
        for kind, patterns, used in zip(self.kinds, self.ways, self.used, strict=True):
            if not self._bits[kind.sample] & scope.bits:
                continue
            for pattern, variable in zip(patterns, used, strict=True):
                factor = weight(pattern, kind.sample)
                if factor:
                    variables.append(variable)
                    weights.append(factor)
        return self.cp_model.LinearExpr.weighted_sum(variables, weights)

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
        # The last solution satisfies whatever the next objective starts from.
        self.model.clear_hints()
        for variable in self.variables:
            self.model.add_hint(variable, self.value(variable))
        return True

    def value(self, expression: Expression) -> int:
        """In the last solution."""
        return int(self.solver.value(expression))

    def solve(self) -> bool:
        """Find a solution, the best for the objective if there is one; False if there is none."""
        return all(self.ways) and self.is_solved(self.solver, self.model)

    def is_solved(self, solver: Any, model: Any) -> bool:
        """Whether there is a solution; there is no time limit, so the answer is one of two."""
        status = solver.solve(model)
        if status not in (self.cp_model.INFEASIBLE, self.cp_model.OPTIMAL):
            raise RuntimeError(f"the solver says {solver.status_name(status)}: {model.validate()}")
        return bool(status != self.cp_model.INFEASIBLE)
