"""Types of Kubernetes in the configuration, each with its way to be read."""

from typing import Any

from cpuplan.upstream.kubelet.errors import KubeletError
from cpuplan.upstream.kubelet.go.durations import parse_duration
from cpuplan.upstream.kubelet.go.json import kind_of
from cpuplan.upstream.kubelet.go.unmarshal import (
    INT32,
    STRING,
    RawNumber,
    Type,
    map_of,
    slice_of,
    struct,
    unmarshal,
)

LABEL_SELECTOR = struct(
    "v1.LabelSelector",
    matchLabels=map_of(STRING),
    matchExpressions=slice_of(
        struct(
            "v1.LabelSelectorRequirement",
            key=STRING,
            operator=Type("v1.LabelSelectorOperator", "string"),
            values=slice_of(STRING),
        )
    ),
)


def _read_duration(value: Any) -> int:
    if isinstance(value, str) and not isinstance(value, RawNumber):
        return parse_duration(value)
    raise _refused(value, "string")


def _read_int_or_string(value: Any) -> int | str:
    if isinstance(value, RawNumber):
        number: int = unmarshal(value, INT32)
        return number
    if isinstance(value, str):
        return value
    raise _refused(value, "int32")


def _refused(value: Any, go_type: str) -> KubeletError:
    kind = "number" if isinstance(value, RawNumber) else kind_of(value)
    return KubeletError(f"json: cannot unmarshal {kind} into Go value of type {go_type}")


DURATION = Type("v1.Duration", "string", read=_read_duration)
INT_OR_STRING = Type("intstr.IntOrString", "string", read=_read_int_or_string)
EXTENSIONS = Type("configuration.ExtraFields", "object")
