"""When two values of a KubeletConfiguration are the same, however they are written."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from cpuplan.upstream.kubernetes import quantity
from cpuplan.upstream.kubernetes.bits import parse_cpus
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.strconv import parse_bool

_CPUS = "reservedSystemCPUs"
#: Of thresholds of eviction.
_PERCENTAGE = re.compile(r"[0-9]{1,3}(\.[0-9]{1,9})?%")


def same(field: str, found: Any, wanted: Any) -> bool:
    """Whether decoded values of a field are the same to the kubelet.

    Amounts and switches of maps are texts there, the CPUs a list, and the order of a list of words
    says nothing.
    """
    if found == wanted:
        return True
    if field == _CPUS:
        return _cpus(found) == _cpus(wanted) is not None
    if isinstance(found, dict) and isinstance(wanted, dict):
        return found.keys() == wanted.keys() and all(
            same(field, found[key], wanted[key]) for key in found
        )
    if isinstance(found, list) and isinstance(wanted, list):
        return _same_items(field, found, wanted)
    return isinstance(found, str) and isinstance(wanted, str) and _same_text(found, wanted)


def _cpus(text: Any) -> int | None:
    try:
        return parse_cpus(text)
    except KubeletError:
        return None


def _same_items(field: str, found: list[Any], wanted: list[Any]) -> bool:
    """In any order."""
    left = list(wanted)
    for item in found:
        match = next((other for other in left if same(field, item, other)), None)
        if match is None:
            return False
        left.remove(match)
    return not left


def _same_text(found: str, wanted: str) -> bool:
    if _PERCENTAGE.fullmatch(found) and _PERCENTAGE.fullmatch(wanted):
        return float(found[:-1]) == float(wanted[:-1])
    for parse in (quantity.parse, parse_bool):
        try:
            first, second = parse(found), parse(wanted)
        except KubeletError:
            continue
        if isinstance(first, bool) or isinstance(second, bool):
            return first == second
        return first.nano == second.nano
    return False


def entry(config: Mapping[str, Any], path: Iterable[str]) -> Any:
    """What a configuration has at a path; None for nothing."""
    value: Any = config
    for part in path:
        value = value.get(part) if isinstance(value, dict) else None
    return value
