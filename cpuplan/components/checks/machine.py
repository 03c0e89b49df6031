"""What the operating system of a node would not do or undo, and whole caches of unlike sizes."""

from collections.abc import Iterator

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.text import counted
from cpuplan.components import chosen, crio
from cpuplan.components.host import irqbalance
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.facts import versions
from cpuplan.facts.settings.openshift import IRQBALANCE_UNIT
from cpuplan.plan import ConfiguredPlan
from cpuplan.solve.layout import set_specs


def check_caches(plan: ConfiguredPlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP313: a set of whole caches has one with fewer online CPUs than others of the machine."""
    caches = plan.topology.uncore_caches
    largest = max(map(len, caches.values()), default=0)
    for name, spec in set_specs(plan.node_class).items():
        if spec.pool.whole_caches is None:
            continue
        held = plan.pool(name).cpus
        smaller = CpuSet(
            cache for cache, cpus in caches.items() if cpus & held and len(cpus) < largest
        )
        field = f"{spec.field}.wholeCaches"
        if smaller:
            yield diagnose(
                "CP313",
                locate(plan.node_class.place(field)),
                pool=name,
                caches=str(smaller),
                cpus=counted(min(len(caches[cache]) for cache in smaller), "online CPU"),
                largest=largest,
            )


def check_system(plan: ConfiguredPlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP574 to CP576."""
    node_class = plan.node_class
    if node_class.platform.has_operator_defaults:
        yield from _check_mask(plan, locate)
        return
    if plan.spec.isolation.system_services == "slices" and chosen.has_cgroups_v1(plan):
        position = locate(node_class.place("isolation.systemServices"))
        yield diagnose("CP574", position, cluster=node_class.cluster)
    unknown = node_class.target.os_family is None
    if unknown and crio.has_hooks(plan) and not plan.settings.of(irqbalance.NAME):
        yield diagnose("CP575", locate(node_class.place("isolation.irqAffinity")))


def _check_mask(plan: ConfiguredPlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP576: TuneD bans isolated CPUs by a list, and the operator's unit overrides it by a mask."""
    target = plan.node_class.target
    by_list = plan.spec.isolation.globally_disable_irq_load_balancing and versions.ships(
        target, "tuned.bans_by_list"
    )
    if by_list and (target.is_profile or chosen.is_on(plan, IRQBALANCE_UNIT.default)):
        field = "isolation.globallyDisableIrqLoadBalancing"
        remedy = "switch off the default irqbalance-start (`defaults`)"
        if target.is_profile:
            # A PerformanceProfile has no `defaults`.
            remedy = (
                "use an intent of mode mco (`cpuplan import performanceprofile` makes one), and "
                "switch off its default irqbalance-start (`defaults`)"
            )
        yield diagnose("CP576", locate(plan.node_class.place(field)), remedy=remedy)
