"""What differs between two rendered MachineConfigs (newMachineConfigDiff, pkg/daemon/update.go)."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from cpuplan.upstream.mco.ignition.schema import Config
from cpuplan.upstream.mco.machineconfig import (
    DEFAULT_KERNEL,
    LARGE_PAGES_KERNEL,
    REALTIME_KERNEL,
    MachineConfig,
)
from cpuplan.upstream.mco.releases import Release, has


class Side(NamedTuple):
    """A rendered MachineConfig, and its Ignition config."""

    fields: MachineConfig
    config: Config


def sections(old: Side, new: Side, release: Release, is_forced: bool = False) -> Iterator[str]:
    """The names of the sections that differ, in the operator's order.

    Lists compare in order; a changed image of extensions does not count.
    """
    one, other = old.fields, new.fields
    if one.os_image != other.os_image or is_forced:
        yield "osUpdate"
    if one.kernel_arguments != other.kernel_arguments:
        yield "kernelArguments"
    if one.fips != other.fips:
        yield "fips"
    if old.config.get("passwd") != new.config.get("passwd"):
        yield "passwd"
    if _list(old.config, "storage", "files") != _list(new.config, "storage", "files"):
        yield "files"
    if _list(old.config, "systemd", "units") != _list(new.config, "systemd", "units"):
        yield "units"
    if _kernel(one.kernel_type, release) != _kernel(other.kernel_type, release):
        yield "kernelType"
    if one.extensions != other.extensions:
        yield "extensions"


def _kernel(name: str, release: Release) -> str:
    """Every unknown name is the default kernel."""
    if name == LARGE_PAGES_KERNEL and has(release, "merge.kernel_64k_pages"):
        return name
    return REALTIME_KERNEL if name == REALTIME_KERNEL else DEFAULT_KERNEL


def changed_files(old: Config, new: Config) -> tuple[str, ...]:
    """The paths of files that are added, removed or not equal as Ignition objects."""
    return _changed("path", _list(old, "storage", "files"), _list(new, "storage", "files"))


def changed_units(old: Config, new: Config) -> tuple[str, ...]:
    """The names of units that are added, removed or not equal."""
    return _changed("name", _list(old, "systemd", "units"), _list(new, "systemd", "units"))


def _list(config: Config, section: str, field: str) -> Any:
    return config.get(section, {}).get(field)


def _changed(key: str, old: list[Config] | None, new: list[Config] | None) -> tuple[str, ...]:
    before = {item[key]: item for item in old or ()}
    after = {item[key]: item for item in new or ()}
    names = before.keys() | after.keys()
    return tuple(sorted(name for name in names if before.get(name) != after.get(name)))
