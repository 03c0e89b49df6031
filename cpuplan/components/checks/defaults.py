"""Defaults that an intent switches to no effect, and a default that only the node knows."""

from collections.abc import Iterator

from cpuplan.base.text import joined, quantity_text
from cpuplan.components import memory
from cpuplan.components.reasons import is_written
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.facts import platforms
from cpuplan.facts.settings.kubelet import (
    EVICTION_HARD,
    KUBE_RESERVED,
    MEMORY_MANAGER_POLICY,
    SYSTEM_RESERVED,
)
from cpuplan.facts.settings.table import SWITCHES
from cpuplan.plan import NodePlan

#: What the memory manager's reservation is the sum of.
_AMOUNTS = (KUBE_RESERVED.head, SYSTEM_RESERVED.head, EVICTION_HARD.head)


def check(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP560 to CP563."""
    yield from _check_switches(plan, locate)
    yield from _check_amounts(plan, locate)


def _check_switches(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    target = plan.node_class.target
    platforms_of_intent = [platforms.of(each) for each in plan.spec.targets]
    seen: set[str] = set()
    for index, switch in enumerate(plan.spec.defaults):
        name = switch.enable or switch.disable or ""
        position = locate(plan.node_class.place(f"defaults.{index}"))
        if name in seen:
            yield diagnose("CP563", position, name=name)
        seen.add(name)
        possible = SWITCHES[name].possible
        if not any(possible.includes(platform) for platform in platforms_of_intent):
            yield diagnose("CP560", position, name=name, platform=target.platform)
        if target.is_profile:
            yield diagnose("CP561", position, name=name)


def _check_amounts(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """A drop-in is laid over a configuration that cpuplan does not know."""
    owns_all = plan.node_class.platform.owns_kubelet_configuration
    if owns_all or not memory.uses_memory_manager(plan):
        return
    unsaid = [field for field in _AMOUNTS if not is_written(plan, f"kubelet.{field}")]
    if unsaid:
        position = locate(plan.node_class.place(MEMORY_MANAGER_POLICY.field))
        total = quantity_text(memory.reservation(plan))
        yield diagnose("CP562", position, fields=joined(unsaid), total=total)
