"""Names of containerd's plugins, and the releases in which its configuration changed."""

from typing import Any

from cpuplan.platforms import Version

Table = dict[str, Any]

#: The tables that matter here, by release: with 2.0, the one of the CRI plugin was divided.
OLD_CRI, CRI = "io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime"
IMAGES = "io.containerd.cri.v1.images"
NRI = "io.containerd.nri.v1.nri"
#: What a file of version 1 calls plugins, by the part of the full name before it.
_SHORT_NAMES = {
    "gc.v1": "scheduler",
    "internal.v1": "opt restart tracing",
    "metadata.v1": "bolt",
    "monitor.v1": "cgroups",
    "runtime.v1": "linux",
    "runtime.v2": "task",
    "snapshotter.v1": "aufs btrfs devmapper native overlayfs zfs windows windows-lcow",
    "tracing.processor.v1": "otlp",
}
_FAMILIES = {name: family for family, names in _SHORT_NAMES.items() for name in names.split()}
V2, MIGRATES_EACH_FILE = (2, 0), (2, 3)


def highest(release: Version) -> int:
    """The newest version of configuration files that a release knows.

    Before 2.0, higher ones are not refused, and count as 2.
    """
    if release < V2:
        return 2
    return 3 if release < MIGRATES_EACH_FILE else 4


def cri_table(release: Version) -> str:
    """The name of the table with the runtimes of the CRI plugin."""
    return OLD_CRI if release < V2 else CRI


def of_table(table: Table, key: str) -> Table:
    """A table in another; an empty one if there is none."""
    value = table.get(key)
    return value if isinstance(value, dict) else {}


def full_name(name: str) -> str:
    """The name of a plugin since version 2 (cmd/containerd/server/config, v1MigratePluginName)."""
    if "." in name:
        return name
    usual = "service.v1" if name.endswith("-service") else "grpc.v1"
    return f"io.containerd.{_FAMILIES.get(name, usual)}.{name}"
