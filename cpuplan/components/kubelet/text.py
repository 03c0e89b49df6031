"""A KubeletConfiguration as text."""

from collections.abc import Sequence
from typing import Any

import yaml

from cpuplan.base import yaml_values
from cpuplan.base.cpuset import CpuSet, CpuSetError
from cpuplan.base.emit import to_yaml
from cpuplan.facts.settings.kubelet import RESERVED_CPUS
from cpuplan.plan.setting import Setting, Value, from_plain, plain
from cpuplan.upstream.kubelet.config.types import API_VERSION, KIND

HEAD = {"apiVersion": API_VERSION, "kind": KIND}


def configuration(settings: Sequence[Setting]) -> dict[str, Any]:
    """The settings as a KubeletConfiguration, fields in the order of their names."""
    fields: dict[str, Any] = {}
    for setting in settings:
        field, _, key = setting.key.partition(".")
        if key:
            fields.setdefault(field, {})[key] = plain(setting.value)
        else:
            fields[field] = plain(setting.value)
    return HEAD | dict(sorted(fields.items()))


def render(settings: Sequence[Setting]) -> str:
    """The configuration's YAML."""
    return to_yaml(configuration(settings))


def parse(text: str) -> dict[str, Value]:
    """The fields of a KubeletConfiguration (YAML or JSON), also one that says more than cpuplan's.

    ValueError for text that is neither.
    """
    try:
        documents = list(yaml_values.load_yaml11(text))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
        raise ValueError(f"{error.problem or error.context}{place}") from error
    except (yaml.YAMLError, ValueError) as error:
        raise ValueError(" ".join(str(error).split())) from error
    if len(documents) > 1:
        raise ValueError("it holds more than one document")
    data = documents[0] if documents else None
    values: dict[str, Value] = {}
    for field, value in (data if isinstance(data, dict) else {}).items():
        if field in HEAD or value is None:
            continue
        if isinstance(value, dict):
            values |= {
                f"{field}.{key}": from_plain(item)
                for key, item in value.items()
                if item is not None
            }
        else:
            values[field] = _cpus(value) if field == RESERVED_CPUS.key else from_plain(value)
    return values


def _cpus(value: Any) -> Value:
    try:
        return CpuSet.parse(value) if isinstance(value, str) else from_plain(value)
    except CpuSetError:
        return str(value)
