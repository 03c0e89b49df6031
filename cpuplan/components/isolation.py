"""What the kernel keeps its own work and system services away from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpuplan.base.cpuset import EMPTY, CpuSet
from cpuplan.components import chosen
from cpuplan.components.chosen import stated, stated_or, unasked
from cpuplan.diagnostics import Reason
from cpuplan.facts.settings.row import Default
from cpuplan.language.model.vocabulary import PARTITION
from cpuplan.plan import NodePlan, Pool

if TYPE_CHECKING:
    from cpuplan.language.model.pools import PartitionIsolation
    from cpuplan.language.model.tuning import Isolation


def isolated(plan: NodePlan) -> Pool:
    """The isolated CPUs, and those of isolcpus."""
    pool, isolcpus = plan.pool("isolated"), plan.pool("isolcpus")
    because = (*pool.because, *isolcpus.because) if isolcpus.cpus else pool.because
    return Pool("isolated", pool.cpus | isolcpus.cpus, because)


def by_partitions(plan: NodePlan) -> bool:
    """Whether cgroups keep the scheduler off, and no boot argument."""
    return plan.spec.isolation.by == "partitions"


def system_cpus(plan: NodePlan) -> CpuSet:
    """The CPUs of pid 1 and its heirs: neither isolated, nor offlined, nor for interrupts alone."""
    return not_isolated(plan) - interrupts_alone(plan)


def not_isolated(plan: NodePlan) -> CpuSet:
    """Everything that is neither isolated nor offlined."""
    return plan.topology.online - isolated(plan).cpus - plan.pool("offlined").cpus


def interrupts(plan: NodePlan) -> Pool:
    """The CPUs that interrupts go to."""
    return plan.pool(plan.spec.isolation.interrupts or "reserved")


def interrupts_alone(plan: NodePlan) -> CpuSet:
    """CPUs that are reserved for interrupts, and not for anything else; none if that is all."""
    name, reserved = plan.spec.isolation.interrupts or "", plan.pool("reserved").cpus
    cpus = plan.pool(name).cpus if name.startswith("reserved.") else EMPTY
    return cpus if reserved - cpus else EMPTY


def because_alone(plan: NodePlan) -> tuple[Reason, ...]:
    """Why reserved CPUs are not for system services; nothing where all are."""
    if not interrupts_alone(plan):
        return ()
    text = f"{plan.spec.isolation.interrupts} is for interrupts alone"
    return (stated(plan, text, "isolation.interrupts"),)


def why_interrupts(plan: NodePlan, default: Default) -> Reason | None:
    """Why interrupts go to certain CPUs; None where they do not, or where there are none."""
    switches, pool = plan.spec.isolation, interrupts(plan)
    wanted = switches.irq_affinity
    if wanted is None:
        wanted = switches.interrupts is not None or chosen.is_on(plan, default)
    if not wanted or not pool.cpus:
        return None
    if switches.interrupts:
        return stated(plan, f"interrupts go to {pool.name}", "isolation.interrupts")
    text, field = "interrupts go to the reserved CPUs", "isolation.irqAffinity"
    return stated_or(plan, text, field, unasked(plan, default))


def kept_off(plan: NodePlan, key: str, reason: Reason) -> Pool:
    """The isolated CPUs for which a switch of `isolation` is on, with `reason` where it is for all.

    A partition that has the switch itself decides for its CPUs.
    """
    base = isolated(plan)
    is_on = switch(plan.spec.isolation, key)
    cpus, because = (base.cpus, (*base.because, reason)) if is_on else (EMPTY, ())
    for name, own in own_switches(plan, key).items():
        partition = plan.pool(PARTITION + name)
        cpus = cpus | partition.cpus if own else cpus - partition.cpus
        field = f"pools.isolated.partitions.{name}.isolation.{key}"
        text = f"{PARTITION}{name} has {key}" if own else f"{PARTITION}{name} has no {key}"
        because = (*because, *(partition.because if own else ()), stated(plan, text, field))
    return Pool("isolated", cpus, because if cpus else ())


def own_switches(plan: NodePlan, key: str) -> dict[str, bool]:
    """The partitions that have a switch themselves, by name."""
    pool = plan.spec.pools.isolated
    switches = {}
    for name, partition in sorted(pool.partitions.items()) if pool else ():
        own = switch(partition.isolation, key) if partition.isolation else None
        if own is not None:
            switches[name] = own
    return switches


def switch(switches: Isolation | PartitionIsolation, key: str) -> bool | None:
    """Whether a switch of `isolation` is on; None where a partition does not say it."""
    from cpuplan.language.model.base import attributes

    value: bool | None = getattr(switches, attributes(type(switches))[key])
    return value
