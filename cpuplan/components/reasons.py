"""Reasons for settings: a field of the intent, a default, or a fact of the hardware."""

from cpuplan.diagnostics import Reason
from cpuplan.facts.settings.row import Default
from cpuplan.plan import NodePlan

#: The origin of a setting that nobody asked for.
DEFAULT = "default"


def stated(plan: NodePlan, text: str, field: str) -> Reason:
    """The reason `text` at `field` (a path below `spec`, as in YAML), which the intent writes."""
    return plan.node_class.reason(text, field)


def unasked(plan: NodePlan, default: Default) -> Reason:
    """The reason of a default; at its line where the intent enables it."""
    for index, switch in enumerate(plan.spec.defaults):
        if switch.enable == default.name:
            return plan.node_class.reason(default.reason, f"defaults.{index}")
    if default.real_time and not default.on.includes(plan.node_class.platform):
        return plan.node_class.reason(default.reason, "workloadHints.realTime")
    return Reason(default.reason, DEFAULT)


def asked_or(plan: NodePlan, default: Default) -> Reason:
    """The reason of the field that decides about a default where the intent writes it, else its."""
    return stated_or(plan, default.asked, default.field, unasked(plan, default))


def of_release(plan: NodePlan) -> Reason:
    """What the node tuning operator of the target's release does, which later ones do not."""
    version = plan.node_class.target_field("version")
    text = f"the node tuning operator of {plan.node_class.target.version} sets it"
    return plan.node_class.reason(text, version)


def of_mode(plan: NodePlan, text: str) -> Reason:
    """What the target's mode needs."""
    return plan.node_class.reason(text, plan.node_class.target_field("mode"))


def of_mechanism(plan: NodePlan, text: str = "") -> Reason:
    """What follows from the target's mechanism; by default that an NRI policy gives CPUs."""
    text = text or f"the NRI {plan.node_class.target.mechanism} policy gives CPUs to containers"
    return plan.node_class.reason(text, plan.node_class.target_field("mechanism"))


def stated_or(plan: NodePlan, text: str, field: str, default: Reason) -> Reason:
    """The reason `text` at `field` where the intent writes it, else the default's."""
    return plan.node_class.reason(text, field) if is_written(plan, field) else default


def of_hardware(plan: NodePlan, text: str, field: str = "") -> Reason:
    """A fact of the inventory."""
    return Reason(text, plan.node_class.hardware_place(field))


def is_written(plan: NodePlan, field: str) -> bool:
    """Whether the intent itself gives `field`, and not a default.

    Raises ValueError where intents have no such field: what no one can write is not a default.
    """
    from cpuplan.language.model import base, field_paths

    if not field_paths.is_field("Intent", field):
        raise ValueError(f"Intent has no field spec.{field}")
    value: object = plan.spec
    for key in field.split("."):
        if isinstance(value, tuple) and key.isdigit():
            value = value[int(key)]
        elif not isinstance(value, base.Model):
            return True
        elif not base.has_key(value, key):
            return False
        else:
            value = getattr(value, base.attributes(type(value))[key])
    return True
