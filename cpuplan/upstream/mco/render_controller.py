"""What a pool's objects are rendered to.

Source: pkg/controller/render/render_controller.go, pkg/controller/common/helpers.go
(MergeMachineConfigs).

Upstream: openshift/machine-config-operator pkg/controller/render/render_controller.go
  pkg/controller/common/helpers.go @ 7ff337a4ffac8e7562692181178ede61e4b2eec5
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from cpuplan.upstream.mco import machineconfig
from cpuplan.upstream.mco.common import (
    NEWEST,
    ConversionError,
    McoError,
    Release,
    RenderError,
    extensions,
    has,
    mapping,
    newest_ignition,
    text,
)
from cpuplan.upstream.mco.helpers import WORKER, Object, name_of, read_selector
from cpuplan.upstream.mco.ignition import merge
from cpuplan.upstream.mco.ignition.types import Config, encode
from cpuplan.upstream.mco.machineconfig import MachineConfig, MachineConfigs

#: What `generated-by-controller-version` says where the running controller wrote the object.
RUNNING = "current"
_KERNELS = ("", machineconfig.DEFAULT_KERNEL, machineconfig.REALTIME_KERNEL)
_MOST_MODE = 0o777
#: The extension with the headers of the default kernel.
_HEADERS = "kernel-devel"


class Rendered(NamedTuple):
    """A rendered MachineConfig: the names of its sources in the order of merging, and its spec."""

    order: tuple[str, ...]
    config: Config
    kernel_arguments: tuple[str, ...] = ()
    extensions: tuple[str, ...] = ()
    kernel_type: str = machineconfig.DEFAULT_KERNEL
    fips: bool = False
    os_image: str = ""
    extensions_image: str = ""
    is_os_image_overridden: bool = False

    @property
    def spec(self) -> dict[str, Any]:
        """As the object has it; file contents stay data URLs."""
        spec: dict[str, Any] = {
            "config": self.config,
            "kernelArguments": list(self.kernel_arguments),
            "extensions": list(self.extensions),
            "kernelType": self.kernel_type,
            "fips": self.fips,
        }
        if self.os_image:
            spec["osImageURL"] = self.os_image
        if self.extensions_image:
            spec["baseOSExtensionsContainerImage"] = self.extensions_image
        return spec


def render(
    pool: Object,
    machine_configs: MachineConfigs | Iterable[Object | MachineConfig],
    release: Release = NEWEST,
    default_os_image: str = "",
) -> Rendered | None:
    """What the nodes of a pool get; None where the pool's selector is empty.

    RenderError where the pool cannot be rendered: one refused object blocks the whole pool.
    """
    every = _all(machine_configs)
    selected = select(pool, every)
    if not selected:
        return None
    for config in selected:
        try:
            validate(config, every, release)
        except McoError as error:
            raise RenderError("validate", error, config.name) from error
    for config in selected:
        _check_generation(config)
    try:
        rendered = _merge(in_order(selected, release), every, release, default_os_image)
        _check_image_stream(pool, rendered, release)
    except McoError as error:
        name = error.facts.pop("machine_config", "")
        raise RenderError("merge", error, name) from error
    return rendered


def _all(machine_configs: MachineConfigs | Iterable[Object | MachineConfig]) -> MachineConfigs:
    """Who renders several pools reads the objects once for all of them."""
    if isinstance(machine_configs, MachineConfigs):
        return machine_configs
    try:
        return MachineConfigs(machine_configs)
    except McoError as error:
        raise RenderError("select", error) from error


def select(
    pool: Object, machine_configs: MachineConfigs | Iterable[Object | MachineConfig]
) -> list[MachineConfig]:
    """The objects that a pool's selector matches; nothing for an empty selector."""
    try:
        selector = read_selector(mapping(pool, "spec").get("machineConfigSelector"))
    except McoError as error:
        raise RenderError("select", error) from error
    every = _all(machine_configs)
    if selector.is_empty:
        return []
    selected = every.selected(selector)
    if not selected:
        raise RenderError("select", McoError("the pool selects nothing", pool=name_of(pool)))
    return selected


def in_order(configs: Sequence[MachineConfig], release: Release = NEWEST) -> list[MachineConfig]:
    """The order of merging: a later object wins.

    Names compare as byte strings; since 4.15 the objects of the role worker come first.
    """
    ordered = sorted(configs, key=lambda config: config.name.encode())
    if not has(release, "merge.worker_first"):
        return ordered
    for config in configs:
        if config.labels is None:
            raise McoError("the object has no labels", machine_config=config.name)
    return sorted(ordered, key=lambda config: config.role != WORKER)


def _check_image_stream(pool: Object, rendered: Rendered, release: Release) -> None:
    """Either a user chooses the image, or the pool has a stream of images."""
    stream = text(mapping(mapping(pool, "spec"), "osImageStream"), "name")
    if stream and rendered.is_os_image_overridden and has(release, "merge.os_image_stream"):
        raise McoError("osImageURL beside osImageStream", value=rendered.os_image, stream=stream)


