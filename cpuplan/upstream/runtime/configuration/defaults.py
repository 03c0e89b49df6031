"""What CRI-O takes for keys that no file gives, as far as it matters here (pkg/config)."""

from collections.abc import Mapping
from typing import Any

from cpuplan.platforms import Version

RUNTIME: Mapping[str, Any] = {
    "cgroup_manager": "systemd",
    "conmon_cgroup": "",
    "ctr_stop_timeout": 30,
    "default_sysctls": None,
    "drop_infra_ctr": True,
    "hooks_dir": ["/usr/share/containers/oci/hooks.d"],
    "infra_ctr_cpuset": "",
    "irqbalance_config_file": "/etc/sysconfig/irqbalance",
    "irqbalance_config_restore_file": "/etc/sysconfig/orig_irq_banned_cpus",
    "log_level": "info",
    "min_injected_gomaxprocs": 0,
    "pids_limit": -1,
    "rdt_config_file": "",
    "shared_cpuset": "",
}
_NRI: Mapping[str, Any] = {
    "nri_disable_connections": False,
    "nri_listen": "/var/run/nri/nri.sock",
    "nri_plugin_config_dir": "/etc/nri/conf.d",
    "nri_plugin_dir": "/opt/nri/plugins",
    "nri_plugin_registration_timeout": "5s",
    "nri_plugin_request_timeout": "2s",
}
#: OCI runtimes that CRI-O's packages bring, with handlers of the same names.
RUNTIMES = ("crun", "runc")
MONITOR_CGROUP = "system.slice"
_FIRST_CRUN, _FIRST_WITH_NRI_ON, _FIRST_NEW_NAMES = (1, 31), (1, 30), (1, 35)
#: Seconds that a handler's containers may take to be made, by default and at least.
CREATE_TIMEOUT, LEAST_CREATE_TIMEOUT = 240, 30
MIN_MEMORY = "12MiB"
#: Annotations that a handler or workload may allow, since when; any other name refuses it
#: (pkg/annotations and pkg/annotations/v2).
_ANNOTATIONS: Mapping[Version, str] = {
    (1, 25): """cpu-c-states.crio.io cpu-freq-governor.crio.io cpu-load-balancing.crio.io
        cpu-quota.crio.io io.containers.trace-syscall io.kubernetes.cri-o.Devices
        io.kubernetes.cri-o.ShmSize io.kubernetes.cri-o.TrySkipVolumeSELinuxLabel
        io.kubernetes.cri-o.UnifiedCgroup io.kubernetes.cri-o.cgroup2-mount-hierarchy-rw
        io.kubernetes.cri-o.userns-mode io.kubernetes.cri.rdt-class irq-load-balancing.crio.io""",
    (1, 26): "io.kubernetes.cri-o.LinkLogs io.kubernetes.cri-o.seccompNotifierAction",
    (1, 27): """bundle io.kubernetes.cri-o.umask io.kubernetes.cri.container-type
        module.wasm.image/variant org.criu.config org.systemd.property. run.oci.""",
    (1, 28): """cpu-shared.crio.io io.kubernetes.cri-o.PodLinuxOverhead
        io.kubernetes.cri-o.PodLinuxResources""",
    (1, 30): "io.kubernetes.cri-o.DisableFIPS seccomp-profile.kubernetes.cri-o.io",
    (1, 35): """cgroup2-mount-hierarchy-rw.crio.io devices.crio.io disable-fips.crio.io
        io.kubernetes.cri-o.PlatformRuntimePath io.kubernetes.cri-o.Spoofed link-logs.crio.io
        org.opencontainers.image.stopSignal platform-runtime-path.crio.io
        pod-linux-overhead.crio.io pod-linux-resources.crio.io seccomp-notifier-action.crio.io
        seccomp-profile.crio.io shm-size.crio.io spoofed.crio.io
        try-skip-volume-selinux-label.crio.io umask.crio.io unified-cgroup.crio.io
        userns-mode.crio.io""",
}
#: Without CAP_ (containers/common, pkg/capabilities).
_CAPABILITIES = """
    AUDIT_CONTROL AUDIT_READ AUDIT_WRITE BLOCK_SUSPEND BPF CHECKPOINT_RESTORE CHOWN DAC_OVERRIDE
    DAC_READ_SEARCH FOWNER FSETID IPC_LOCK IPC_OWNER KILL LEASE LINUX_IMMUTABLE MAC_ADMIN
    MAC_OVERRIDE MKNOD NET_ADMIN NET_BIND_SERVICE NET_BROADCAST NET_RAW PERFMON SETFCAP SETGID
    SETPCAP SETUID SYSLOG SYS_ADMIN SYS_BOOT SYS_CHROOT SYS_MODULE SYS_NICE SYS_PACCT SYS_PTRACE
    SYS_RAWIO SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG WAKE_ALARM"""
CAPABILITIES = frozenset(_CAPABILITIES.split())


def allowed_annotations(release: Version) -> frozenset[str]:
    """The annotations that a release knows."""
    return frozenset(
        name for since, names in _ANNOTATIONS.items() if since <= release for name in names.split()
    )


def default_runtime(release: Version) -> tuple[str, dict[str, Any]]:
    """The default handler, and its table."""
    name = "crun" if release >= _FIRST_CRUN else "runc"
    is_new = release >= _FIRST_NEW_NAMES
    devices = "devices.crio.io" if is_new else "io.kubernetes.cri-o.Devices"
    return name, {
        "runtime_type": "oci",
        "runtime_root": f"/run/{name}",
        "container_create_timeout": 240,
        "allowed_annotations": ["io.containers.trace-syscall", devices],
        "monitor_env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
        "container_min_memory": "500KiB",
        "monitor_cgroup": MONITOR_CGROUP,
    }


def nri(release: Version) -> Mapping[str, Any]:
    """The table [crio.nri]."""
    return {"enable_nri": release >= _FIRST_WITH_NRI_ON, **_NRI}
