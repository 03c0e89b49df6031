"""The keys of crio.conf that CRI-O reads, the types that it takes, and since when.

From cri-o/cri-o, pkg/config/config.go and workloads.go, internal/config/nri, of August 2026 and of
the head of each release branch from 1.25 on: a key that came with a patch release counts.

Upstream: cri-o/cri-o pkg/config/config.go pkg/config/workloads.go internal/config/nri/nri.go
  @ f954a17e505f8931e91004403b5f5eac71ab6085
"""

from collections.abc import Mapping

from cpuplan.facts import programs
from cpuplan.facts.programs import Version

#: The newest release whose keys are known.
LATEST: Version = programs.latest(programs.CRIO)
#: Types of TOML, and of Go for `text` that is a duration.
Keys = Mapping[str, str]


def _keys(**names: str) -> Keys:
    return {name: kind for kind, text in names.items() for name in text.split()}


#: By table below [crio]; the empty one is [crio] itself.
TABLES: Mapping[str, Keys] = {
    "": _keys(
        text=(
            "root runroot imagestore storage_driver log_dir version_file version_file_persist "
            "clean_shutdown_file"
        ),
        flag="internal_wipe internal_repair",
        list="storage_option",
    ),
    "api": _keys(
        text=(
            "listen stream_address stream_port stream_tls_cert stream_tls_key stream_tls_ca "
            "stream_idle_timeout tls_min_version"
        ),
        flag="stream_enable_tls",
        number="grpc_max_send_msg_size grpc_max_recv_msg_size",
        list="tls_cipher_suites",
    ),
    "runtime": _keys(
        text=(
            "default_runtime decryption_keys_path conmon conmon_cgroup seccomp_profile "
            "privileged_seccomp_profile apparmor_profile blockio_config_file "
            "irqbalance_config_file rdt_config_file cgroup_manager default_mounts_file "
            "container_exits_dir container_attach_socket_dir bind_mount_prefix uid_mappings "
            "gid_mappings log_level log_filter namespaces_dir pinns_path separate_pull_cgroup "
            "infra_ctr_cpuset shared_cpuset irqbalance_config_restore_file timezone"
        ),
        flag=(
            "no_pivot selinux log_to_journald drop_infra_ctr read_only "
            "add_inheritable_capabilities device_ownership_from_security_context blockio_reload "
            "enable_criu_support enable_pod_events hostnetwork_disable_selinux "
            "disable_hostport_mapping"
        ),
        number=(
            "min_injected_gomaxprocs minimum_mappable_uid minimum_mappable_gid pids_limit "
            "log_size_max ctr_stop_timeout"
        ),
        list=(
            "conmon_env hooks_dir default_capabilities default_env default_sysctls "
            "default_ulimits allowed_devices additional_devices cdi_spec_dirs "
            "additional_artifact_stores absent_mount_sources_to_reject"
        ),
    ),
    "checkpoint_restore": _keys(
        text="container_level_enabled",
    ),
    "image": _keys(
        text=(
            "default_transport global_auth_file namespaced_auth_dir pause_image "
            "pause_image_auth_file pause_command signature_policy signature_policy_dir "
            "image_volumes big_files_temporary_dir short_name_mode"
        ),
        flag="auto_reload_registries oci_artifact_mount_support",
        list="pinned_images insecure_registries",
        duration="pull_progress_timeout",
    ),
    "network": _keys(
        text="cni_default_network network_dir plugin_dir",
        list="plugin_dirs",
        duration="cni_status_grace_period",
    ),
    "metrics": _keys(
        text="metrics_host metrics_socket metrics_cert metrics_key",
        flag="enable_metrics",
        number="metrics_port",
        list="metrics_collectors",
    ),
    "tracing": _keys(
        text="tracing_endpoint",
        flag="enable_tracing",
        number="tracing_sampling_rate_per_million",
    ),
    "stats": _keys(
        number="stats_collection_period collection_period",
        list="included_pod_metrics",
    ),
    "nri": _keys(
        text="nri_listen nri_plugin_dir nri_plugin_config_dir",
        flag="enable_nri nri_disable_connections",
        duration="nri_plugin_registration_timeout nri_plugin_request_timeout",
    ),
    "nri.default_validator": _keys(
        text="nri_validator_tolerate_missing_plugins_annotation",
        flag=(
            "nri_enable_default_validator nri_validator_reject_oci_hook_adjustment "
            "nri_validator_reject_runtime_default_seccomp_adjustment "
            "nri_validator_reject_unconfined_seccomp_adjustment "
            "nri_validator_reject_custom_seccomp_adjustment "
            "nri_validator_reject_namespace_adjustment"
        ),
        list="nri_validator_required_plugins",
    ),
}
#: Of an entry of [crio.runtime.runtimes], of [crio.runtime.workloads], and of its resources.
ENTRIES: Mapping[str, Keys] = {
    "runtimes": _keys(
        text=(
            "runtime_config_path runtime_path runtime_type runtime_root monitor_path "
            "monitor_cgroup monitor_exec_cgroup container_min_memory exec_cpu_affinity "
            "seccomp_profile"
        ),
        flag=(
            "privileged_without_host_devices runtime_pull_image no_sync_log "
            "inherit_default_runtime stream_websockets"
        ),
        number="container_create_timeout",
        list="allowed_annotations monitor_env",
        map="platform_runtime_paths default_annotations",
    ),
    "workloads": _keys(
        text="activation_annotation annotation_prefix",
        list="allowed_annotations",
    ),
    "resources": _keys(
        text="cpuset",
        number="cpuquota cpulimit",
        unsigned="cpushares cpuperiod",
    ),
}
_VALIDATOR = " ".join(TABLES["nri.default_validator"])
_SINCE: Mapping[Version, str] = {
    (1, 26): (
        "enable_nri nri_listen nri_plugin_dir nri_plugin_config_dir nri_disable_connections "
        "nri_plugin_registration_timeout nri_plugin_request_timeout enable_pod_events"
    ),
    (1, 27): (
        "signature_policy_dir hostnetwork_disable_selinux irqbalance_config_restore_file "
        "platform_runtime_paths"
    ),
    (1, 28): (
        "pinned_images metrics_host internal_repair disable_hostport_mapping shared_cpuset "
        "runtime_pull_image"
    ),
    (1, 29): (
        "imagestore blockio_reload container_min_memory pull_progress_timeout "
        "cpuquota cpuperiod cpulimit"
    ),
    (1, 30): "auto_reload_registries timezone collection_period included_pod_metrics",
    (1, 31): "no_sync_log default_annotations inherit_default_runtime min_injected_gomaxprocs",
    (1, 33): "oci_artifact_mount_support privileged_seccomp_profile",
    (1, 34): (
        f"{_VALIDATOR} short_name_mode namespaced_auth_dir exec_cpu_affinity stream_websockets"
    ),
    (
        1,
        35,
    ): "tls_cipher_suites tls_min_version additional_artifact_stores container_create_timeout",
    (1, 36): "cni_status_grace_period",
    (1, 37): "container_level_enabled",
}
_SINCE_BY_KEY = {key: release for release, names in _SINCE.items() for key in names.split()}
#: Keys of before, with the first release without them.
_GONE = {"seccomp_use_default_when_empty": (1, 30), "registries": (1, 31)}


def is_new(key: str, release: Version) -> bool:
    """Whether a known key came after a release, which passes over it."""
    return release < _SINCE_BY_KEY.get(key, release)


def was_known(key: str, release: Version) -> bool:
    """Whether a release reads a key that later ones do not have."""
    return release < _GONE.get(key.lower(), release)
