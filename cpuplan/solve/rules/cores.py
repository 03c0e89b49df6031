"""What happens with the threads of a core."""

from collections.abc import Iterator

from cpuplan.model.pools import QOS_SETS
from cpuplan.solve.constraints import OneThread, Together, WholeCores
from cpuplan.solve.rules.rule import Rule, Statements, built_in
from cpuplan.solve.said import Said, beside, is_like_isolated, sibling_of
from cpuplan.text import joined


def siblings(statements: Statements) -> Iterator[Rule]:
    """A set with a `sibling` takes one thread of each core, and that pool the others.

    A thread that nobody is to use is switched off, since an online one still takes interrupts and
    kernel threads.
    """
    if statements.topology.threads_per_core == 1:
        return
    for each in statements.sets.values():
        if (target := sibling_of(each.pool)) and not is_like_isolated(each, statements.sets):
            text = f"{each.name} takes one thread of each core, and {target} the others"
            yield statements.rule(
                each.name, f"{each.field}.sibling", text, OneThread(each.name, target)
            )


def whole_cores(statements: Statements) -> Iterator[Rule]:
    """Siblings are not split between pools, unless wholeCores is false for all of them, or
    `sibling` says how.

    A pool that takes the rest and says nothing of cores takes the threads that the others leave.
    QoS sets care for the threads that pods may use. Two threads of a core share its caches and
    execution units, so a neighbour in another pool is heard (kubernetes/enhancements KEP-2625,
    full-pcpus-only).
    """
    if statements.topology.threads_per_core == 1:
        return
    sets = statements.sets
    for name, each in sets.items():
        if not has_whole_cores(statements, each):
            continue
        written = "whole_cores" in each.pool.model_fields_set
        whole = WholeCores(name, beside(name, sets))
        text = f"{name} takes whole cores: siblings stay in one {'set' if name in QOS_SETS else 'pool'}"
        field = f"{each.field}.wholeCores"
        rule = (
            statements.rule(name, field, text, whole)
            if written
            else built_in(name, "whole-cores", text, whole)
        )
        yield rule._replace(field=field)


def has_whole_cores(statements: Statements, each: Said) -> bool:
    """Does the set take whole cores, as it says itself or by the rule?"""
    pool = each.pool
    others = (other for other in statements.sets.values() if other.name not in QOS_SETS)
    left_to_it = pool.rest and any(not other.pool.whole_cores for other in others)
    by_rule = statements.is_on("whole-cores") and not left_to_it
    return (
        not sibling_of(pool)
        and pool.whole_cores
        and ("whole_cores" in pool.model_fields_set or by_rule)
    )


def nothing_else_idle(statements: Statements) -> Iterator[Rule]:
    """Where only siblings are to be idle, no other CPU is switched off."""
    offlined = statements.sets.get("offlined")
    if offlined and not offlined.is_written:
        hosts = beside("offlined", statements.sets)
        text = f"offlined has idle siblings of {joined(hosts)} only"
        yield built_in("offlined", "idle", text, Together("offlined", hosts, None))._replace(
            field=offlined.field
        )
