"""NodeNUMAResourceArgs: how koord-scheduler chooses CPUs and NUMA nodes, for the whole cluster."""

from collections.abc import Iterator, Sequence
from typing import Any

from cpuplan.base import yaml_values
from cpuplan.base.emit import to_yaml
from cpuplan.components.emission import emit
from cpuplan.facts.settings import objects as rows
from cpuplan.language.model.allocators import Scoring
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Setting, Value, from_plain, plain

NAME = rows.KOORD_SCHEDULER
CONFIG_MAP = "koord-scheduler-config"

#: The default of a scheduler without any strategy.
_ALIKE = {"cpu": 1, "memory": 1}


def settings(plan: NodePlan) -> Iterator[Setting]:
    """Fields of the arguments; none where the intent names none."""
    if not plan.node_class.target.has_koordinator:
        return
    given, reason = plan.spec.koordinator.scheduler, plan.node_class.reason
    if given.default_cpu_bind_policy:
        text = "for LSE and LSR pods that name no policy"
        because = (reason(text, rows.BIND_POLICY.field),)
        yield from emit(plan, rows.BIND_POLICY, given.default_cpu_bind_policy, because)
    if given.scoring_strategy:
        because = (reason("which node is better", rows.SCORING.field),)
        yield from emit(plan, rows.SCORING, _scoring(given.scoring_strategy), because)
    if given.numa_scoring_strategy:
        text = "which NUMA node is better, and the allocate strategy of nodes without a label"
        because = (reason(text, rows.NUMA_SCORING.field),)
        yield from emit(plan, rows.NUMA_SCORING, _scoring(given.numa_scoring_strategy), because)


def _scoring(given: Scoring) -> Value:
    """With resources: a strategy without any would score nothing, whatever its type."""
    weights = {one.name: one.weight for one in given.resources} or _ALIKE
    resources: tuple[Value, ...] = tuple(
        {"name": name, "weight": weight} for name, weight in weights.items()
    )
    return {"type": given.type, "resources": resources}


def arguments(settings: Sequence[Setting]) -> dict[str, Any]:
    """The arguments, without their envelope."""
    return {setting.key: plain(setting.value) for setting in settings}


def render(settings: Sequence[Setting]) -> str:
    """The arguments as YAML; empty without settings."""
    return to_yaml(arguments(settings)) if settings else ""


def parse(text: str) -> dict[str, Value]:
    """The same of YAML."""
    return {key: from_plain(value) for key, value in next(yaml_values.load_yaml11(text)).items()}
