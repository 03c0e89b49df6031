"""The demands of rules on the counts; those on single cores are met by the ways to use a core."""

from collections.abc import Sequence

from cpuplan.base.cpuset import CpuSet
from cpuplan.solve.constraints import Amount, Constraint, Differs, Together
from cpuplan.solve.kinds import Pattern
from cpuplan.solve.model.counts import Counts, Expression, Weight, cpus_of
from cpuplan.solve.portions import AllOrNone, Block, InOne, Share
from cpuplan.solve.rules.rule import Rule


def demand(counts: Counts, constraint: Constraint) -> None:
    """Make every solution satisfy a constraint, other than that sets are apart (`cliques`)."""
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
