"""A KubeletConfiguration that users bring as JSON, as fields of an Intent's `kubelet`."""

import json
from collections.abc import Mapping
from typing import Any

from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.intent import Kubelet
from cpuplan.source import Position

_HEAD = ("apiVersion", "kind")
#: Amounts that the node tuning operator adds where a snippet has the map and not the entry.
_DEFAULTS: dict[str, dict[str, str]] = {
    "kubeReserved": {"memory": "500Mi"},
    "systemReserved": {"memory": "500Mi"},
    "evictionHard": {
        "imagefs.available": "15%",
        "memory.available": "100Mi",
        "nodefs.available": "10%",
        "nodefs.inodesFree": "5%",
    },
}


def fields(
    text: object, place: Position, field: str, *, overwritten: Mapping[str, str]
) -> tuple[dict[str, Any], list[Diagnostic]]:
    """The fields of `kubelet` that say the same, and what is wrong; `overwritten` fields count for nothing."""
    try:
        data = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError) as error:
        return {}, [_refused(place, field, f"it is no JSON ({error})", "write a JSON object")]
    if not isinstance(data, dict):
        return {}, [_refused(place, field, "it is no JSON object", "write a JSON object")]
    known = {field.alias for field in Kubelet.model_fields.values()} - {"configuration", "dynamicResourceAllocation"}
    found: dict[str, Any] = {}
    problems = []
    for name, value in data.items():
        if name in overwritten:
            problems.append(diagnose("CP274", place, field=field, name=name, reason=overwritten[name]))
        elif name in known:
            found[name] = _entry(name, value)
        elif name not in _HEAD and value is not None:
            found.setdefault("configuration", {})[name] = value
    return found, problems


def _entry(name: str, value: Any) -> Any:
    """A field of the Intent's own; a map keeps what the operator adds to it."""
    if name == "reservedMemory" and isinstance(value, list):
        return [_reserved_memory(item) for item in value]
    if isinstance(value, dict):
        return {**_DEFAULTS.get(name, {}), **{key: _text(item) for key, item in value.items()}}
    return value


def _text(value: Any) -> Any:
    """Amounts may be JSON numbers."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _reserved_memory(item: Any) -> Any:
    limits = item.get("limits") if isinstance(item, dict) else None
    if not isinstance(limits, dict) or set(limits) != {"memory"}:
        return item
    return {"numaNode": item.get("numaNode", 0), "memory": _text(limits["memory"])}


def _refused(place: Position, field: str, problem: str, remedy: str) -> Diagnostic:
    return diagnose("CP272", place, field=field, problem=problem, remedy=remedy)
