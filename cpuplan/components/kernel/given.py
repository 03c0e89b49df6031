"""What boot arguments are made of."""

from cpuplan.components.reasons import stated_or, unasked
from cpuplan.diagnostics import Reason
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Value

NAME = "kernel"

#: (key, value, reasons), before it is known whether the intent replaces it.
Argument = tuple[str, Value, tuple[Reason, ...]]


def for_real_time(plan: NodePlan, key: str) -> Reason:
    """Why a plan for real-time workloads has an argument."""
    default = unasked(plan, "real-time", NAME, key)
    return stated_or(plan, "the workloads are real-time", "workloadHints.realTime", default)
