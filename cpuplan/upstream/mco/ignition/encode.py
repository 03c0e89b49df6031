"""An Ignition config as JSON has it: without what is empty."""

from typing import Any

from cpuplan.upstream.mco.ignition.schema import CONFIG, Config, Many, Scalar, Struct


def encode(config: Config) -> Config:
    """The config as a rendered MachineConfig holds it."""
    return _struct(config, CONFIG)


def _struct(value: Config, struct: Struct) -> Config:
    encoded: Config = {}
    for name, field in struct.fields.items():
        if name in value:
            entry = _field(value[name], field.kind)
            if not _is_left_out(entry, field.kind):
                encoded[name] = entry
    return encoded


def _field(value: Any, kind: Scalar | Many | Struct) -> Any:
    if isinstance(kind, Struct):
        return _struct(value, kind)
    if isinstance(kind, Many) and isinstance(kind.item, Struct):
        return [_struct(item, kind.item) for item in value]
    return value


def _is_left_out(value: Any, kind: Scalar | Many | Struct) -> bool:
    if isinstance(kind, Scalar):
        return kind.hides_zero and not value
    return not value
