"""What the operator reads of a MachineConfig.

Upstream: openshift/machine-config-operator
  vendor/github.com/openshift/api/machineconfiguration/v1/types.go
  pkg/controller/render/render_controller.go @ 7ff337a4ffac8e7562692181178ede61e4b2eec5
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, NamedTuple

from cpuplan.upstream.mco.common import (
    ConversionError,
    Release,
    flag,
    mapping,
    text,
    text_mapping,
    texts,
)
from cpuplan.upstream.mco.helpers import Object, Selector, name_of
from cpuplan.upstream.mco.ignition.config import parse, parse_valid
from cpuplan.upstream.mco.ignition.types import Config

ROLE_LABEL = "machineconfiguration.openshift.io/role"
GENERATED_BY = "machineconfiguration.openshift.io/generated-by-controller-version"
DEFAULT_KERNEL, REALTIME_KERNEL, LARGE_PAGES_KERNEL = "default", "realtime", "64k-pages"


class MachineConfig(NamedTuple):
    """The fields of an object; `config` is None where spec.config is absent.

    `labels` are None without metadata.labels; `generated_by` is the version of the controller that
    wrote the object, "" for a user's.
    """

    name: str
    labels: dict[str, str] | None = None
    generated_by: str = ""
    config: Any = None
    kernel_arguments: tuple[str, ...] = ()
    extensions: tuple[str, ...] = ()
    kernel_type: str = ""
    fips: bool = False
    os_image: str = ""
    extensions_image: str = ""

    @property
    def role(self) -> str:
        """The value of the role label."""
        return (self.labels or {}).get(ROLE_LABEL, "")

    def ignition(self, release: Release) -> Config | None:
        """The Ignition config, if there is one; IgnitionError for one that is not valid."""
        return None if self.config is None else parse(self.config, release)


def read_machine_config(item: Object) -> MachineConfig:
    """The fields of an object as YAML or JSON have it; McoError for one of a wrong type."""
    metadata, spec = mapping(item, "metadata"), mapping(item, "spec")
    return MachineConfig(
        name_of(item),
        None if metadata.get("labels") is None else text_mapping(metadata, "labels"),
        text_mapping(metadata, "annotations").get(GENERATED_BY, ""),
        spec.get("config"),
        texts(spec, "kernelArguments"),
        texts(spec, "extensions"),
        text(spec, "kernelType"),
        flag(spec, "fips"),
        text(spec, "osImageURL"),
        text(spec, "baseOSExtensionsContainerImage"),
    )


class MachineConfigs:
    """All of them, read once for all pools; McoError for one of a wrong type.

    Objects often have one value for their Ignition config, as they differ in names and boot
    arguments only. Such a config is checked once, and merged once with the same others.
    """

    def __init__(self, items: Iterable[Object | MachineConfig]) -> None:
        self._configs = list(map(_read, items))
        self._by_label: dict[tuple[str, str], list[int]] = {}
        for index, config in enumerate(self._configs):
            for label in (config.labels or {}).items():
                self._by_label.setdefault(label, []).append(index)
        # By the identity of values that this object keeps alive.
        self._valid: dict[tuple[int, Release], Config] = {}
        self._merged: dict[tuple[tuple[int, ...], Release], Config] = {}

    def selected(self, selector: Selector) -> list[MachineConfig]:
        """Those that a selector matches, in their order."""
        candidates = self._candidates(selector)
        return [config for config in candidates if selector.matches(config.labels or {})]

    def _candidates(self, selector: Selector) -> Sequence[MachineConfig]:
        """Those with a label that is required, so that no pool looks at the objects of all."""
        wanted = next(
            (requirement for requirement in selector.requirements if requirement.operator == "In"),
            None,
        )
        if wanted is None:
            return self._configs
        labelled = (self._by_label.get((wanted.key, value), ()) for value in wanted.values)
        return [self._configs[index] for index in sorted(set(chain.from_iterable(labelled)))]

    def valid(self, config: MachineConfig, release: Release) -> Config | None:
        """The Ignition config of one of them as it is checked, never to be changed.

        McoError for one that is not valid.
        """
        if config.config is None:
            return None
        key = id(config.config), release
        if key not in self._valid:
            self._valid[key] = parse_valid(config.config, release)
        return self._valid[key]

    def merged(
        self,
        configs: Sequence[MachineConfig],
        release: Release,
        merge: Callable[[Sequence[Config | None]], Config],
    ) -> Config:
        """What `merge` makes of the Ignition configs of some of them, in this order."""
        key = tuple(id(config.config) for config in configs), release
        if key not in self._merged:
            self._merged[key] = merge([self._ignition(config, release) for config in configs])
        return self._merged[key]

    def _ignition(self, config: MachineConfig, release: Release) -> Config | None:
        """Another attempt at what could not be converted says why."""
        with suppress(ConversionError):
            if valid := self.valid(config, release):
                return valid
        return config.ignition(release)


def _read(item: Object | MachineConfig) -> MachineConfig:
    return item if isinstance(item, MachineConfig) else read_machine_config(item)
