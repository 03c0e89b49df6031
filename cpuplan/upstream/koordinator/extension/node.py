"""Annotations of nodes: reservation, system QoS, amplification, normalization.

Upstream: koordinator-sh/koordinator apis/extension/node_reservation.go apis/extension/system_qos.go
  apis/extension/node_resource_amplification.go apis/extension/cpu_normalization.go
  @ 989ca85c62abcca92b303aa12fd2ccff2ed30fed
"""

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from cpuplan.upstream.koordinator.extension.constants import (
    AMPLIFICATION_RATIO,
    NORMALIZATION_RATIO,
    RAW_ALLOCATABLE,
    RESERVATION,
    SYSTEM_QOS_RESOURCE,
)
from cpuplan.upstream.koordinator.util import RESOURCE_LIST, Annotations, Json, kept, texts_of
from cpuplan.upstream.kubernetes import quantity
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.fit import EPHEMERAL_STORAGE
from cpuplan.upstream.kubernetes.json import STRING, Type, map_of
from cpuplan.upstream.kubernetes.pod import CPU, MEMORY, Resources
from cpuplan.upstream.kubernetes.quantity import ZERO, Quantity
from cpuplan.upstream.kubernetes.strconv import float_text, parse_float
from cpuplan.upstream.kubernetes.unmarshal import BOOL, struct, unmarshal

#: How the reservation is applied: with RESERVED_CPUS_ONLY nothing is subtracted from what the node
#: offers, since the kubelet does that already.
APPLY_DEFAULT, RESERVED_CPUS_ONLY = "Default", "ReservedCPUsOnly"

_RESERVATION = struct(
    "extension.NodeReservation",
    resources=RESOURCE_LIST,
    reservedCPUs=STRING,
    applyPolicy=Type("extension.NodeReservationApplyPolicy", "string"),
)
_SYSTEM_QOS = struct("extension.SystemQOSResource", cpuset=STRING, cpusetExclusive=BOOL)
_RATIOS = map_of(Type("extension.Ratio", "number"), "v1.ResourceName")

Ratios = dict[str, float]


class NodeReservation(NamedTuple):
    """What a node keeps back from pods."""

    resources: Resources
    reserved_cpus: str = ""
    apply_policy: str = ""

    @property
    def cpu_count(self) -> int:
        """How many CPUs to pick where no list names them."""
        milli = self.resources.get(CPU, ZERO).milli
        return math.ceil(milli / 1000) if milli > 0 and not self.reserved_cpus else 0

    def as_json(self) -> Json:
        return kept(
            resources=texts_of(self.resources),
            reservedCPUs=self.reserved_cpus,
            applyPolicy=self.apply_policy,
        )


class SystemQos(NamedTuple):
    """The CPUs of the QoS class SYSTEM; `exclusive` is None where nothing is said."""

    cpuset: str = ""
    exclusive: bool | None = None

    @property
    def is_exclusive(self) -> bool:
        return self.exclusive is not False

    def as_json(self) -> Json:
        exclusive = {} if self.exclusive is None else {"cpusetExclusive": self.exclusive}
        return {**kept(cpuset=self.cpuset), **exclusive}


def read_reservation(annotations: Annotations) -> NodeReservation | None:
    """GetNodeReservation: None without the annotation, and for null; KubeletError with its text."""
    text = annotations.get(RESERVATION, "")
    if not text or text.strip() == "null":
        return None
    fields = unmarshal(text, _RESERVATION)
    return NodeReservation(
        fields.get("resources") or {},
        fields.get("reservedCPUs", ""),
        fields.get("applyPolicy", ""),
    )


def reserved_cpus(annotations: Annotations) -> tuple[str, int]:
    """GetReservedCPUs: a list of CPUs, or how many to pick; nothing where it cannot be read."""
    try:
        reservation = read_reservation(annotations)
    except KubeletError:
        return "", 0
    return (reservation.reserved_cpus, reservation.cpu_count) if reservation else ("", 0)


def read_system_qos(annotations: Annotations) -> SystemQos:
    """GetSystemQOSResource; KubeletError with its text."""
    if SYSTEM_QOS_RESOURCE not in annotations:
        return SystemQos()
    fields = unmarshal(annotations[SYSTEM_QOS_RESOURCE], _SYSTEM_QOS)
    return SystemQos(fields.get("cpuset", ""), fields.get("cpusetExclusive"))


def read_ratios(annotations: Annotations) -> Ratios | None:
    """GetNodeResourceAmplificationRatios; KubeletError with its text."""
    if AMPLIFICATION_RATIO not in annotations:
        return None
    try:
        ratios: Ratios | None = unmarshal(annotations[AMPLIFICATION_RATIO], _RATIOS)
    except KubeletError as error:
        raise KubeletError(
            f"failed to unmarshal node resource amplification ratio: {error}"
        ) from None
    return ratios


def ratios_json(ratios: Ratios) -> Json:
    """Ratios are written with two decimals."""
    return {name: float(f"{ratios[name]:.2f}") for name in sorted(ratios)}


def read_raw_allocatable(annotations: Annotations) -> Resources | None:
    """GetNodeRawAllocatable; KubeletError with its text."""
    if RAW_ALLOCATABLE not in annotations:
        return None
    try:
        raw: Resources | None = unmarshal(annotations[RAW_ALLOCATABLE], RESOURCE_LIST)
    except KubeletError as error:
        raise KubeletError(f"failed to unmarshal node raw allocatable: {error}") from None
    return raw


def read_normalization_ratio(annotations: Annotations) -> float:
    """GetCPUNormalizationRatio: -1 without the annotation; KubeletError with its text."""
    if NORMALIZATION_RATIO not in annotations:
        return -1
    try:
        ratio = parse_float(annotations[NORMALIZATION_RATIO])
    except KubeletError as error:
        raise KubeletError(f"parse cpu normalization ratio failed, err: {error}") from None
    if ratio <= 0:
        raise KubeletError(f"illegal cpu normalization ratio: {float_text(ratio)}")
    return ratio


def amplify(amount: int, ratio: float) -> int:
    """`amount` times a ratio above 1, rounded up; the product is a float64, as in Go."""
    return math.ceil(float(amount) * ratio) if ratio > 1 else amount


def amplified(
    resources: Resources, ratios: Mapping[str, float], names: Iterable[str]
) -> dict[str, Quantity]:
    """The resources with those of `names` multiplied (AmplifyResourceList)."""
    result = dict(resources)
    for name in names:
        ratio, amount = ratios.get(name, 0), resources.get(name, quantity.ZERO)
        if ratio <= 1 or not amount.nano:
            continue
        if name == CPU:
            result[name] = of_milli(amplify(amount.milli, ratio))
            continue
        form = quantity.BINARY if name in (MEMORY, EPHEMERAL_STORAGE) else quantity.DECIMAL
        result[name] = quantity.of(amplify(amount.value, ratio), form)
    return result


def of_milli(amount: int, form: str = quantity.DECIMAL) -> Quantity:
    """`amount` thousandths."""
    return Quantity(amount * 10 ** (quantity.SCALE - 3), form)
