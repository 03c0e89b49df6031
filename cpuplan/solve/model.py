"""The rules and goals as a CP-SAT model. The only module that knows ortools, and it imports it when asked to solve.

The unknowns are how many CPUs of each kind of core each pool takes; which ones is chosen by `kinds.place`. Nothing is
lost by that: listed CPUs are taken out first, pools of whole cores take multiples of a core's threads, and what the
others take of the remaining cores of a kind can always be laid out side by side.

One worker, a fixed seed, no time limit, and goals that leave no choice: the same layout everywhere.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from cpuplan.cpuset import CpuSet, union
from cpuplan.solve.goals import Aim, Goal
from cpuplan.solve.kinds import LEFT_OVER, Kind, kinds_of, place
from cpuplan.solve.rules import Amount, Covered, Listed, Problem, Rule, WholeCores

#: The largest sum of weighted terms of one objective: exact also where the solver bounds it with floating point.
_MOST_WEIGHT = 2**45


class Term(NamedTuple):
    """A number to make as large as possible; it lies between `low` and `high`."""

    expression: Any
    low: int
    high: int


def layout(problem: Problem, goals: Iterable[Goal]) -> dict[str, CpuSet] | None:
    """The best layout of the problem's pools; None when the rules contradict each other."""
    model = _Model(problem)
    # Goals of different sorts are not weighed in one objective: proving that one best takes the solver ages.
    objectives = [terms for goal in goals for terms in _chunks(model.terms(goal))]
    if not all(model.maximise(terms) for terms in objectives or [[]]):
        return None
    return model.chosen()


def feasible(problem: Problem) -> bool:
    """Can the rules hold together?"""
    return _Model(problem).maximise([])


def first_feasible(problem: Problem, options: Sequence[Rule]) -> int | None:
    """The index of the first rule that can be added to the problem; the options consist of Amounts."""
    return _Model(problem, options).first(options)


def _chunks(terms: Iterable[Term]) -> Iterator[list[Term]]:
    """As many terms together as one objective can weigh so that an earlier one always outweighs all later ones."""
    chunk: list[Term] = []
    weight = 1
    for term in terms:
        width = term.high - term.low + 1
        if chunk and weight * width > _MOST_WEIGHT:
            yield chunk
            chunk, weight = [], 1
        chunk.append(term)
        weight *= width
    if chunk:
        yield chunk


