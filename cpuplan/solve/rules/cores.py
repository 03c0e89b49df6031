"""How sets share the threads of a core."""

from collections.abc import Iterator

from cpuplan.base.text import joined
from cpuplan.solve.constraints import OneThread, Together, WholeCores
from cpuplan.solve.rules.rule import Rule, Statements, built_in
from cpuplan.solve.sets import SetSpec, beside, is_like_host, sibling_of


def siblings(statements: Statements) -> Iterator[Rule]:
    """A set with a `sibling` takes one thread of each core, and that pool the others.

    A thread for nobody is switched off, since an online one takes interrupts and kernel threads.
    """
    if statements.topology.threads_per_core == 1:
        return
    for name, spec in statements.sets.items():
        target = sibling_of(spec.pool)
        if target and not is_like_host(spec, statements.sets):
            text = f"{name} takes one thread of each core, and {target} the others"
            yield statements.rule(name, f"{spec.field}.sibling", text, OneThread(name, target))


def whole_cores(statements: Statements) -> Iterator[Rule]:
    """Siblings stay in one pool, unless wholeCores is false for all of them, or `sibling` is given.

    A pool that takes the rest and has no wholeCores takes the threads that the others leave. QoS
    sets are about the threads that pods may use. Two threads of a core share its caches and
    execution units, so a neighbour in another pool disturbs (kubernetes/enhancements KEP-2625,
    full-pcpus-only).
    """
    if statements.topology.threads_per_core == 1:
        return
    for name, spec in statements.sets.items():
        if not has_whole_cores(statements, spec):
            continue
        one = "set" if spec.is_qos else "pool"
        text = f"{name} takes whole cores: siblings stay in one {one}"
        field = f"{spec.field}.wholeCores"
        whole = WholeCores(name, beside(name, statements.sets, statements.one_thread))
        if "whole_cores" in spec.pool.model_fields_set:
            yield statements.rule(name, field, text, whole)
        else:
            yield built_in(name, "whole-cores", text, whole, field=field)


def has_whole_cores(statements: Statements, spec: SetSpec) -> bool:
    """Whether the set takes whole cores, by its statement or by the rule."""
    pool = spec.pool
    if sibling_of(pool) or not pool.whole_cores:
        return False
    if "whole_cores" in pool.model_fields_set:
        return True
    others = (other for other in statements.sets.values() if not other.is_qos)
    left_to_it = pool.rest and any(not other.pool.whole_cores for other in others)
    return statements.is_on("whole-cores") and not left_to_it


def nothing_else_idle(statements: Statements) -> Iterator[Rule]:
    """Where only siblings are to be idle, no other CPU is switched off."""
    offlined = statements.sets.get("offlined")
    if offlined and not offlined.is_written:
        hosts = beside("offlined", statements.sets, statements.one_thread)
        text = f"offlined has idle siblings of {joined(hosts)} only"
        idle = Together("offlined", hosts, None)
        yield built_in("offlined", "idle", text, idle, field=offlined.field)
