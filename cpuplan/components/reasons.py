"""Reasons for settings that come from a field of the intent, or from its default."""

import re

from cpuplan.diagnostics import Reason
from cpuplan.plan import NodePlan


def stated(plan: NodePlan, text: str, field: str) -> Reason:
    """The reason `text` at `field` (a path below `spec`, as in YAML) where the intent writes it, else a default's."""
    return plan.node_class.reason(text, field) if is_written(plan, field) else Reason(text, "default")


def is_written(plan: NodePlan, field: str) -> bool:
    """Whether the intent itself gives `field`, and not a default."""
    model: object = plan.spec
    for name in field.split("."):
        if isinstance(model, tuple) and name.isdigit():
            model = model[int(name)]
            continue
        written = getattr(model, "model_fields_set", None)
        if written is None:
            return True
        attribute = re.sub(r"[A-Z]", lambda capital: "_" + capital[0].lower(), name)
        if attribute not in written:
            return False
        model = getattr(model, attribute)
    return True
