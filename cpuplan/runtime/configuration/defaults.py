"""What CRI-O takes for keys that no file gives, as far as it matters here (pkg/config)."""

from collections.abc import Mapping
from typing import Any

RUNTIME: Mapping[str, Any] = {
    "cgroup_manager": "systemd",
    "conmon_cgroup": "",
    "ctr_stop_timeout": 30,
    "default_runtime": "crun",
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
NRI: Mapping[str, Any] = {
    "enable_nri": True,
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
#: The default handler.
CRUN: Mapping[str, Any] = {
    "runtime_type": "oci",
    "runtime_root": "/run/crun",
    "container_create_timeout": 240,
    "allowed_annotations": ["io.containers.trace-syscall", "devices.crio.io"],
    "monitor_env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
    "container_min_memory": "500KiB",
    "monitor_cgroup": MONITOR_CGROUP,
}
#: Seconds that a handler's containers may take to be made, by default and at least.
CREATE_TIMEOUT, LEAST_CREATE_TIMEOUT = 240, 30
MIN_MEMORY = "12MiB"
_V2 = """cgroup2-mount-hierarchy-rw cpu-c-states cpu-freq-governor cpu-load-balancing cpu-quota
    cpu-shared devices disable-fips irq-load-balancing link-logs platform-runtime-path
    pod-linux-overhead pod-linux-resources seccomp-notifier-action seccomp-profile shm-size spoofed
    try-skip-volume-selinux-label umask unified-cgroup userns-mode"""
_V1 = """cgroup2-mount-hierarchy-rw Devices DisableFIPS LinkLogs PlatformRuntimePath
    PodLinuxOverhead PodLinuxResources seccompNotifierAction ShmSize Spoofed
    TrySkipVolumeSELinuxLabel umask UnifiedCgroup userns-mode"""
#: Annotations that a handler or workload may allow; any other name refuses it (pkg/annotations/v2).
ALLOWED_ANNOTATIONS = frozenset(
    [
        "bundle",
        "io.containers.trace-syscall",
        "io.kubernetes.cri.container-type",
        "io.kubernetes.cri.rdt-class",
        "module.wasm.image/variant",
        "org.criu.config",
        "org.opencontainers.image.stopSignal",
        "org.systemd.property.",
        "run.oci.",
        "seccomp-profile.kubernetes.cri-o.io",
        *(f"{name}.crio.io" for name in _V2.split()),
        *(f"io.kubernetes.cri-o.{name}" for name in _V1.split()),
    ]
)
#: Without CAP_ (containers/common, pkg/capabilities).
_CAPABILITIES = """
    AUDIT_CONTROL AUDIT_READ AUDIT_WRITE BLOCK_SUSPEND BPF CHECKPOINT_RESTORE CHOWN DAC_OVERRIDE
    DAC_READ_SEARCH FOWNER FSETID IPC_LOCK IPC_OWNER KILL LEASE LINUX_IMMUTABLE MAC_ADMIN
    MAC_OVERRIDE MKNOD NET_ADMIN NET_BIND_SERVICE NET_BROADCAST NET_RAW PERFMON SETFCAP SETGID
    SETPCAP SETUID SYSLOG SYS_ADMIN SYS_BOOT SYS_CHROOT SYS_MODULE SYS_NICE SYS_PACCT SYS_PTRACE
    SYS_RAWIO SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG WAKE_ALARM"""
CAPABILITIES = frozenset(_CAPABILITIES.split())
