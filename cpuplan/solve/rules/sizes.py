"""How many CPUs each set has."""

from collections.abc import Iterator, Sequence

from cpuplan.cpuset import cpus_text
from cpuplan.model.pools import HIDDEN, PARTITION, POOLS, Pool
from cpuplan.model.topology import Topology
from cpuplan.solve.constraints import Amount, Constraint, Has, OneOf, WholeCores, Within
from cpuplan.solve.layout import Scope
from cpuplan.solve.rules.cores import has_whole_cores
from cpuplan.solve.rules.neighbours import WORDS
from cpuplan.solve.rules.places import sized_parts
from cpuplan.solve.rules.rule import Rule, Statements, built_in, named, scopes_of
from cpuplan.solve.said import Said, beside, has_size, hosts_of
from cpuplan.text import counted


def sizes(statements: Statements) -> Iterator[Rule]:
    """Each set has the size that its statement gives."""
    for each in statements.sets.values():
        yield from size(statements, each)


def size(statements: Statements, each: Said) -> Iterator[Rule]:
    """The rule of one set's size; of a pool that takes the rest, a rule without constraints."""
    name, pool = each.name, each.pool
    if not each.is_written:
        if pool.rest:
            text = f"{name} takes the rest, since no pool is said to"
            yield built_in(name, "rest", text)._replace(field=each.field)
        return
    if not has_size(pool):
        parts = tuple(other for other in statements.sets if other.startswith(PARTITION))
        text = f"{name} has no more than its partitions, since another pool takes the rest"
        yield statements.rule(name, f"{each.field}.partitions", text, OneOf(parts, name))
        return
    unit, text, constraints = _size(statements, each)
    yield statements.rule(name, f"{each.field}.{unit}", f"{name} {text}", *constraints)


def _size(statements: Statements, each: Said) -> tuple[str, str, tuple[Constraint, ...]]:
    """(field, the statement in words, its constraints)."""
    name, pool = each.name, each.pool
    scopes = sized_parts(statements, each)
    where = _where(statements, each, scopes)
    if pool.cpus is not None:
        listed = (
            f"takes {cpus_text(pool.cpus)}, which {'is' if len(pool.cpus) == 1 else 'are'} listed"
        )
        return "cpus", listed, (Within(name, pool.cpus), Has(name, pool.cpus))
    if pool.count is not None:
        amounts = tuple(Amount(name, scope, "CPUs", pool.count, pool.count) for scope in scopes)
        return "count", f"takes {counted(pool.count, 'CPU')}{where}", amounts
    if pool.cores is not None:
        number = pool.cores
        amounts = tuple(Amount(name, scope, "cores", number, number) for scope in scopes)
        if pool.sibling:
            return "cores", f"takes a thread of {counted(number, 'core')}{where}", amounts
        whole = WholeCores(name, beside(name, statements.sets))
        return "cores", f"takes {counted(number, 'whole core')}{where}", (*amounts, whole)
    if pool.percent is not None:
        amounts = tuple(_share(statements, each, scope) for scope in scopes)
        rounded = ", rounded up to whole cores" if pool.max is None else ", rounded to whole cores"
        text = f"takes {pool.percent}% of the CPUs{where}" + ("" if pool.sibling else rounded)
        return "percent", text + (f", {_bounds(pool)}{where}" if _bounds(pool) else ""), amounts
    ranges = tuple(_range(name, scope, pool) for scope in scopes) if _bounds(pool) else ()
    if pool.rest:
        parts = tuple(other for other in statements.sets if other.startswith(PARTITION))
        rest: tuple[Constraint, ...] = (OneOf(parts, PARTITION[:-1]),) if name in parts else ()
        whose = f" of {PARTITION[:-1]}" if name in parts else ""
        return (
            "rest",
            f"takes the rest{whose}" + (f", {_bounds(pool)}{where}" if ranges else ""),
            (*rest, *ranges),
        )
    return "max" if pool.min is None else "min", f"takes {_bounds(pool)}{where}", ranges


def _where(statements: Statements, each: Said, scopes: Sequence[Scope]) -> str:
    """` of each NUMA node`, ` of each of sockets 2-3`."""
    per = each.pool.per
    if per == "machine":
        return ""
    if len(scopes) == len(scopes_of(statements.topology, per)):
        return f" of each {WORDS[per]}"
    return f" of {named([scope.name for scope in scopes])}"


def _bounds(pool: Pool) -> str:
    """`2 to 8 CPUs`, `at least 2 CPUs`; empty where the pool has no bounds."""
    if pool.min is not None and pool.max is not None:
        return f"{pool.min} to {counted(pool.max, 'CPU')}"
    if pool.min is not None:
        return f"at least {counted(pool.min, 'CPU')}"
    return "" if pool.max is None else f"at most {counted(pool.max, 'CPU')}"


def _range(name: str, scope: Scope, pool: Pool) -> Amount:
    most = len(scope.cpus) if pool.max is None else pool.max
    return Amount(name, scope, "CPUs", pool.min or 0, most)


def _share(statements: Statements, each: Said, scope: Scope) -> Amount:
    """Percent of the scope's online CPUs, within `min` and `max`, as whole cores: rounded up, else
    down to below `max`.

    A set that may split cores has `max` then; so has one with no whole cores between its bounds,
    which has no layout. One thread of each core needs no rounding.
    """
    pool = each.pool
    share = max(-(-(pool.percent or 0) * len(scope.cpus) // 100), pool.min or 0)
    share = share if pool.max is None else min(share, pool.max)
    if not pool.sibling:
        sums = _sums(statements.topology, scope)
        above = next(
            (number for number in range(share, len(scope.cpus) + 1) if sums >> number & 1), share
        )
        if pool.max is None or above <= pool.max:
            share = above
        else:
            below = (sums & (1 << share) - 1).bit_length() - 1
            may_split = not has_whole_cores(statements, each) or hosts_of(
                each.name, statements.sets
            )
            share = below if below >= max(pool.min or 0, 1) and not may_split else pool.max
    return Amount(each.name, scope, "CPUs", share, share)


def _sums(topology: Topology, scope: Scope) -> int:
    """Bit n is set where some of the scope's cores have n CPUs together."""
    sums = 1
    for siblings in topology.cores.values():
        if siblings <= scope.cpus:
            sums |= sums << len(siblings)
    return sums


def every_cpu_has_a_pool(statements: Statements) -> Iterator[Rule]:
    """Each online CPU is in exactly one pool: at most one by the form of a layout, at least one by
    this rule.
    """
    pools = tuple(name for name in statements.sets if name in POOLS)
    yield built_in("", "every-cpu", "every online CPU is in a pool", OneOf(pools))._replace(
        field="pools"
    )


def pods_have_a_place(statements: Statements) -> Iterator[Rule]:
    """Best effort's CPUs and the others' are together all that pods may use.

    KEP-30: ALL - BE - OTHER = ISOLCPUS. A set that is left out has all of them.
    """
    if {"bestEffort", "other"} <= statements.sets.keys():
        text = "CPUs that are in neither QoS set are in isolcpus or offlined"
        yield built_in("", "qos-cover", text, OneOf(("bestEffort", "other", *HIDDEN)))._replace(
            field="qos"
        )
