"""A KubeletConfiguration that users bring as JSON, as fields of an Intent's `kubelet`."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Position
from cpuplan.language.model.base import attributes
from cpuplan.language.model.tuning import Kubelet
from cpuplan.plan.defaults import AMOUNTS
from cpuplan.upstream.kubernetes.durations import is_duration

_HEAD = ("apiVersion", "kind")
#: Go types of the fields that an Intent has itself; the operator decodes also those that it
#: overwrites then. `components.kubelet_checks` checks all others.
_TEXTS = (
    "cpuManagerPolicy",
    "cpuManagerReconcilePeriod",
    "memoryManagerPolicy",
    "reservedSystemCPUs",
    "topologyManagerPolicy",
    "topologyManagerScope",
)
_MAPS = (
    "cpuManagerPolicyOptions",
    "evictionHard",
    "kubeReserved",
    "systemReserved",
    "topologyManagerPolicyOptions",
)


class Snippet(NamedTuple):
    """The snippet's place, the field that contains it, and the fields that the operator overwrites.

    `overwritten` has the reasons. With `defaults`, maps of amounts get what the operator adds.
    """

    place: Position
    field: str
    overwritten: Mapping[str, str]
    defaults: bool

    def fields(self, text: object) -> tuple[dict[str, Any], list[Diagnostic]]:
        """The equivalent fields of `kubelet`, and what is wrong. In Go, null is no value."""
        try:
            data = _parsed(text) if isinstance(text, str) else []
        except (ValueError, RecursionError) as error:
            return {}, [self._refused(f"it is not valid JSON ({error})", "write a JSON object")]
        if data is None:
            return {}, []
        if not isinstance(data, dict):
            return {}, [self._refused("it is not a JSON object", "write a JSON object")]
        known = attributes(Kubelet).keys() - {"configuration", "dynamicResourceAllocation"}
        fields: dict[str, Any] = {}
        problems: list[Diagnostic] = []
        for name, value in data.items():
            if name in _HEAD or value is None:
                continue
            wrong = [self._refused(*problem) for problem in _wrong(name, value)]
            if wrong:
                problems += wrong
            elif name in self.overwritten:
                problems.append(
                    diagnose(
                        "CP274",
                        self.place,
                        field=self.field,
                        name=name,
                        reason=self.overwritten[name],
                    )
                )
            elif name not in known:
                fields.setdefault("configuration", {})[name] = _without_fractions(value)
            # the kubelet's default; fields that may be empty are left out when Go writes them
            elif value != "":
                fields[name] = self._entry(name, value)
        return fields, problems

    def _entry(self, name: str, value: Any) -> Any:
        """A field that the Intent has, too; a map keeps what the operator adds to it."""
        if name == "reservedMemory":
            return [
                {"numaNode": item.get("numaNode", 0), "memory": str(item["limits"]["memory"])}
                for item in value
            ]
        if name not in _MAPS:
            return value
        added = AMOUNTS.get(name, {}) if self.defaults else {}
        return {**added, **value}

    def _refused(self, problem: str, remedy: str) -> Diagnostic:
        return diagnose("CP272", self.place, field=self.field, problem=problem, remedy=remedy)


def _parsed(text: str) -> Any:
    """JSON as Go reads it: no NaN, no half characters. ValueError for anything else."""
    data = json.loads(text, parse_constant=_no_number, parse_float=_finite)
    json.dumps(data, ensure_ascii=False).encode()  # UnicodeEncodeError is a ValueError
    return data


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is not a number")


def _finite(text: str) -> float:
    number = float(text)
    if number - number:
        _no_number(text)
    return number


def _wrong(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """(problem, remedy) for a value of the wrong type, or one that no kubelet accepts."""
    if name in _TEXTS and not isinstance(value, str):
        yield f"{name} is {_shown(value)}, not text", "write text"
    elif name == "cpuManagerReconcilePeriod" and not is_duration(value):
        yield f"{name} is {_shown(value)}, not a duration", 'write a duration such as "5s"'
    elif name in _MAPS:
        if not isinstance(value, dict):
            yield f"{name} is {_shown(value)}, not an object", "write an object"
            return
        for key, item in value.items():
            if not isinstance(item, str):
                yield (
                    f"{name} has {_shown(item)} for {key}, not text",
                    'write text, such as "500Mi"',
                )
    elif name == "reservedMemory":
        items = value if isinstance(value, list) else [None]
        if not all(map(_is_reservation, items)):
            yield (
                "reservedMemory has entries other than amounts of memory by NUMA node",
                (
                    'write entries such as {"numaNode": 0, "limits": {"memory": "1100Mi"}}; '
                    "nothing else can be reserved"
                ),
            )


def _is_reservation(item: Any) -> bool:
    """Whether it reserves only memory: no kubelet starts with reserved huge pages."""
    limits = item.get("limits") if isinstance(item, dict) else None
    amount = limits.get("memory") if isinstance(limits, dict) and len(limits) == 1 else None
    return isinstance(amount, str | int) and not isinstance(amount, bool)


def _without_fractions(value: Any) -> Any:
    """Numbers with a point as text: YAML documents of cpuplan have none (`read.scalars`)."""
    if isinstance(value, dict):
        return {key: _without_fractions(item) for key, item in value.items()}
    if isinstance(value, list):
        return list(map(_without_fractions, value))
    return str(value) if isinstance(value, float) else value


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:39]}…"
