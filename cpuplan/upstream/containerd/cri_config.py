"""The keys that containerd reads in the tables that matter here, and the types that it takes.

From containerd/containerd, pkg/cri/config (1.6, 1.7) and internal/cri/config (2.0 on), pkg/nri and
internal/nri, api/types/runc/options, and containerd/nri, plugins/default-validator. Keys are
matched without regard to case.

Upstream: containerd/containerd internal/cri/config/config.go internal/nri/config.go
  api/types/runc/options/oci.proto @ db8809540e1a7a9da5d518876894933ff55692ab
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from cpuplan.base import foreign
from cpuplan.facts.platforms import Version

#: Names of keys, in lower case: the type of TOML.
Keys = Mapping[str, str]


def _keys(**names: str) -> Keys:
    return {name: kind for kind, text in names.items() for name in text.lower().split()}


TOP = _keys(
    number="version oom_score",
    text="root state temp plugin_dir",
    list="disabled_plugins required_plugins imports",
    table="grpc ttrpc debug metrics plugins cgroup proxy_plugins timeouts stream_processors",
)
#: Keys of the CRI plugin, without what is about images and the server.
RUNTIME = _keys(
    flag=(
        "enable_selinux disable_apparmor restrict_oom_score_adj disable_proc_mount "
        "tolerate_missing_hugetlb_controller disable_hugetlb_controller "
        "device_ownership_from_security_context ignore_image_defined_volumes "
        "netns_mounts_under_state_dir enable_unprivileged_ports enable_unprivileged_icmp "
        "enable_cdi enable_criu enable_experimental_restore_via_create systemd_cgroup "
        "disable_cgroup"
    ),
    number="selinux_category_range max_container_log_line_size",
    text=(
        "unset_seccomp_profile drain_exec_sync_io_timeout stats_collect_period "
        "stats_retention_period"
    ),
    list="cdi_spec_dirs ignore_deprecation_warnings",
    table="containerd cni",
)
_SERVER = """
    disable_tcp_service stream_server_address stream_server_port stream_idle_timeout
    enable_tls_streaming x509_key_pair_streaming"""
_IMAGES = """
    sandbox_image registry image_decryption max_concurrent_downloads image_pull_progress_timeout
    image_pull_with_sync_fs stats_collect_period snapshotter disable_snapshot_annotations
    discard_unpacked_layers"""
#: What stays in the old table with 2.0 (plugins/cri), and all that it has beside `RUNTIME`.
SERVER = frozenset(_SERVER.split())
ELSEWHERE = SERVER | frozenset(_IMAGES.split())
CONTAINERD = _keys(
    text="default_runtime_name",
    flag="ignore_blockio_not_enabled_errors ignore_rdt_not_enabled_errors no_pivot",
    table="runtimes default_runtime untrusted_workload_runtime",
)
#: Of one handler.
HANDLER = _keys(
    text=(
        "runtime_type runtime_path runtime_engine runtime_root base_runtime_spec cni_conf_dir "
        "snapshotter sandboxer sandbox_mode io_type"
    ),
    flag=(
        "privileged_without_host_devices privileged_without_host_devices_all_devices_allowed "
        "cgroup_writable disable_pause_image_pull"
    ),
    number="cni_max_conf_num",
    list="pod_annotations container_annotations",
    table="options",
)
#: Of a handler with runc, or with anything that takes its options, such as crun.
OPTIONS = _keys(
    flag="NoPivotRoot NoNewKeyring SystemdCgroup",
    text=(
        "ShimCgroup BinaryName Root CriuPath CriuImagePath CriuWorkPath TaskApiAddress ConfigPath "
        "TypeUrl"
    ),
    number="IoUid IoGid TaskApiVersion",
    any="ConfigBody",
)
NRI_KEYS = _keys(
    flag="disable disable_connections",
    text="socket_path plugin_path plugin_config_path",
    any="plugin_registration_timeout plugin_request_timeout",
    table="default_validator",
)
VALIDATOR = _keys(
    flag=(
        "enable reject_oci_hook_adjustment reject_runtime_default_seccomp_adjustment "
        "reject_unconfined_seccomp_adjustment reject_custom_seccomp_adjustment "
        "reject_namespace_adjustment reject_sysctl_adjustment"
    ),
    list="required_plugins",
    text="tolerate_missing_plugins_annotation",
)
#: Keys that are newer than 1.6, and those that releases took away.
_SINCE: Mapping[Version, str] = {
    (1, 7): (
        "enable_cdi cdi_spec_dirs drain_exec_sync_io_timeout sandbox_mode "
        "privileged_without_host_devices_all_devices_allowed ignore_blockio_not_enabled_errors"
    ),
    (2, 0): "ignore_deprecation_warnings sandboxer io_type",
    (2, 1): "cgroup_writable",
    (2, 2): "default_validator enable_criu enable_experimental_restore_via_create",
    (2, 3): "stats_collect_period stats_retention_period",
    (2, 4): "disable_pause_image_pull",
}
_GONE: Mapping[Version, str] = {
    (2, 0): (
        "systemd_cgroup disable_cgroup no_pivot default_runtime untrusted_workload_runtime "
        "runtime_engine runtime_root"
    ),
    (2, 4): "enable_experimental_restore_via_create",
}


def _by_key(table: Mapping[Version, str]) -> dict[str, Version]:
    return {key: release for release, keys in table.items() for key in keys.split()}


_SINCE_BY_KEY, _GONE_BY_KEY = _by_key(_SINCE), _by_key(_GONE)


def knows(keys: Keys, key: str, release: Version) -> bool:
    """Whether a release reads a key of a table."""
    name = key.lower()
    if name not in keys or (name in _GONE_BY_KEY and release >= _GONE_BY_KEY[name]):
        return False
    return release >= _SINCE_BY_KEY.get(name, (1, 6))


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


_TYPES = {"text": str, "flag": bool, "number": int, "list": list, "table": dict}
#: Shims that take runc's options.
_RUNC = "io.containerd.runc."


class Place(NamedTuple):
    """One table: its path in the file, its content, and the keys that it may have."""

    path: tuple[str, ...]
    table: Table
    keys: Keys


def places(tables: Table) -> Iterator[Place]:
    """The top of a file, and the tables of the CRI and NRI plugins."""
    yield Place((), tables, TOP)
    plugins = of_table(tables, "plugins")
    names = ("cri", OLD_CRI, CRI) if tables.get("version", 1) < 2 else (OLD_CRI, CRI)
    for name in names:
        if isinstance(table := plugins.get(name), dict):
            yield from _cri(("plugins", name), table)
    if isinstance(table := plugins.get(NRI), dict):
        yield Place(("plugins", NRI), table, NRI_KEYS)
        validator = of_table(table, "default_validator")
        yield Place(("plugins", NRI, "default_validator"), validator, VALIDATOR)


def _cri(path: tuple[str, ...], table: Table) -> Iterator[Place]:
    yield Place(path, table, RUNTIME)
    inner = of_table(table, "containerd")
    yield Place((*path, "containerd"), inner, CONTAINERD)
    runtimes = of_table(inner, "runtimes")
    names = {name.lower(): "table" for name in runtimes}
    yield Place((*path, "containerd", "runtimes"), runtimes, names)
    for name in runtimes:
        handler = of_table(runtimes, name)
        way = (*path, "containerd", "runtimes", name)
        yield Place(way, handler, HANDLER)
        if str(handler.get("runtime_type", _RUNC)).startswith(_RUNC):
            yield Place((*way, "options"), of_table(handler, "options"), OPTIONS)


def unknown(tables: Table, release: Version) -> Iterator[tuple[str, ...]]:
    """Paths of keys that a release passes over, in the tables of its version."""
    for place in places(tables):
        is_old = place.path[1:2] in (("cri",), (OLD_CRI,))
        for key in place.table:
            is_elsewhere = is_old and key.lower() in ELSEWHERE
            if not is_elsewhere and not knows(place.keys, key, release):
                yield (*place.path, key)


def wrong_types(tables: Table) -> Iterator[tuple[tuple[str, ...], str]]:
    """(path, what is wrong with it) of values of another type."""
    plugins = of_table(tables, "plugins")
    for name in (OLD_CRI, CRI, IMAGES, NRI):
        if not isinstance(plugins.get(name, {}), dict):
            yield ("plugins", name), f"plugins.'{name}' is not a table"
    for place in places(tables):
        for key, value in place.table.items():
            wanted = _TYPES.get(place.keys.get(key.lower(), ""))
            if wanted and type(value) is not wanted:
                actual, right = foreign.name_in_toml(type(value)), foreign.name_in_toml(wanted)
                yield (*place.path, key), f"{key} is {actual}, not {right}"
