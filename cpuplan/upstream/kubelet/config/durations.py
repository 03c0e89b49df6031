"""Durations of a KubeletConfiguration as Go writes them: `1m0s` for `60s`."""

from collections.abc import Mapping
from typing import Any

from cpuplan.upstream.kubelet.config.fields import KIND, STRUCTS
from cpuplan.upstream.kubelet.go.durations import duration_text, is_duration, parse_duration


def normal(value: Any, go_type: str = KIND) -> Any:
    """The same configuration, all else as it is written."""
    go_type = go_type.removeprefix("*")
    if go_type in STRUCTS and isinstance(value, Mapping):
        types = STRUCTS[go_type]
        return {name: normal(inner, types.get(name, "any")) for name, inner in value.items()}
    if go_type == "metav1.Duration" and isinstance(value, str) and is_duration(value):
        return duration_text(parse_duration(value))
    return value
