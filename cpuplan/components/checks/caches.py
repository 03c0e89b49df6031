"""Whole caches of unlike sizes: what a pool got may be less than was meant."""

from collections.abc import Iterator

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.text import counted
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.plan import ConfiguredPlan
from cpuplan.solve.layout import set_specs


def check(plan: ConfiguredPlan, locate: Locate) -> Iterator[Diagnostic]:
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
