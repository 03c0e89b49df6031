"""Sizes that are shares of a number of CPUs: percent and steps, of the machine or of a set."""

from collections.abc import Sequence
from fractions import Fraction
from math import ceil

from cpuplan.base.text import counted, joined
from cpuplan.base.topology import Topology
from cpuplan.language.model.pools import Pool
from cpuplan.language.model.sizes import SHARES
from cpuplan.solve.constraints import Amount, Constraint, bounded
from cpuplan.solve.layout import Scope
from cpuplan.solve.portions import Share
from cpuplan.solve.rules.cores import has_whole_cores
from cpuplan.solve.rules.rule import Statements
from cpuplan.solve.sets import SetSpec, hosts_of


def is_share(pool: Pool) -> bool:
    """Whether the size is a share of a number of CPUs."""
    return any(getattr(pool, name) is not None for name in SHARES)


def size(
    statements: Statements, spec: SetSpec, scopes: Sequence[Scope], place: str
) -> tuple[str, str, tuple[Constraint, ...]]:
    """The field of the size, the statement in words, and its constraints."""
    pool, limits = spec.pool, bounds(spec.pool)
    text = f"takes {_words(pool)}{place}"
    if not pool.sibling:
        text += ", rounded up to whole cores" if pool.max is None else ", rounded to whole cores"
    if limits:
        text += f", {limits}{place}"
    field = "steps" if pool.steps else "percent"
    return field, text, tuple(_constraint(statements, spec, scope) for scope in scopes)


def _words(pool: Pool) -> str:
    """`10% of the CPUs`, `6% of the first 1 and 1% of the others of isolated`."""
    whole = pool.of or "the CPUs"
    if not pool.steps:
        return f"{pool.percent}% of {whole}"
    shares, start = [], "first"
    for step in pool.steps:
        which = f"{start} {step.cpus}" if step.cpus else "others"
        shares.append(f"{step.percent}% of the {which}")
        start = "next"
    return f"{joined(shares)} of {whole}"


def bounds(pool: Pool) -> str:
    """`2 to 8 CPUs`, `at least 2 CPUs`; empty for a pool without bounds."""
    if pool.min is not None and pool.max is not None:
        return f"{pool.min} to {counted(pool.max, 'CPU')}"
    if pool.min is not None:
        return f"at least {counted(pool.min, 'CPU')}"
    return "" if pool.max is None else f"at most {counted(pool.max, 'CPU')}"


def _constraint(statements: Statements, spec: SetSpec, scope: Scope) -> Constraint:
    """A number for a share of the scope's online CPUs, a table for that of another set."""
    sums, number = _sums(statements.topology, scope), len(scope.cpus)
    if spec.pool.of is None:
        share = _rounded(statements, spec, sums, number, number)
        return Amount(spec.name, scope, "CPUs", share, share)
    table = tuple(_rounded(statements, spec, sums, number, held) for held in range(number + 1))
    return Share(spec.name, spec.pool.of, scope, table)


def _rounded(statements: Statements, spec: SetSpec, sums: int, number: int, held: int) -> int:
    """The CPUs for a share of `held` CPUs of a scope with `number`, between `min` and `max`.

    One thread of each core needs no rounding.
    """
    pool = spec.pool
    share = max(_exact(pool, held), bounded(pool.min or 0))
    if pool.max is not None:
        share = min(share, pool.max)
    return share if pool.sibling else _whole_cores(statements, spec, sums, number, share)


def _exact(pool: Pool, held: int) -> int:
    """The share of so many CPUs, rounded up to a CPU after all steps are added."""
    if not pool.steps:
        return -(-(pool.percent or 0) * held // 100)
    total, left = Fraction(0), held
    for step in pool.steps:
        cpus = left if step.cpus is None else min(step.cpus, left)
        total += cpus * Fraction(step.percent) / 100
        left -= cpus
    return ceil(total)


def _whole_cores(statements: Statements, spec: SetSpec, sums: int, number: int, share: int) -> int:
    """The share as whole cores: rounded up, or down where that is more than `max`.

    Where neither is possible it is `max`: a set that may split cores has that many CPUs, and for
    another one there is no layout.
    """
    pool = spec.pool
    larger = (cpus for cpus in range(share, number + 1) if sums >> cpus & 1)
    above = next(larger, share)
    if pool.max is None or above <= pool.max:
        return above
    below = (sums & (1 << share) - 1).bit_length() - 1
    hosts = hosts_of(spec.name, statements.sets, statements.one_thread)
    may_split = not has_whole_cores(statements, spec) or hosts
    return pool.max if may_split or below < max(pool.min or 0, 1) else below


def _sums(topology: Topology, scope: Scope) -> int:
    """Bit n is set where some of the scope's cores have n CPUs together."""
    sums = 1
    for siblings in topology.cores.values():
        if siblings <= scope.cpus:
            sums |= sums << len(siblings)
    return sums
