"""The rules and aims as a CP-SAT model. The only module that knows ortools, and it imports it when asked to solve.

The unknowns are how many cores of each kind are used in each way; which ones is chosen by `kinds.place`. Nothing is
lost by that: neither rules nor aims tell cores of a kind apart.

The result is unique by construction and not by the solver's ways: each aim is proven best, and of all layouts that
reach them the canonical one is taken, which is proven to be it.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from cpuplan.cpuset import CpuSet
from cpuplan.diagnostics import Reason
from cpuplan.solve import goals
from cpuplan.solve.constraints import Amount, Apart, Differs, Together, binds_cores, sets_of, slots_by_core
from cpuplan.solve.goals import Aim, Moved, Parts, Smallest, SplitCores, Total
from cpuplan.solve.kinds import Pattern, Ways, kinds_of, place
from cpuplan.solve.layout import in_slots, slots_of
from cpuplan.solve.rules.rule import Problem, Rule

#: The largest sum of weighted aims of one objective: exact also where the solver bounds it with floating point.
_MOST_WEIGHT = 2**45


def layout(problem: Problem, aims: Sequence[Aim]) -> dict[str, CpuSet] | None:
    """The best layout, the aims counting in their order; None when the rules contradict each other."""
    model = _Model(problem, aims)
    if all(model.reach(some) for some in model.together(aims)):
        return model.canonical()
    return None


def feasible(problem: Problem) -> bool:
    """Can the rules hold together?"""
    return _Model(problem, ()).solve()


def first_feasible(problem: Problem, options: Sequence[Rule]) -> int | None:
    """The index of the first rule that can be added to the problem; they differ in numbers of Amounts only."""
    model = _Model(problem, (), options)
    return model.first(options)


def most(problem: Problem, amount: Amount) -> int:
    """How much a set can have at most of the scope, in the amount's unit; the rules can hold together."""
    model = _Model(problem, (), [Rule("", "", Reason(""), (amount,))])
    taken = model._amount(amount)
    model.model.maximize(taken)
    model.solve()
    return model._value(taken)


