"""The ConfigMaps of koord-scheduler and koord-manager: one of each in a cluster.

They are written where an intent asks for something in them. What none asks for is as in the chart.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from cpuplan.backends.base import NODE_WAVE, Manifest, metadata
from cpuplan.base.emit import to_json, to_yaml
from cpuplan.components.koordinator import chart, names, node, scheduler, slo
from cpuplan.plan import ConfiguredPlan

#: What the chart has, by key: for the nodes that no intent speaks of.
_OF_CHART: dict[str, dict[str, Any]] = {
    "colocation-config": {"enable": True},
    slo.THRESHOLD: {"clusterStrategy": {"enable": True}},
}
#: Where a key has the strategies of nodes.
_LISTS = {slo.THRESHOLD: "nodeStrategies", slo.AMPLIFICATION: "nodeConfigs"}


def manifests(plans: Sequence[ConfiguredPlan]) -> Iterator[Manifest]:
    """Those of a cluster's plans; of scheduler arguments that differ (CP637), the first."""
    asking = [plan for plan in plans if plan.settings.of(scheduler.NAME)]
    for plan in asking[:1]:
        version = names.release(plan.node_class.target)
        if version:
            given = scheduler.arguments(plan.settings.of(scheduler.NAME))
            text = to_yaml(chart.scheduler_configuration(version, given))
            yield _manifest(scheduler.CONFIG_MAP, {scheduler.CONFIG_MAP: text})
    by_intent = {
        plan.node_class.intent: slo.strategies(settings)
        for plan in plans
        if (settings := plan.settings.of(slo.NAME))
    }
    if by_intent:
        yield _manifest(slo.CONFIG_MAP, _slo(by_intent))


def _slo(by_intent: dict[str, dict[str, dict[str, object]]]) -> dict[str, str]:
    """The chart's values, and the strategies of each intent for its nodes, known by their label."""
    data = {key: dict(value) for key, value in _OF_CHART.items()}
    for intent, strategies in sorted(by_intent.items()):
        selector = {"matchLabels": {node.INTENT_LABEL: intent}}
        for key, strategy in strategies.items():
            value = data.setdefault(key, {"enable": False})
            one = {"name": intent, "nodeSelector": selector, **strategy}
            value.setdefault(_LISTS[key], []).append(one)
    return {key: to_json(value, sort_keys=False) for key, value in data.items()}


def _manifest(name: str, data: dict[str, str]) -> Manifest:
    made = chart.config_map(name, data)
    made["metadata"] = {**made["metadata"], **metadata(name, NODE_WAVE)}
    return Manifest(f"20-configmap-{name}.yaml", made)
