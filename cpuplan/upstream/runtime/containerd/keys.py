"""The keys that containerd reads in the tables that matter here, and the types that it takes.

From containerd/containerd, pkg/cri/config (1.6, 1.7) and internal/cri/config (2.0 on), pkg/nri and
internal/nri, api/types/runc/options, and containerd/nri, plugins/default-validator. Keys are
matched without regard to case.
"""

from collections.abc import Mapping

from cpuplan.platforms import Version

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
        "cgroup_writable"
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
NRI = _keys(
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
#: Keys that are newer than 1.6, and those that 2.0 took away.
_SINCE: Mapping[Version, str] = {
    (1, 7): (
        "enable_cdi cdi_spec_dirs drain_exec_sync_io_timeout sandbox_mode "
        "privileged_without_host_devices_all_devices_allowed ignore_blockio_not_enabled_errors"
    ),
    (2, 0): "ignore_deprecation_warnings sandboxer io_type",
    (2, 1): "cgroup_writable",
    (2, 2): "default_validator enable_criu enable_experimental_restore_via_create",
    (2, 3): "stats_collect_period stats_retention_period",
}
_GONE_WITH_2_NAMES = """
    systemd_cgroup disable_cgroup no_pivot default_runtime untrusted_workload_runtime
    runtime_engine runtime_root"""
_GONE_WITH_2 = frozenset(_GONE_WITH_2_NAMES.split())
_SINCE_BY_KEY = {key: release for release, keys in _SINCE.items() for key in keys.split()}


def knows(keys: Keys, key: str, release: Version) -> bool:
    """Whether a release reads a key of a table."""
    name = key.lower()
    if name not in keys or (release >= (2, 0) and name in _GONE_WITH_2):
        return False
    return release >= _SINCE_BY_KEY.get(name, (1, 6))
