"""Fields of PerformanceProfile v2 that came with later releases of its CRD, by the feature."""

from collections.abc import Iterable, Iterator
from typing import Any

from cpuplan.language.model.base import Model, attributes
from cpuplan.platforms import features
from cpuplan.platforms.features import Feature
from cpuplan.platforms.versions import operator_has
from cpuplan.profiles.model import PerformanceProfileSpec

FIELDS: dict[tuple[str, ...], Feature] = {
    ("cpu", "shared"): "profile.mixed_cpus",
    ("cpu", "ovsDpdk"): "ovs.dpdk",
    ("hardwareTuning",): "profile.hardware_tuning",
    ("kernelPageSize",): "profile.kernel_page_size",
    ("workloadHints", "mixedCpus"): "profile.mixed_cpus",
}


def lacking(spec: PerformanceProfileSpec, release: str) -> Iterator[tuple[str, ...]]:
    """The fields of a profile that an API server of the release drops."""
    for field, feature in FIELDS.items():
        value: Any = spec
        for name in field:
            value = value and _value(value, name)
        if value is not None and not operator_has(release, feature):
            yield field


def _value(mapping: Model, key: str) -> Any:
    return getattr(mapping, attributes(type(mapping))[key])


def since(field: tuple[str, ...]) -> str:
    """The release that brought a field."""
    return features.OPENSHIFT[FIELDS[field]].first


def without(
    spec: PerformanceProfileSpec, dropped: Iterable[tuple[str, ...]]
) -> PerformanceProfileSpec:
    """The spec as the API server keeps it."""
    for first, *rest in dropped:
        own = attributes(PerformanceProfileSpec)[first]
        value: Any = None
        if rest:
            inner: Model = getattr(spec, own)
            value = inner.model_copy(update={attributes(type(inner))[rest[0]]: None})
        spec = spec.model_copy(update={own: value})
    return spec
