"""CPU lists as Koordinator reads them, and JSON as it writes it.

Upstream: koordinator-sh/koordinator pkg/util/cpuset/cpuset.go pkg/util/json.go
  @ 989ca85c62abcca92b303aa12fd2ccff2ed30fed
"""

from collections.abc import Mapping
from typing import Any

from cpuplan.upstream.kubernetes import quantity
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.json import Type, map_of
from cpuplan.upstream.kubernetes.pod import Resources
from cpuplan.upstream.kubernetes.quantity import ZERO, Quantity
from cpuplan.upstream.kubernetes.strconv import parse_int32

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


#: The last CPU that a range may name. A number alone may be larger: it is left out here, since no
#: machine has it.
_MOST = 4096


def parse_cpus(text: str) -> int:
    """The set as bits; a range that runs backwards is empty. KubeletError with Koordinator's text.

    Unlike the kubelet's, the reader takes no sign: a minus always separates the ends of a range.
    """
    bits = 0
    for item in text.split(",") if text else ():
        ends = item.split("-")
        if len(ends) > 2:
            raise KubeletError(f"invalid format: {item}")
        start = parse_int32(ends[0])
        if len(ends) == 1:
            bits |= 1 << start if start <= _MOST else 0
            continue
        end = parse_int32(ends[1])
        if end > _MOST:
            raise KubeletError(f"end {end} exceed the maximum available CPU count: {_MOST}")
        if start <= end:
            bits |= (1 << end + 1) - (1 << start)
    return bits
