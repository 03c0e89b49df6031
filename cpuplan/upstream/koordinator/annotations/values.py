"""What the annotations have in common: lists of resources, and JSON as Go writes it."""

import json
from collections.abc import Mapping
from typing import Any

from cpuplan.upstream.kubelet import quantity
from cpuplan.upstream.kubelet.errors import KubeletError
from cpuplan.upstream.kubelet.go.unmarshal import Type, map_of
from cpuplan.upstream.kubelet.pods.pod import Resources
from cpuplan.upstream.kubelet.quantity import ZERO, Quantity

Annotations = Mapping[str, str]
Json = dict[str, Any]


def _read_quantity(value: Any) -> Quantity:
    """Quantity.UnmarshalJSON: a text or a number; null is 0."""
    if value is None:
        return ZERO
    if not isinstance(value, str):
        # Refused with the text of the pattern, whatever it is.
        raise _malformed()
    return quantity.parse(value.strip())


def _malformed() -> KubeletError:
    try:
        quantity.parse("")
    except KubeletError as error:
        return error
    raise AssertionError


QUANTITY = Type("resource.Quantity", "string", read=_read_quantity)
RESOURCE_LIST = map_of(QUANTITY)._replace(go_type="v1.ResourceList")


def texts_of(resources: Resources) -> dict[str, str]:
    """A ResourceList as JSON."""
    return {name: str(resources[name]) for name in sorted(resources)}


def kept(**fields: Any) -> Json:
    """The fields that are not empty (omitempty)."""
    return {name: value for name, value in fields.items() if value}


def dump(value: Any) -> str:
    """json.Marshal of a value whose keys are in order."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text
