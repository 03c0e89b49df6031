"""Settings of rows: what a program does not know yet, and what nobody wants, is none."""

from collections.abc import Iterator, Sequence

from cpuplan.base import yaml_values
from cpuplan.base.emit import to_yaml
from cpuplan.components import chosen
from cpuplan.components.chosen import stated_or, unasked
from cpuplan.diagnostics import Reason
from cpuplan.facts.settings.row import Form, Row
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Effect, Evidence, Setting, Value, from_plain, plain


def emit(
    plan: NodePlan, row: Row, value: Value, because: tuple[Reason, ...], **names: str
) -> Iterator[Setting]:
    """The setting of a row, where the program of the target's release knows it.

    `names` fill in the key.
    """
    node_class = plan.node_class
    if row.is_known(node_class.target):
        rule = row.cost
        if row.operator_cost and node_class.platform.has_operator_defaults:
            rule = row.operator_cost
        shown_by = row.shown_by.format(**names)
        effect = Effect(shown_by, rule.cost, _evidence(row, value)) if rule else None
        yield Setting(row.component, row.of(**names), value, because, effect)


def _evidence(row: Row, value: Value) -> tuple[Evidence, ...]:
    if row.file is None:
        return ()
    path, form = row.file
    return (Evidence(path, form, int(str(value)) if form is Form.NUMBER else value),)


def by_default(
    plan: NodePlan, row: Row, value: Value, because: tuple[Reason, ...] = ()
) -> Iterator[Setting]:
    """The same of a row that its default alone switches, whose reason comes last."""
    if chosen.is_on(plan, row.default):
        yield from emit(plan, row, value, (*because, unasked(plan, row.default)))


def given_or(plan: NodePlan, row: Row, text: str, **names: str) -> Reason:
    """Why a row has its value: the field of the intent that gives it, else its default."""
    return stated_or(plan, text, row.field.format(**names), unasked(plan, row.default))


def render_by_key(settings: Sequence[Setting]) -> str:
    """The values as YAML, by key; empty without settings."""
    return to_yaml({setting.key: plain(setting.value) for setting in settings}) if settings else ""


def parse_by_key(text: str) -> dict[str, Value]:
    """The same of that YAML."""
    return {key: from_plain(value) for key, value in next(yaml_values.load_yaml11(text)).items()}