class _Model:
    """The variables of a problem, and the constraints of its rules."""

    def __init__(self, problem: Problem, aims: Sequence[Aim], options: Sequence[Rule] = ()) -> None:
        from ortools.sat.python import cp_model

        self.cp_model = cp_model
        self.model = cp_model.CpModel()
        self.solver = self._new_solver()
        constraints = [each for rule in problem.rules for each in rule.constraints]
        told_apart = [*constraints, *(each for rule in options[:1] for each in rule.constraints)]
        self.names = problem.names
        self.everything = problem.topology.online
        sets = [cpus for each in told_apart for cpus in sets_of(each)]
        sets += [cpus for aim in aims for cpus in goals.sets_of(aim)]
        divided = dict.fromkeys(cores for each in (*told_apart, *aims) if (cores := getattr(each, "cores", ())))
        self.kinds = kinds_of(problem.topology, sets, divided)
        ways = Ways(slots_of(problem.names), [*constraints, *_structure(options)])
        self.ways: list[list[Pattern]] = [ways.of(kind) for kind in self.kinds]
        self.used: list[list[Any]] = []  # by kind and pattern: how many cores
        self.present: dict[tuple[str, int], Any] = {}
        for kind, patterns in zip(self.kinds, self.ways, strict=True):
            many = len(kind.cores)
            self.used.append([self.model.new_int_var(0, many, "") for _ in patterns])
            self._between(self._sum(self.used[-1]), many, many)
        for constraint in constraints:
            self._add(constraint)

    def _new_solver(self) -> Any:
        solver = self.cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = 0
        solver.parameters.linearization_level = 2  # sums over many kinds: branching alone does not bound them
        # Models are small and solved often, so that looking for symmetries and probing cost more than they save.
        solver.parameters.cp_model_probing_level = 0
        solver.parameters.symmetry_level = 0
        return solver

    def _add(self, constraint: Any) -> None:
        """What is not about single cores; those are in the patterns."""
        if isinstance(constraint, Amount):
            self._between(self._amount(constraint), constraint.least, constraint.most)
        elif isinstance(constraint, Differs):
            self._differ(constraint)
        elif isinstance(constraint, Apart | Together) and not binds_cores(constraint):
            for scope in constraint.scopes or ():
                mine = self._present(constraint.name, scope.cpus)
                if isinstance(constraint, Apart):
                    self.model.add_at_most_one(mine, self._present(constraint.other, scope.cpus))
                else:
                    others = self._sum(self._taken(other, scope.cpus) for other in constraint.others)
                    self.model.add(mine <= others)

    def _differ(self, constraint: Differs) -> None:
        """The sets lack one of the CPUs, or have one more: then what they have outside outweighs any that they have."""
        cpus = constraint.cpus & self.everything

        def taken(scope: CpuSet) -> Any:
            def held(pattern: Pattern, threads: Sequence[int]) -> int:
                pairs = zip(threads, pattern, strict=True)
                return sum(cpu in scope and not set(slot).isdisjoint(constraint.names) for cpu, slot in pairs)

            return self._weighted(held, scope)

        within, outside = taken(cpus), taken(self.everything - cpus)
        self.model.add(within - len(cpus) * outside <= len(cpus) - 1) if cpus else self.model.add(outside >= 1)

    def _amount(self, amount: Amount) -> Any:
        """How much the set has of the scope, in the amount's unit."""
        if amount.unit == "CPUs":
            return self._taken(amount.name, amount.scope.cpus)

        def cores(pattern: Pattern, threads: Sequence[int]) -> int:
            mine = [cpu for cpu, slot in zip(threads, pattern, strict=True) if amount.name in slot]
            held = CpuSet(mine) & amount.scope.cpus
            return sum(bool(held & siblings) for siblings in amount.cores) if amount.cores else bool(held)

        return self._weighted(cores, amount.scope.cpus)

    def _taken(self, name: str, scope: CpuSet) -> Any:
        """The CPUs that a set has of a scope."""

        def cpus(pattern: Pattern, threads: Sequence[int]) -> int:
            return sum(cpu in scope and name in slot for cpu, slot in zip(threads, pattern, strict=True))

        return self._weighted(cpus, scope)

    def _weighted(self, weight: Callable[[Pattern, Sequence[int]], int], scope: CpuSet) -> Any:
        """The cores of each kind and way with threads in a scope, each as often as `weight` says of its use."""
        variables, weights = [], []
        for kind, patterns, used in zip(self.kinds, self.ways, self.used, strict=True):
            if not any(cpu in scope for cpu in kind.sample):
                continue
            for pattern, variable in zip(patterns, used, strict=True):
                if found := weight(pattern, kind.sample):
                    variables.append(variable)
                    weights.append(found)
        return self.cp_model.LinearExpr.weighted_sum(variables, weights)

    def _present(self, name: str, scope: CpuSet) -> Any:
        """Whether a set has a CPU of the scope."""
        key = (name, scope.bits)
        if key not in self.present:
            has = self.model.new_bool_var("")
            self.model.add(self._taken(name, scope) <= len(scope) * has)
            self.present[key] = has
        return self.present[key]

    def _sum(self, parts: Iterable[Any]) -> Any:
        return self.cp_model.LinearExpr.sum(list(parts))

    def _between(self, expression: Any, least: int, most: int) -> Any:
        return self.model.add_linear_constraint(expression, least, most)

    def reach(self, aims: Sequence[Aim]) -> bool:
        """Come as near to the aims as the earlier ones allow, the first above all, and stay there; False if none."""
        measured = [self._measure(aim) for aim in aims]
        weight, weighted = 1, []
        for aim, expression in zip(reversed(aims), reversed(measured), strict=True):
            weighted.append(expression * weight)
            weight *= self._width(aim)
        if not self._minimise(self._sum(weighted)):
            return False
        for expression, value in [(each, self._value(each)) for each in measured]:
            self._between(expression, value, value)
        return True

    def _minimise(self, expression: Any) -> bool:
        """Make an expression as small as it can be, and keep it there; False if the rules contradict each other."""
        self.model.minimize(expression)
        if not self.solve():
            return False
        self.model.clear_objective()
        self.model.add(expression == self._value(expression))
        self._hint()
        return True

    def _width(self, aim: Aim) -> int:
        """How many values an aim's measure can have."""
        return 1 + (len(aim.scopes) if isinstance(aim, Parts) else len(self.everything))

    def together(self, aims: Sequence[Aim]) -> Iterator[list[Aim]]:
        """Neighbouring aims of one sort, as many as one objective can weigh.

        Aims of different sorts are not weighed in one objective: proving that one best takes the solver ages.
        """
        chunk: list[Aim] = []
        for aim in aims:
            weight = math.prod(self._width(each) for each in (*chunk, aim))
            if chunk and (weight > _MOST_WEIGHT or type(aim) is not type(chunk[0])):
                yield chunk
                chunk = []
            chunk.append(aim)
        if chunk:
            yield chunk

    def _measure(self, aim: Aim) -> Any:
        """What `Aim.measure` says of a layout, less a constant."""
        match aim:
            case Moved(committed=committed):
                old = {cpu: {name for name, cpus in committed if cpu in cpus} for cpu in self.everything}
                return self._moved(old)
            case SplitCores(cores=cores):

                def split(pattern: Pattern, threads: Sequence[int]) -> int:
                    parts = slots_by_core(cores, threads, pattern) if cores else [pattern]
                    return sum(len(set(part)) > 1 for part in parts)

                return self._weighted(split, self.everything)
            case Parts(name=name, scopes=scopes):
                return self._sum(self._present(name, scope.cpus) for scope in scopes)
            case Smallest(name=name, scopes=scopes):
                least = self.model.new_int_var(0, len(self.everything), "")
                for scope in scopes:
                    self.model.add(least <= self._taken(name, scope.cpus))
                return -least
            case Total(name=name, sign=sign):
                return sign * self._taken(name, self.everything)

    def _moved(self, old: dict[int, set[str]]) -> Any:
        variables, weights = [], []
        for kind, patterns, used in zip(self.kinds, self.ways, self.used, strict=True):
            for pattern, variable in zip(patterns, used, strict=True):
                if moved := sum(set(slot) != old[cpu] for slot, cpu in zip(pattern, kind.sample, strict=True)):
                    variables.append(variable)
                    weights.append(moved)
        return self.cp_model.LinearExpr.weighted_sum(variables, weights)

    def canonical(self) -> dict[str, CpuSet] | None:
        """Of all layouts that reach the aims, the one that gives low cores to the first sets.

        The places of cores times the ranks of their sets are as much as can be together. Should several layouts have
        that in common, the one is taken whose first kinds have more cores in their first patterns.
        """
        rank = {slot: index for index, slot in enumerate(slots_of(self.names))}
        variables, weights = [], []
        for index, (patterns, used) in enumerate(zip(self.ways, self.used, strict=True)):
            variables += used
            weights += [-index * sum(rank[slot] for slot in pattern) for pattern in patterns]
        places = self.cp_model.LinearExpr.weighted_sum(variables, weights)
        if not self._minimise(places):
            return None
        values = [self._value(variable) for variable in variables]
        while better := self._before(values):
            values = better
        counts = iter(values)
        slots = {}
        for kind, patterns in zip(self.kinds, self.ways, strict=True):
            slots.update(place(kind, [(pattern, next(counts)) for pattern in patterns]))
        return dict(in_slots(slots, self.names))

    def _before(self, values: Sequence[int]) -> list[int] | None:
        """A solution in which the first of the variables that differ is larger; None if there is none.

        It is the first that can be, and as large as can be: each variable is the one that differs once at most.
        """
        model = self.model.clone()
        model.clear_hints()
        larger: list[Any] = []  # each says: this is the first variable that differs
        same: Any = 1  # no variable so far differs
        gain = model.new_int_var(1, len(self.everything), "")
        at = iter(values)
        for kind, used in zip(self.kinds, self.used, strict=True):
            left = len(kind.cores)
            for variable in used:
                value = next(at)
                if left > value:
                    first, after = model.new_bool_var(""), model.new_bool_var("")
                    model.add(variable >= value + gain).only_enforce_if(first)
                    model.add(variable == value).only_enforce_if(after)
                    model.add(first + after == same)
                    larger.append(first)
                    same = after
                elif value:  # it can only be smaller, and is not where nothing differs before
                    fixed = model.add(variable == value)
                    if larger:
                        fixed.only_enforce_if(same)
                left -= value
        if not larger:
            return None
        model.add_exactly_one(larger)
        index = self.cp_model.LinearExpr.weighted_sum(larger, range(len(larger)))
        model.minimize(index * (len(self.everything) + 1) - gain)
        solver = self._new_solver()
        if self._status(solver, model) == self.cp_model.INFEASIBLE:
            return None
        return [int(solver.value(variable)) for used in self.used for variable in used]

    def _hint(self) -> None:
        """The last solution satisfies whatever the next objective starts from."""
        self.model.clear_hints()
        for used in self.used:
            for variable in used:
                self.model.add_hint(variable, self._value(variable))

    def first(self, options: Sequence[Rule]) -> int | None:
        """The index of the first option that fits. Scopes with the same numbers share a table."""
        index = self.model.new_int_var(0, len(options) - 1, "")
        tables: dict[tuple[int, ...], Any] = {}

        def chosen(numbers: tuple[int, ...]) -> Any:
            if numbers not in tables:
                tables[numbers] = self.model.new_int_var(min(numbers), max(numbers), "")
                self.model.add_element(index, list(numbers), tables[numbers])
            return tables[numbers]

        for amounts in zip(*(_amounts(rule) for rule in options), strict=True):
            taken = self._amount(amounts[0])
            self.model.add(taken >= chosen(tuple(amount.least for amount in amounts)))
            self.model.add(taken <= chosen(tuple(amount.most for amount in amounts)))
        self.model.minimize(index)
        return int(self.solver.value(index)) if self.solve() else None

    def _value(self, expression: Any) -> int:
        return int(self.solver.value(expression))

    def solve(self) -> bool:
        """Find a solution, the best for the objective if there is one; False if there is none."""
        return all(self.ways) and self._status(self.solver, self.model) != self.cp_model.INFEASIBLE

    def _status(self, solver: Any, model: Any) -> Any:
        """Solve; there is no time limit, so the answer is one of two."""
        status = solver.solve(model)
        if status not in (self.cp_model.INFEASIBLE, self.cp_model.OPTIMAL):
            raise RuntimeError(f"the solver says {solver.status_name(status)}: {model.validate()}")
        return status


def _amounts(rule: Rule) -> list[Amount]:
    return [each for each in rule.constraints if isinstance(each, Amount)]


def _structure(options: Sequence[Rule]) -> list[Any]:
    """What all options demand beside their numbers."""
    return [each for rule in options[:1] for each in rule.constraints if not isinstance(each, Amount)]
