"""What rules demand, said of the counts. What is about single cores is not: the ways to use a core
leave it out.
"""

from collections.abc import Sequence

from cpuplan.cpuset import CpuSet
from cpuplan.solve.constraints import Amount, Apart, Constraint, Differs, Together, binds_cores
from cpuplan.solve.kinds import Pattern
from cpuplan.solve.model.counts import Counts, Expression
from cpuplan.solve.rules.rule import Rule


def demand(counts: Counts, constraint: Constraint) -> None:
    """Have every solution satisfy a constraint."""
    if isinstance(constraint, Amount):
        counts.between(held(counts, constraint), constraint.least, constraint.most)
    elif isinstance(constraint, Differs):
        _differ(counts, constraint)
    elif isinstance(constraint, Apart | Together) and not binds_cores(constraint):
        for scope in constraint.scopes or ():
            mine = counts.present(constraint.name, scope.cpus)
            if isinstance(constraint, Apart):
                counts.model.add_at_most_one(mine, counts.present(constraint.other, scope.cpus))
            else:
                others = counts.sum(counts.taken(other, scope.cpus) for other in constraint.others)
                counts.model.add(mine <= others)


def _differ(counts: Counts, constraint: Differs) -> None:
    """The sets lack one of the CPUs, or have one more: then what they have outside outweighs any
    that they have.
    """
    cpus = constraint.cpus & counts.everything

    def taken(scope: CpuSet) -> Expression:
        def held(pattern: Pattern, threads: Sequence[int]) -> int:
            pairs = zip(threads, pattern, strict=True)
            return sum(
                cpu in scope and not set(slot).isdisjoint(constraint.names) for cpu, slot in pairs
            )

        return counts.weighted(held, scope)

    within, outside = taken(cpus), taken(counts.everything - cpus)
    counts.model.add(within - len(cpus) * outside <= len(cpus) - 1 if cpus else outside >= 1)


def held(counts: Counts, amount: Amount) -> Expression:
    """How much the set has of the scope, in the amount's unit."""
    divided = [set(siblings) for siblings in amount.cores]
    if amount.unit == "CPUs":
        return counts.taken(amount.name, amount.scope.cpus)

    def cores(pattern: Pattern, threads: Sequence[int]) -> int:
        pairs = zip(threads, pattern, strict=True)
        mine = [cpu for cpu, slot in pairs if amount.name in slot and cpu in amount.scope.cpus]
        return sum(not siblings.isdisjoint(mine) for siblings in divided) if divided else bool(mine)

    return counts.weighted(cores, amount.scope.cpus)


def first_of(counts: Counts, options: Sequence[Rule]) -> int | None:
    """The index of the first option that fits, None if none does. Scopes with the same numbers
    share a table.
    """
    index = counts.model.new_int_var(0, len(options) - 1, "")
    tables: dict[tuple[int, ...], Expression] = {}

    def chosen(numbers: tuple[int, ...]) -> Expression:
        if numbers not in tables:
            tables[numbers] = counts.model.new_int_var(min(numbers), max(numbers), "")
            counts.model.add_element(index, list(numbers), tables[numbers])
        return tables[numbers]

    for amounts in zip(*(_amounts(rule) for rule in options), strict=True):
        taken = held(counts, amounts[0])
        counts.model.add(taken >= chosen(tuple(amount.least for amount in amounts)))
        counts.model.add(taken <= chosen(tuple(amount.most for amount in amounts)))
    counts.model.minimize(index)
    return counts.value(index) if counts.solve() else None


def _amounts(rule: Rule) -> list[Amount]:
    return [each for each in rule.constraints if isinstance(each, Amount)]
