"""Eviction thresholds: what the kubelet cannot read, and so does not start with
(pkg/kubelet/eviction/helpers.go).
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from cpuplan.components import chosen, memory
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.kubelet.eviction import SIGNALS
from cpuplan.plan import NodePlan
from cpuplan.quantity import DURATION
from cpuplan.read.names import did_you_mean
from cpuplan.source import At

_SOFT, _GRACE, _RECLAIM = "evictionSoft", "evictionSoftGracePeriod", "evictionMinimumReclaim"
_PERCENT = re.compile(r"[0-9]+(\.[0-9]+)?%")


def check(plan: NodePlan, at: At) -> Iterator[Diagnostic]:
    """Signals, amounts and grace periods of hard and soft thresholds."""
    spec = plan.spec.kubelet
    yield from _check_amounts("evictionHard", chosen.eviction_hard(plan), at, _is_threshold)
    further = {name: _texts(spec.configuration.get(name)) for name in (_SOFT, _GRACE, _RECLAIM)}
    checks = {_SOFT: _is_threshold, _GRACE: _is_period, _RECLAIM: _is_reclaim}
    for name, given in further.items():
        yield from _check_amounts(
            name, given, lambda field: at(f"configuration.{field}"), checks[name]
        )
    for signal in further[_SOFT]:
        if signal in SIGNALS and signal not in further[_GRACE]:
            yield diagnose("CP558", at(f"configuration.{_SOFT}.{signal}"), signal=signal)


def _texts(given: Any) -> Mapping[str, str]:
    """A map of texts; what is none, `kubelet_checks` refuses."""
    return (
        {key: str(value) for key, value in sorted(given.items())} if isinstance(given, dict) else {}
    )


def _check_amounts(
    field: str, given: Mapping[str, str], at: At, is_right: Callable[[str], bool]
) -> Iterator[Diagnostic]:
    for signal, value in given.items():
        if signal not in SIGNALS:
            hint = did_you_mean(signal, SIGNALS)
            yield diagnose("CP515", at(f"{field}.{signal}:"), field=field, signal=signal, hint=hint)
        elif not is_right(value):
            yield diagnose("CP514", at(f"{field}.{signal}"), field=f"{field}.{signal}", value=value)


def _is_threshold(text: str) -> bool:
    """An amount above nothing, or a share of what there is."""
    return bool(memory.size_of(text)) or _is_share(text)


def _is_reclaim(text: str) -> bool:
    """An amount, or a share above nothing."""
    return memory.size_of(text) is not None or (_is_share(text) and float(text[:-1]) > 0)


def _is_share(text: str) -> bool:
    return bool(_PERCENT.fullmatch(text)) and float(text[:-1]) <= 100


def _is_period(text: str) -> bool:
    return bool(DURATION.fullmatch(text)) and not text.startswith("-")
