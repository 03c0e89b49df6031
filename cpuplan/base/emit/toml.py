"""TOML."""

from typing import Any

from cpuplan.base.emit.values import Flow


def to_toml(data: dict[str, Any]) -> str:
    """`data` as TOML, keys in the order of the dict; TypeError for None, which TOML lacks."""
    import tomli_w

    return tomli_w.dumps(_without_flow(data))


def _without_flow(value: Any) -> Any:
    if isinstance(value, Flow):
        value = value.data
    if isinstance(value, dict):
        return {key: _without_flow(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_flow(item) for item in value]
    return value
