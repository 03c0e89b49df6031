"""A KubeletConfiguration merged into the defaults of a pool (mergo, WithOverride)."""

from collections.abc import Mapping
from typing import Any

from cpuplan.upstream.kubelet.config.decoding import convert
from cpuplan.upstream.kubelet.config.fields import KIND, STRUCTS
from cpuplan.upstream.kubelet.errors import KubeletError
from cpuplan.upstream.kubelet.go.durations import duration_text
from cpuplan.upstream.mco.errors import McoError

Config = dict[str, Any]

#: Fields of list items that are written even where they are absent.
_WRITTEN: dict[str, Config] = {
    "MemoryReservation": {"limits": None, "numaNode": 0},
    "ShutdownGracePeriodByPodPriority": {"priority": 0, "shutdownGracePeriodSeconds": 0},
    "Taint": {"effect": "", "key": ""},
}
_ENVELOPE = ("apiVersion", "kind")


def decode(raw: Any) -> Config:
    """The known fields, whatever the case of their names; McoError for a value of a wrong type.

    Where text belongs, numbers and true are read as text.
    """
    try:
        return convert(_with_texts(raw, KIND), any_case=True)
    except KubeletError as error:
        raise McoError("not a KubeletConfiguration", error=str(error)) from error


def _with_texts(value: Any, go_type: str) -> Any:
    go_type = go_type.removeprefix("*")
    if go_type in STRUCTS and isinstance(value, Mapping):
        types = {name.lower(): inner for name, inner in STRUCTS[go_type].items()}
        return {
            str(key): _with_texts(inner, types.get(str(key).lower(), "any"))
            for key, inner in value.items()
        }
    if go_type.startswith("[]") and isinstance(value, list):
        return [_with_texts(item, go_type[2:]) for item in value]
    if go_type.startswith("map[string]") and isinstance(value, Mapping):
        inner_type = go_type.removeprefix("map[string]")
        return {str(key): _with_texts(inner, inner_type) for key, inner in value.items()}
    return _as_text(value) if go_type == "string" else value


def _as_text(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else value


def merge(defaults: Config, given: Config) -> Config:
    """The defaults as JSON with what is given; false, 0, "" and empty lists do not count."""
    fields = {name: value for name, value in given.items() if name not in _ENVELOPE}
    return _merge_struct(defaults, fields, KIND)


def _merge_struct(defaults: Config, given: Config, struct: str) -> Config:
    merged = dict(defaults)
    for name, value in given.items():
        go_type = STRUCTS[struct][name]
        kind = go_type.removeprefix("*")
        if kind in STRUCTS:
            inner = _merge_struct(merged.get(name) or {}, value, kind)
            if inner or go_type != kind:
                merged[name] = inner
        elif kind.startswith("map") and value:
            merged[name] = {**(merged.get(name) or {}), **_json(value, kind)}
        elif value or _is_new_pointer(go_type, merged.get(name)):
            merged[name] = _json(value, kind)
    return merged


def _is_new_pointer(go_type: str, default: Any) -> bool:
    """Without a default even false, 0 and "" are kept."""
    return go_type.startswith("*") and default is None


def _json(value: Any, go_type: str) -> Any:
    go_type = go_type.removeprefix("*")
    if isinstance(value, list):
        return [_json(item, go_type.removeprefix("[]")) for item in value]
    if go_type in STRUCTS:
        fields = STRUCTS[go_type]
        return _WRITTEN.get(go_type, {}) | {
            name: _json(inner, fields[name]) for name, inner in value.items()
        }
    if isinstance(value, dict):
        inner_type = go_type.removeprefix("map[string]")
        return {key: _json(inner, inner_type) for key, inner in value.items()}
    if go_type == "metav1.Duration":
        return duration_text(value)
    return str(value) if go_type == "Quantity" else value
