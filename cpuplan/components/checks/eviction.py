"""Eviction thresholds that a kubelet cannot read."""

from collections.abc import Iterator, Mapping
from typing import Any

from cpuplan.base.text import did_you_mean
from cpuplan.components import chosen
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import At
from cpuplan.facts.settings.kubelet import EVICTION_HARD
from cpuplan.plan import NodePlan
from cpuplan.upstream.kubelet import eviction
from cpuplan.upstream.kubelet.eviction import Cause

#: Fields that an intent gives as `configuration`.
_FURTHER = (eviction.SOFT, eviction.GRACE_PERIOD, eviction.MINIMUM_RECLAIM)


def check(plan: NodePlan, at: At) -> Iterator[Diagnostic]:
    """Signals, amounts and grace periods of hard and soft thresholds."""
    configuration = plan.spec.kubelet.configuration
    fields = {name: _texts(configuration.get(name)) for name in _FURTHER}
    fields = {eviction.HARD: chosen.amounts(plan, EVICTION_HARD), **fields}
    for field, signal, cause in eviction.problems(fields):
        prefix = "" if field == eviction.HARD else "configuration."
        place = f"{prefix}{field}.{signal}"
        if cause is Cause.SIGNAL:
            hint = did_you_mean(signal, eviction.SIGNALS)
            yield diagnose("CP515", at(f"{place}:"), field=field, signal=signal, hint=hint)
        elif cause is Cause.VALUE:
            value, name = fields[field][signal], f"{field}.{signal}"
            yield diagnose("CP514", at(place), field=name, value=value)
        else:
            yield diagnose("CP558", at(place), signal=signal)


def _texts(given: Any) -> Mapping[str, str]:
    """The entries of a map as text; what is not a map, `checks.kubelet` refuses."""
    if not isinstance(given, dict):
        return {}
    return {key: str(value) for key, value in sorted(given.items())}