def _check_generation(config: MachineConfig) -> None:
    """Rendering waits until every object of the operator is written by the running controller."""
    if config.generated_by not in ("", RUNNING):
        error = McoError("written by another controller", version=config.generated_by)
        raise RenderError("merge", error, config.name)


def validate(config: MachineConfig, every: MachineConfigs, release: Release = NEWEST) -> None:
    """Raises McoError for one of `every` object that no pool can be rendered with."""
    kernels: tuple[str, ...] = _KERNELS
    if has(release, "merge.kernel_64k_pages"):
        kernels = (*kernels, machineconfig.LARGE_PAGES_KERNEL)
    if config.kernel_type not in kernels:
        raise McoError("unknown kernelType", value=config.kernel_type)
    ignition: Config = {}
    with suppress(ConversionError):  # the operator sees it while merging
        ignition = every.valid(config, release) or {}
    check_modes(ignition)
    if _checks_extensions(config, release):
        unknown = [name for name in config.extensions if name not in extensions(release)]
        if unknown:
            raise McoError("unknown extensions", values=tuple(unknown))


def _checks_extensions(config: MachineConfig, release: Release) -> bool:
    """Since 4.18 only where the object has an Ignition config (MCO bug)."""
    if has(release, "merge.extensions_checked_with_config_only"):
        return config.config is not None
    return has(release, "merge.extensions_checked")


def check_modes(ignition: Config) -> None:
    """Raises McoError for a file with the sticky, setuid or setgid bit (bugzilla 2038240)."""
    for file in ignition.get("storage", {}).get("files") or ():
        if file.get("mode", 0) > _MOST_MODE:
            raise McoError("the mode has special bits", path=file["path"], mode=oct(file["mode"]))


def _merge(
    configs: list[MachineConfig],
    every: MachineConfigs,
    release: Release,
    default_os_image: str,
) -> Rendered:
    kernel_type = _kernel_type(configs, release)
    listed = tuple(name for config in configs for name in config.extensions)
    if kernel_type != machineconfig.DEFAULT_KERNEL and _HEADERS in listed:
        first = next(config.name for config in configs if _HEADERS in config.extensions)
        raise McoError(
            "kernel-devel needs the default kernel", kernel_type=kernel_type, machine_config=first
        )
    images = list(_with_images(configs, release))
    os_image = _last((config.os_image for config in images), default_os_image)
    return Rendered(
        tuple(config.name for config in configs),
        every.merged(configs, release, lambda parsed: _ignition(parsed, release)),
        tuple(argument for config in configs for argument in config.kernel_arguments),
        listed,
        kernel_type,
        any(config.fips for config in configs),
        os_image,
        _last(config.extensions_image for config in images),
        os_image != default_os_image,
    )


def _kernel_type(configs: list[MachineConfig], release: Release) -> str:
    """The last that is not the default: no object takes it back."""
    special = [machineconfig.REALTIME_KERNEL]
    if has(release, "merge.kernel_64k_pages"):
        special.append(machineconfig.LARGE_PAGES_KERNEL)
    types = [config.kernel_type for config in configs if config.kernel_type in special]
    return types[-1] if types else machineconfig.DEFAULT_KERNEL


def _with_images(configs: list[MachineConfig], release: Release) -> Iterator[MachineConfig]:
    """The objects whose images count."""
    for config in configs:
        if not config.generated_by or not has(release, "merge.generated_os_image_ignored"):
            yield config


def _last(images: Iterable[str], default: str = "") -> str:
    given = [image for image in images if image]
    return given[-1] if given else default


def _ignition(configs: Sequence[Config | None], release: Release) -> Config:
    newest = "{}.{}.0".format(*newest_ignition(release))
    first, *others = configs
    merged = first or {"ignition": {"version": newest}}
    for child in others:
        if child is not None:
            merged = _merged(merged, child, release)
    # A file without contents becomes invalid by this (MCO bug).
    return encode(_with_files(merged, lambda file: {"overwrite": True, **file}))


def _merged(parent: Config, child: Config, release: Release) -> Config:
    """Since 4.20 a file's compression is that of its last entry (coreos/butane issue 332)."""
    if not has(release, "merge.compression_reset"):
        return merge.merge(parent, child)
    return _with_files(merge.merge(parent, _with_files(child, _told)), _untold)


def _with_files(config: Config, change: Callable[[Config], Config]) -> Config:
    """The config with other files."""
    storage = config.get("storage", {})
    if not storage.get("files"):
        return config
    return {**config, "storage": {**storage, "files": list(map(change, storage["files"]))}}


def _told(file: Config) -> Config:
    """A file that says its compression, so that another entry's is not kept."""
    return {**file, "contents": {"compression": "", **file.get("contents", {})}}


def _untold(file: Config) -> Config:
    contents = file.get("contents", {})
    if contents.get("compression") == "":
        contents = {key: value for key, value in contents.items() if key != "compression"}
    others = {key: value for key, value in file.items() if key != "contents"}
    return {**others, "contents": contents} if contents else others
