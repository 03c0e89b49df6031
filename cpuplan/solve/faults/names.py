"""Statements that name unknown sets, or that contradict each other by themselves."""

from collections.abc import Iterator

from cpuplan.base.text import joined
from cpuplan.diagnostics import Diagnostic, Label, diagnose
from cpuplan.diagnostics.source import At
from cpuplan.language.model.base import attributes
from cpuplan.language.model.pools import DIVIDED, IDLE, QOS_SETS, Pool
from cpuplan.language.model.words import PARTITION
from cpuplan.solve.rules.rule import Statements
from cpuplan.solve.sets import SetSpec, SetSpecs, is_like_host, sibling_of


def two_rests(statements: Statements, at: At) -> Iterator[Diagnostic]:
    """CP213: several pools, or several partitions, take the rest."""
    rests = [spec for spec in statements.sets.values() if spec.pool.rest]
    for same in (
        [spec for spec in rests if spec.is_pool],
        *([spec for spec in rests if spec.is_partition and spec.host == host] for host in DIVIDED),
    ):
        if len(same) > 1:
            yield _two_rests(same, at)


def _two_rests(rests: list[SetSpec], at: At) -> Diagnostic:
    first, *others = rests
    labels = []
    for spec in others:
        position = at(f"{spec.field}.rest")
        if position:
            labels.append(Label(position, f"{spec.name} takes the rest too"))
    pools = joined([spec.name for spec in rests])
    label = f"{first.name} takes the rest"
    return diagnose("CP213", at(f"{first.field}.rest"), label=label, labels=labels, pools=pools)


def unknown_sets(statements: Statements, at: At) -> Iterator[Diagnostic]:
    """CP215 to CP217, CP315: sets that the intent does not have, or that cannot be meant."""
    known = statements.sets
    named: list[tuple[str, str]] = []
    for spec in known.values():
        named += _named_sets(spec, known)
        sibling = None if is_like_host(spec, known) else spec.pool.sibling
        if sibling is not None and _cannot_share(spec.name, sibling_of(spec.pool) or ""):
            yield diagnose("CP216", at(f"{spec.field}.sibling"), pool=spec.name, sibling=sibling)
        if spec.pool.of == spec.name:
            yield diagnose("CP315", at(f"{spec.field}.of"), pool=spec.name)
    for index, workload in enumerate(statements.node_class.spec.workloads):
        field, pool = f"workloads.{index}.pool", workload.pool
        named.append((field, pool))
        if pool != "isolated" and not pool.startswith(PARTITION):
            yield diagnose("CP217", at(field), workload=workload.name, pool=pool)
    yield from _interrupts(statements, at)
    for field, name in named:
        if name not in known:
            yield diagnose("CP215", at(field), name=name, known=joined(list(known)))


def _interrupts(statements: Statements, at: At) -> Iterator[Diagnostic]:
    """CP215, CP320: CPUs for interrupts that the intent does not have, or that are of pods."""
    name, field = statements.node_class.spec.isolation.interrupts, "isolation.interrupts"
    if name is None:
        return
    spec = statements.sets.get(name)
    if spec is None:
        yield diagnose("CP215", at(field), name=name, known=joined(list(statements.sets)))
    elif spec.host not in ("reserved", "shared"):
        yield diagnose("CP320", at(field), pool=name)


def _named_sets(spec: SetSpec, known: SetSpecs) -> Iterator[tuple[str, str]]:
    """The fields of a statement that name other sets, with the names."""
    for relation in ("apart", "together"):
        for other in getattr(spec.pool, relation):
            yield f"{spec.field}.{relation}.{other}:", other
    if spec.pool.of is not None:
        yield f"{spec.field}.of", spec.pool.of
    sibling = spec.pool.sibling
    if sibling is not None and sibling != IDLE and not is_like_host(spec, known):
        yield f"{spec.field}.sibling", sibling


def _cannot_share(host: str, target: str) -> bool:
    """Whether threads of a core cannot be in both: one pool, a pool and its part, or QoS sets."""
    if host in QOS_SETS or target in QOS_SETS or target == host:
        return True
    return target.startswith(f"{host}.")


def empty_reserved(statements: Statements, at: At) -> Iterator[Diagnostic]:
    """CP212: a reserved pool of size 0 under the static policy."""
    pool = statements.sets["reserved"].pool
    keys = ("cpus", "count", "cores", "wholeCaches", "max")
    sizes = [key for key in keys if getattr(pool, attributes(Pool)[key]) is not None]
    static = statements.node_class.cpu_manager_policy == "static"
    if not sizes or not static or not statements.is_on("reserved-not-empty"):
        return
    if not getattr(pool, attributes(Pool)[sizes[0]]):
        yield diagnose("CP212", at(f"pools.reserved.{sizes[0]}"))
