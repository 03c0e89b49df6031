"""The number of CPUs of each set."""

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
from cpuplan.solve.sets import SetSpec, beside, has_size, hosts_of
from cpuplan.text import counted

#: The field of a size, the statement in words, and its constraints.
Size = tuple[str, str, tuple[Constraint, ...]]


def sizes(statements: Statements) -> Iterator[Rule]:
    """Each set has the size of its statement."""
    for spec in statements.sets.values():
        yield from size(statements, spec)


def size(statements: Statements, spec: SetSpec) -> Iterator[Rule]:
    """The rules of one set's size; for a pool that takes the rest, a rule without constraints."""
    name, pool = spec.name, spec.pool
    if not spec.is_written:
        if pool.rest:
            text = f"{name} takes the rest, because no other pool does"
            yield built_in(name, "rest", text, field=spec.field)
        return
    if not has_size(pool):
        text = f"{name} has no more than its partitions, since another pool takes the rest"
        partitions = OneOf(_partitions(statements), name)
        yield statements.rule(name, f"{spec.field}.partitions", text, partitions)
        return
    field, text, constraints = _size(statements, spec)
    yield statements.rule(name, f"{spec.field}.{field}", f"{name} {text}", *constraints)


def _size(statements: Statements, spec: SetSpec) -> Size:
    pool = spec.pool
    if pool.cpus is not None:
        are = "is" if len(pool.cpus) == 1 else "are"
        constraints = (Within(spec.name, pool.cpus), Has(spec.name, pool.cpus))
        return "cpus", f"takes {cpus_text(pool.cpus)}, which {are} listed", constraints
    scopes = sized_parts(statements, spec)
    where = _where(statements, spec, scopes)
    if pool.count is not None:
        number = pool.count
        amounts = tuple(Amount(spec.name, scope, "CPUs", number, number) for scope in scopes)
        return "count", f"takes {counted(number, 'CPU')}{where}", amounts
    if pool.cores is not None:
        return _cores(statements, spec, scopes, where)
    if pool.percent is not None:
        return _percent(statements, spec, scopes, where)
    bounds = _bounds(pool)
    ranges = tuple(_range(spec.name, scope, pool) for scope in scopes) if bounds else ()
    if pool.rest:
        partitions = _partitions(statements)
        text = "takes the rest of isolated" if spec.is_partition else "takes the rest"
        rest = (OneOf(partitions, "isolated"),) if spec.is_partition else ()
        return "rest", text + (f", {bounds}{where}" if bounds else ""), (*rest, *ranges)
    return "max" if pool.min is None else "min", f"takes {bounds}{where}", ranges


def _cores(statements: Statements, spec: SetSpec, scopes: Sequence[Scope], where: str) -> Size:
    name, number = spec.name, spec.pool.cores or 0
    amounts = tuple(Amount(name, scope, "cores", number, number) for scope in scopes)
    if spec.pool.sibling:
        return "cores", f"takes a thread of {counted(number, 'core')}{where}", amounts
    whole = WholeCores(name, beside(name, statements.sets))
    return "cores", f"takes {counted(number, 'whole core')}{where}", (*amounts, whole)


def _percent(statements: Statements, spec: SetSpec, scopes: Sequence[Scope], where: str) -> Size:
    pool, bounds = spec.pool, _bounds(spec.pool)
    text = f"takes {pool.percent}% of the CPUs{where}"
    if not pool.sibling:
        text += ", rounded up to whole cores" if pool.max is None else ", rounded to whole cores"
    if bounds:
        text += f", {bounds}{where}"
    return "percent", text, tuple(_share(statements, spec, scope) for scope in scopes)


def _partitions(statements: Statements) -> tuple[str, ...]:
    return tuple(name for name in statements.sets if name.startswith(PARTITION))


def _where(statements: Statements, spec: SetSpec, scopes: Sequence[Scope]) -> str:
    """` of each NUMA node`, ` of each of sockets 2-3`."""
    per = spec.pool.per
    if per == "machine":
        return ""
    if len(scopes) == len(scopes_of(statements.topology, per)):
        return f" of each {WORDS[per]}"
    return f" of {named([scope.name for scope in scopes])}"


def _bounds(pool: Pool) -> str:
    """`2 to 8 CPUs`, `at least 2 CPUs`; empty for a pool without bounds."""
    if pool.min is not None and pool.max is not None:
        return f"{pool.min} to {counted(pool.max, 'CPU')}"
    if pool.min is not None:
        return f"at least {counted(pool.min, 'CPU')}"
    return "" if pool.max is None else f"at most {counted(pool.max, 'CPU')}"


def _range(name: str, scope: Scope, pool: Pool) -> Amount:
    most = len(scope.cpus) if pool.max is None else pool.max
    return Amount(name, scope, "CPUs", pool.min or 0, most)


def _share(statements: Statements, spec: SetSpec, scope: Scope) -> Amount:
    """Percent of the scope's online CPUs, between `min` and `max`.

    One thread of each core needs no rounding.
    """
    pool = spec.pool
    share = max(-(-(pool.percent or 0) * len(scope.cpus) // 100), pool.min or 0)
    if pool.max is not None:
        share = min(share, pool.max)
    if not pool.sibling:
        share = _whole_cores(statements, spec, scope, share)
    return Amount(spec.name, scope, "CPUs", share, share)


def _whole_cores(statements: Statements, spec: SetSpec, scope: Scope, share: int) -> int:
    """The share as whole cores: rounded up, or down where that is more than `max`.

    Where neither is possible it is `max`: a set that may split cores has that many CPUs, and for
    another one there is no layout.
    """
    pool, sums = spec.pool, _sums(statements.topology, scope)
    larger = (number for number in range(share, len(scope.cpus) + 1) if sums >> number & 1)
    above = next(larger, share)
    if pool.max is None or above <= pool.max:
        return above
    below = (sums & (1 << share) - 1).bit_length() - 1
    may_split = not has_whole_cores(statements, spec) or hosts_of(spec.name, statements.sets)
    return pool.max if may_split or below < max(pool.min or 0, 1) else below


def _sums(topology: Topology, scope: Scope) -> int:
    """Bit n is set where some of the scope's cores have n CPUs together."""
    sums = 1
    for siblings in topology.cores.values():
        if siblings <= scope.cpus:
            sums |= sums << len(siblings)
    return sums


def every_cpu_has_a_pool(statements: Statements) -> Iterator[Rule]:
    """Each online CPU is in a pool: in at most one by the form of a layout, in one by this rule."""
    pools = tuple(name for name in statements.sets if name in POOLS)
    yield built_in("", "every-cpu", "every online CPU is in a pool", OneOf(pools), field="pools")


def pods_have_a_place(statements: Statements) -> Iterator[Rule]:
    """The CPUs of best effort and of the others are together all that pods may use.

    KEP-30: ALL - BE - OTHER = ISOLCPUS. A QoS set that is not given has all of them.
    """
    if {"bestEffort", "other"} <= statements.sets.keys():
        text = "CPUs that are in neither QoS set are in isolcpus or offlined"
        cover = OneOf(("bestEffort", "other", *HIDDEN))
        yield built_in("", "qos-cover", text, cover, field="qos")
