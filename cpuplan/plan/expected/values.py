"""Values of settings as JSON that gives the same values back."""

from typing import Any

from cpuplan.base.cpuset import CpuSet
from cpuplan.plan.setting import Value

#: The only key of a map that stands for a set of CPUs. No program's setting has such a key.
_CPUS = "cpuset()"


def encode(value: Value) -> Any:
    """A value for JSON."""
    if isinstance(value, CpuSet):
        return {_CPUS: str(value)}
    if isinstance(value, dict):
        return {key: encode(item) for key, item in value.items()}
    return list(map(encode, value)) if isinstance(value, tuple) else value


def _text(data: Any) -> str:
    if not isinstance(data, str):
        raise ValueError(f"{data!r} is no set of CPUs")
    return data


def decode(data: Any) -> Value:
    """The value of `encode`. Raises ValueError for what it never gives."""
    if isinstance(data, dict):
        if data.keys() == {_CPUS}:
            return CpuSet.parse(_text(data[_CPUS]))
        return {str(key): decode(item) for key, item in data.items()}
    if isinstance(data, list):
        return tuple(map(decode, data))
    if isinstance(data, bool | int | float | str):
        return data
    raise ValueError(f"{data!r} is no value of a setting")
