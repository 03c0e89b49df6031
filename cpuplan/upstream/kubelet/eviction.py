"""Eviction: what can run out on a node, and thresholds for it (pkg/kubelet/eviction/helpers.go).

Upstream: kubernetes/kubernetes pkg/kubelet/eviction/helpers.go
  pkg/kubelet/eviction/defaults_linux.go @ 24e2b02af5543d7910c2bb074c7264df5a8f0467
"""

import struct
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import NamedTuple

from cpuplan.base.patterns import expression
from cpuplan.upstream.kubernetes import quantity
from cpuplan.upstream.kubernetes.durations import parse_duration
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.quantity import BINARY, ZERO, Quantity
from cpuplan.upstream.kubernetes.strconv import quote

MEMORY_AVAILABLE = "memory.available"
#: What can run out (pkg/kubelet/eviction/api/types.go).
SIGNALS = (
    "allocatableMemory.available",
    "containerfs.available",
    "containerfs.inodesFree",
    "imagefs.available",
    "imagefs.inodesFree",
    MEMORY_AVAILABLE,
    "nodefs.available",
    "nodefs.inodesFree",
    "pid.available",
)
#: evictionHard where the configuration has none (apis/config/v1beta1/defaults_linux.go).
DEFAULT_HARD = {
    MEMORY_AVAILABLE: "100Mi",
    "nodefs.available": "10%",
    "nodefs.inodesFree": "5%",
    "imagefs.available": "15%",
    "imagefs.inodesFree": "5%",
}
#: Fields of KubeletConfiguration.
HARD, SOFT = "evictionHard", "evictionSoft"
GRACE_PERIOD, MINIMUM_RECLAIM = "evictionSoftGracePeriod", "evictionMinimumReclaim"
_NUMBER = expression(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")


class Cause(Enum):
    """Why a kubelet does not take an entry of a field."""

    SIGNAL = "nothing that can run out"
    VALUE = "no threshold, period or amount"
    NO_GRACE_PERIOD = "a soft threshold without a grace period"


class Problem(NamedTuple):
    """An entry with which the kubelet does not start."""

    field: str
    signal: str
    cause: Cause


def problems(fields: Mapping[str, Mapping[str, str]]) -> Iterator[Problem]:
    """All that is wrong with the entries of the fields that are given."""
    for field, entries in fields.items():
        for signal, text in entries.items():
            if signal not in SIGNALS:
                yield Problem(field, signal, Cause.SIGNAL)
            elif not _can_be_read(field, signal, text):
                yield Problem(field, signal, Cause.VALUE)
    for signal in fields.get(SOFT, {}):
        if signal in SIGNALS and signal not in fields.get(GRACE_PERIOD, {}):
            yield Problem(SOFT, signal, Cause.NO_GRACE_PERIOD)


def _can_be_read(field: str, signal: str, text: str) -> bool:
    try:
        if field == GRACE_PERIOD:
            return parse_duration(text) >= 0
        if field == MINIMUM_RECLAIM:
            return _is_reclaim(text)
        parse_threshold(signal, text, ZERO)
    except KubeletError:
        return False
    return True


def _is_reclaim(text: str) -> bool:
    """Whether parseMinimumReclaims takes an amount."""
    if text.endswith("%"):
        return 0 < _parse_percentage(text) <= 1
    return quantity.parse(text).nano >= 0


def parse_threshold(signal: str, text: str, capacity: Quantity) -> Quantity | None:
    """A share of `capacity` or an amount; none for 0% and 100% (parseThresholdStatement)."""
    if not text.endswith("%"):
        amount = quantity.parse(text)
        if amount.nano <= 0:
            raise KubeletError(f"eviction threshold {signal} must be positive: {amount}")
        return amount
    if text in ("0%", "100%"):
        return None
    share = _parse_percentage(text)
    if not 0 <= share <= 1:
        bound = "must be >= 0%" if share < 0 else "must be <= 100%"
        raise KubeletError(f"eviction percentage threshold {signal} {bound}: {text}")
    return quantity.of(int(capacity.value * share), BINARY)


def _parse_percentage(text: str) -> float:
    number = text.rstrip("%")
    try:
        if not _NUMBER.fullmatch(number):
            raise ValueError
        return _float32(_float32(float(number)) / 100)
    except (ValueError, OverflowError):
        problem = f"strconv.ParseFloat: parsing {quote(number)}: invalid syntax"
        raise KubeletError(problem) from None


def _float32(number: float) -> float:
    """The nearest number that Go's float32 holds."""
    rounded: float = struct.unpack("f", struct.pack("f", number))[0]
    return rounded