class _Model:
    """The variables of a problem, and the constraints of its rules."""

    def __init__(self, problem: Problem, options: Sequence[Rule] = ()) -> None:
        from ortools.sat.python import cp_model

        self.cp_model = cp_model
        self.model = cp_model.CpModel()
        self.variables: list[Any] = []
        self.solver = cp_model.CpSolver()
        self.solver.parameters.num_workers = 1
        self.solver.parameters.random_seed = 0
        self.solver.parameters.linearization_level = 2  # sums over many kinds: branching alone does not bound them
        constraints = [constraint for rule in problem.rules for constraint in rule.constraints]
        covered = any(isinstance(constraint, Covered) for constraint in constraints)
        amounts = [constraint for constraint in constraints if isinstance(constraint, Amount)]
        optional = [constraint for rule in options for constraint in rule.constraints]
        self.pools = problem.pools if covered else (*problem.pools, LEFT_OVER)
        self.listed = {constraint.pool: constraint.cpus for constraint in constraints if isinstance(constraint, Listed)}
        self.whole = {constraint.pool for constraint in constraints if isinstance(constraint, WholeCores)}
        self.whole |= {c.pool for c in (*amounts, *optional) if isinstance(c, Amount) and c.unit == "cores"}
        self.online = problem.topology.online
        self.kinds = kinds_of(problem.topology, self.listed)
        self.cores: dict[tuple[int, str], Any] = {}  # by kind and pool: cores that the pool has for itself
        self.taken: dict[tuple[int, str], Any] = {}  # by kind and pool: CPUs
        for index, kind in enumerate(self.kinds):
            self._add_kind(index, kind)
        for amount in amounts:
            self._between(self._amount(amount), amount.least, amount.most)

    def _add_kind(self, index: int, kind: Kind) -> None:
        """Each free CPU of the kind is in one pool; a core of which a list holds a part is split."""
        many, size = len(kind.cores), kind.threads
        for pool in self.pools:
            cores: Any = 0
            taken: Any = 0
            if kind.holders:
                if self.whole.isdisjoint((pool, *kind.holders)) and pool not in self.listed:
                    taken = self._number(many * size)
            elif pool not in self.listed:
                cores = self._number(many)
                taken = cores * size
                if pool not in self.whole and size > 1:
                    taken = cores * size + self._number(size - 1)
            self.cores[index, pool] = cores
            self.taken[index, pool] = taken
        self._between(self._sum(self.taken[index, pool] for pool in self.pools), many * size, many * size)

    def _amount(self, amount: Amount) -> Any:
        """How much the pool has of the scope, in the amount's unit."""
        if amount.unit == "cores":
            return self._sum(self.cores[index, amount.pool] for index in self._within(amount.scope.cpus))
        listed = self.listed.get(amount.pool, CpuSet()) & amount.scope.cpus
        return len(listed) + self._sum(self.taken[index, amount.pool] for index in self._within(amount.scope.cpus))

    def _within(self, scope: CpuSet) -> Iterator[int]:
        return (index for index, kind in enumerate(self.kinds) if kind.cores[0] <= scope)

    def _number(self, most: int) -> Any:
        """A new variable from 0 to `most`."""
        self.variables.append(self.model.new_int_var(0, most, ""))
        return self.variables[-1]

    def _sum(self, parts: Iterable[Any]) -> Any:
        return self.cp_model.LinearExpr.sum(list(parts))

    def _between(self, expression: Any, least: int, most: int) -> Any:
        return self.model.add_linear_constraint(expression, least, most)

    def terms(self, goal: Goal) -> Iterator[Term]:
        """What the goal makes as large as possible, most important first; nothing where there is nothing to choose."""
        if goal.aim is Aim.FEW_SPLIT_CORES:
            yield from self._unsplit_cores()
        elif goal.aim is Aim.FEW_LEFT_OVER:
            most = len(self.online)
            yield Term(-self._sum(self.taken[index, LEFT_OVER] for index in range(len(self.kinds))), -most, 0)
        elif goal.pool not in self.pools or goal.pool in self.listed:
            return
        elif goal.aim is Aim.BOOT_CPU:
            yield from self._boot_cpu(goal.pool)
        elif goal.aim is Aim.FEW_NUMA_NODES:
            yield from self._numa_nodes(goal.pool)
        else:
            indexes = range(len(self.kinds))
            for index in indexes if goal.aim is Aim.LOWEST_CORES else reversed(indexes):
                yield self._filled(index, goal.pool)

    def _filled(self, index: int, pool: str) -> Term:
        """Cores or CPUs of a kind in a pool: the smaller number where both say the same."""
        kind = self.kinds[index]
        if pool in self.whole:
            return Term(self.cores[index, pool], 0, len(kind.cores))
        return Term(self.taken[index, pool], 0, len(kind.cores) * kind.threads)

    def _unsplit_cores(self) -> Iterator[Term]:
        partly = [pool for pool in self.pools if pool not in self.whole and pool not in self.listed]
        split = [index for index, kind in enumerate(self.kinds) if kind.threads > 1 and not kind.holders]
        if len(partly) > 1 and split:
            most = sum(len(self.kinds[index].cores) for index in split)
            yield Term(self._sum(self.cores[index, pool] for index in split for pool in partly), 0, most)

    def _boot_cpu(self, pool: str) -> Iterator[Term]:
        # `place` gives the lowest CPUs of a kind to reserved, so any CPU of the boot CPU's kind will do.
        for index, kind in enumerate(self.kinds):
            if self.online.first in kind.cores[0]:
                has = self._number(1)
                self.model.add(has <= self.taken[index, pool])
                yield Term(has, 0, 1)

    def _numa_nodes(self, pool: str) -> Iterator[Term]:
        nodes = sorted({kind.numa_node for kind in self.kinds})
        used = []
        for node in nodes:
            has = self._number(1)
            inside = [index for index, kind in enumerate(self.kinds) if kind.numa_node == node]
            most = sum(len(self.kinds[index].cores) * self.kinds[index].threads for index in inside)
            self.model.add(self._sum(self.taken[index, pool] for index in inside) <= has * most)
            used.append(has)
        if len(nodes) > 1:
            yield Term(-self._sum(used), -len(nodes), 0)

    def maximise(self, terms: Sequence[Term]) -> bool:
        """Make the terms as large as possible, the first above all, and keep them there; False if nothing fits."""
        weight, weighted = 1, []
        for term in reversed(terms):
            weighted.append((term.expression - term.low) * weight)
            weight *= term.high - term.low + 1
        if weighted:
            self.model.maximize(self._sum(weighted))
        if not self._solve():
            return False
        reached = [(term.expression, self._value(term.expression)) for term in terms]
        self.model.clear_objective()
        self._hint()
        for expression, value in reached:
            self._between(expression, value, value)
        return True

    def _hint(self) -> None:
        """The last solution satisfies whatever the next objective starts from."""
        self.model.clear_hints()
        for variable in self.variables:
            self.model.add_hint(variable, self._value(variable))

    def first(self, options: Sequence[Rule]) -> int | None:
        """The index of the first option that fits."""
        chosen = [self.model.new_bool_var("") for _ in options]
        self.model.add_exactly_one(chosen)
        for option, rule in zip(chosen, options, strict=True):
            for amount in rule.constraints:
                assert isinstance(amount, Amount)  # noqa: S101 - see first_feasible
                self._between(self._amount(amount), amount.least, amount.most).only_enforce_if(option)
        self.model.minimize(self._sum(index * option for index, option in enumerate(chosen)))
        if not self._solve():
            return None
        return next(index for index, option in enumerate(chosen) if self.solver.value(option))

    def chosen(self) -> dict[str, CpuSet]:
        """The layout of the last solution."""
        parts = [
            place(kind, {pool: self._value(self.taken[index, pool]) for pool in self.pools})
            for index, kind in enumerate(self.kinds)
        ]
        free = {pool: union(part[pool] for part in parts) for pool in self.pools}
        return {pool: cpus | self.listed.get(pool, CpuSet()) for pool, cpus in free.items()}

    def _value(self, expression: Any) -> int:
        return int(self.solver.value(expression))

    def _solve(self) -> bool:
        status = self.solver.solve(self.model)
        if status == self.cp_model.INFEASIBLE:
            return False
        if status != self.cp_model.OPTIMAL:
            raise RuntimeError(f"the solver says {self.solver.status_name(status)}: {self.model.validate()}")
        return True
