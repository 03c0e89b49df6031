"""slo-controller-config: what koord-manager tells the koordlets of an intent's nodes."""

from collections.abc import Iterator, Sequence

from cpuplan.base import yaml_values
from cpuplan.base.emit import to_yaml
from cpuplan.components.emission import emit
from cpuplan.components.koordinator import release_names
from cpuplan.facts.settings import objects as rows
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Setting, Value, from_plain, plain
from cpuplan.upstream.koordinator.extension import releases

NAME = rows.SLO_CONTROLLER
CONFIG_MAP = "slo-controller-config"
THRESHOLD, AMPLIFICATION = rows.SUPPRESS_ENABLE.head, rows.AMPLIFICATION_ENABLE.head


def settings(plan: NodePlan) -> Iterator[Setting]:
    """Fields of the strategies for the intent's nodes, by key of the ConfigMap and field."""
    if not plan.node_class.target.has_koordinator:
        return
    given, reason = plan.spec.koordinator, plan.node_class.reason
    percent, policy = given.cpu_suppress_threshold_percent, given.cpu_suppress_policy
    if percent or policy:
        field = (rows.SUPPRESS_PERCENT if percent else rows.SUPPRESS_POLICY).field
        on = (reason("koordlet suppresses BE pods only where it is enabled", field),)
        yield from emit(plan, rows.SUPPRESS_ENABLE, True, on)
    if percent:
        text = "BE pods get what is left of this share of the node's CPUs"
        because = (reason(text, rows.SUPPRESS_PERCENT.field),)
        yield from emit(plan, rows.SUPPRESS_PERCENT, percent, because)
    if policy:
        because = (reason("how BE pods are kept to it", rows.SUPPRESS_POLICY.field),)
        yield from emit(plan, rows.SUPPRESS_POLICY, policy, because)
    ratio = given.cpu_amplification_ratio
    if ratio and release_names.reads(plan.node_class.target, releases.CONFIG_KEYS[AMPLIFICATION]):
        text = "koord-manager writes the ratio to nodes, and removes one written by hand"
        because = (reason(text, rows.AMPLIFICATION_RATIO.field),)
        yield from emit(plan, rows.AMPLIFICATION_ENABLE, True, because)
        value: Value = {"cpu": float(ratio)}
        yield from emit(plan, rows.AMPLIFICATION_RATIO, value, because)


def strategies(settings: Sequence[Setting]) -> dict[str, dict[str, object]]:
    """The fields of each strategy, by key of the ConfigMap."""
    made: dict[str, dict[str, object]] = {}
    for setting in settings:
        key, _, field = setting.key.partition(".")
        made.setdefault(key, {})[field] = plain(setting.value)
    return made


def render(settings: Sequence[Setting]) -> str:
    """The strategies as YAML; empty without settings."""
    return to_yaml(strategies(settings)) if settings else ""


def parse(text: str) -> dict[str, Value]:
    """The same fields of that YAML."""
    data = next(yaml_values.load_yaml11(text))
    return {
        f"{key}.{field}": from_plain(value)
        for key, strategy in data.items()
        for field, value in strategy.items()
    }
