"""What the snapshot script takes of a node: places, and of their files only keys that are known.

The one home of that list. The script has it between two lines of its own, where `tests.generate`
writes it; `cpuplan snapshot --list` and docs/checking.md tell it.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from cpuplan.facts.platforms import PLATFORMS
from cpuplan.facts.settings.host import BANNED_CPULIST, SERVICE_AFFINITY
from cpuplan.facts.settings.table import keys_of
from cpuplan.upstream.containerd import cri_config as containerd
from cpuplan.upstream.crio import config_keys as crio
from cpuplan.upstream.crio.criocli import NAMES as CRIO_FLAGS
from cpuplan.upstream.kubelet.config.options import FLAG_FIELDS, SWITCHES
from cpuplan.upstream.kubelet.config.types import STRUCTS
from cpuplan.upstream.linux.kernel_parameters import ARGUMENTS

#: Between these lines the script has what is made here.
BEGIN = "# What may leave the node: made from cpuplan/check/collected.py."
END = "# End of what is made."
#: Fields and keys whose values may hold a secret, whoever knows them.
_NEVER = """
    staticPodURL staticPodURLHeader providerID tracing default_env conmon_env storage_option
    tracing_endpoint pause_command manifest-url provider-id default-env conmon-env storage-opt
    insecure_registries insecure-registry registry proxy_plugins stream_processors image_decryption
    """
#: Flags of the kubelet, and of programs that start one, that are no fields of a configuration.
_OTHER_FLAGS = """
    config config-dir root-dir kubeconfig bootstrap-kubeconfig hostname-override node-ip
    node-labels runtime-cgroups container-runtime cloud-provider image-credential-provider-config
    image-credential-provider-bin-dir kubelet-arg kubelet-extra-args kubelet-args-file data-dir
    kubelet-root-dir log-level log-dir state root address foreground
    debug deepdebug hintpolicy policyscript oneshot banirq banmod pid interval no-daemon profile
    no-dbus log c l P d
    """
_KERNEL = """
    root rootfstype rootflags rootwait rootdelay ro rw quiet splash rhgb debug console earlycon init
    rd.break rd.luks.uuid rd.lvm.lv rd.lvm.vg rd.md.uuid rd.neednet ip BOOT_IMAGE initrd crashkernel
    resume resume_offset biosdevname net.ifnames ignition.platform.id ignition.firstboot ostree
    cgroup_enable swapaccount apparmor security selinux enforcing audit audit_backlog_limit panic
    loglevel rcu_nocb_poll nowatchdog watchdog_thresh hung_task_panic softlockup_panic amd_iommu
    iommu.strict hugepagesz hugepages hugetlb_free_vmemmap transparent_hugepage
    cpufreq.default_governor numa_balancing mitigations mds l1tf retbleed tsx tsx_async_abort
    mmio_stale_data spectre_v2 nopti nospectre_v2 nokaslr kvm-intel.nested vfio-pci.ids pcie_aspm
    efi acpi_pad.disable housekeeping kthread_cpus workqueue.unbound_cpus
    systemd.unified_cgroup_hierarchy systemd.legacy_systemd_cgroup_controller systemd.mask
    systemd.unit vconsole.keymap vconsole.font locale.LANG psi random.trust_cpu nosmt nosmp
    module_blacklist
    """
#: Directives of units whose values are kept: what check reads, and what says nothing of others.
_DIRECTIVES = f"""
    {SERVICE_AFFINITY.key} AllowedCPUs AllowedMemoryNodes CPUQuota CPUQuotaPeriodSec NUMAPolicy
    NUMAMask Slice CPUWeight CPUSchedulingPolicy CPUSchedulingPriority Nice Delegate Type
    RemainAfterExit User Group WantedBy RequiredBy Alias Also Wants Requires Requisite BindsTo
    PartOf Upholds Before After Conflicts OnFailure OnActiveSec OnBootSec OnUnitActiveSec
    OnUnitInactiveSec OnStartupSec OnCalendar AccuracySec RandomizedDelaySec Persistent Unit Restart
    RestartSec TimeoutSec TimeoutStartSec TimeoutStopSec StartLimitBurst StartLimitInterval
    StartLimitIntervalSec StartLimitAction KillMode KillSignal EnvironmentFile UnsetEnvironment
    SuccessExitStatus ConditionPathExists ConditionVirtualization ConditionKernelCommandLine
    ConditionFirstBoot DefaultDependencies IgnoreOnIsolate RefuseManualStart RefuseManualStop
    StopWhenUnneeded OOMScoreAdjust LimitNOFILE LimitNPROC LimitCORE TasksMax MemoryMax
    ManagedOOMPreference JobTimeoutSec RootDirectory ReadOnlyPaths InaccessiblePaths ProtectSystem
    ProtectHome ProtectKernelTunables ProtectControlGroups ProtectProc PrivateTmp PrivateDevices
    PrivateNetwork PrivateMounts PIDFile BusName NotifyAccess WatchdogSec StandardOutput
    StandardError
    """
_VARIABLES = f"""
    GOMAXPROCS IRQBALANCE_BANNED_CPUS {BANNED_CPULIST.key} IRQBALANCE_ONESHOT IRQBALANCE_DEBUG
    IRQBALANCE_PID OPENSHIFT_ISOLATED_CPUS OPENSHIFT_SHARED_CPUS CPUS OFFLINE_CPUS HUGEPAGES_COUNT
    HUGEPAGES_SIZE NUMA_NODE OVS_DPDK_CPUS USE_BPF CONTAINER_CONFIG CONTAINER_CONFIG_DIR
    CONTAINER_RUNTIME_ENDPOINT CONTAINER_INFRA_CTR_CPUSET CONTAINER_SHARED_CPUSET
    CONTAINER_CGROUP_MANAGER CONTAINER_DEFAULT_RUNTIME GRUB_DEFAULT GRUB_ENABLE_BLSCFG
    GRUB_TIMEOUT saved_entry BOOTUP K3S_CONFIG_FILE K3S_DATA_DIR RKE2_CONFIG_FILE RKE2_DATA_DIR
    """
_TUNED = """
    summary include type priority governor energy_perf_bias energy_performance_preference
    min_perf_pct max_perf_pct no_turbo force_latency isolated_cores no_balance_cores channels
    devices_udev_regex devices udev_regex cmdline default_irq_smp_affinity ps_blacklist
    cgroup_ps_blacklist ps_whitelist isolated_cores_expanded not_isolated_cores_expanded
    transparent_hugepages irq_process runtime daemon sleep_interval update_interval
    recommend_command reapply_sysctl default_instance_priority udev_buffer_size profile_dirs
    """
_OWN_KEYS = ("management", "shared_cpus")


_USUAL_FILES = """
    etc/kubernetes/kubelet.conf etc/kubernetes/kubelet.conf.d etc/kubernetes/kubelet
    etc/kubernetes/kubelet-config.yaml etc/kubernetes/kubelet-config.json
    etc/kubernetes/kubelet.yaml var/lib/kubelet/config.yaml var/lib/kubelet/config.yaml.d
    var/lib/kubelet/config.d var/lib/kubelet/kubelet.conf.d var/lib/kubelet/instance-config.yaml
    etc/kubernetes/openshift-workload-pinning etc/kubernetes/openshift-workload-mixed-cpus
    """


def _kubelet_files() -> str:
    """Where a kubelet's files may be, those of every platform among them."""
    paths = dict.fromkeys(_USUAL_FILES.split())
    for platform in PLATFORMS.values():
        new = [path for path in platform.kubelet_files if not _is_below(path, paths)]
        paths |= dict.fromkeys(new)
    return " ".join(paths)


def _is_below(path: str, folders: Iterable[str]) -> bool:
    # What is below etc/default is read by another form, which knows files of a kubelet.
    return any(
        path == folder or path.startswith(f"{folder}/") for folder in (*folders, "etc/default")
    )


def _state_files() -> str:
    folders = dict.fromkeys(platform.root_directory for platform in PLATFORMS.values())
    names = ("cpu_manager_state", "memory_manager_state")
    return " ".join(f"{folder.lstrip('/')}/{name}" for folder in folders for name in names)


def _flag_files() -> str:
    files = (file.path for platform in PLATFORMS.values() for file in platform.flag_files)
    return " ".join(dict.fromkeys(files))


class Place(NamedTuple):
    """A file or folder of a node, how its files are read, and what is kept of each, for people."""

    form: str
    paths: str
    kept: str


#: By form: its places. What is missing there is missing on the node, if root ran the script.
PLACES: tuple[Place, ...] = (
    Place("line", "etc/hostname etc/tuned/active_profile etc/tuned/profile_mode", "one word"),
    Place("line", "run/cpuplan-unmovable-interrupts", "numbers"),
    Place(
        "unit",
        "etc/systemd/system etc/systemd/system.conf etc/systemd/system.conf.d "
        "etc/systemd/system.control etc/systemd/system.attached run/systemd/system "
        "run/systemd/transient run/systemd/system.control run/systemd/system.attached "
        "run/systemd/system.conf.d run/systemd/generator run/systemd/generator.early "
        "run/systemd/generator.late usr/lib/systemd/system lib/systemd/system "
        "usr/local/lib/systemd/system usr/lib/systemd/system.conf.d "
        "usr/local/lib/systemd/system.conf.d",
        "directives; of commands the program and known flags; of environments known variables",
    ),
    Place(
        "variables",
        "etc/default etc/sysconfig/irqbalance etc/sysconfig/kubelet etc/sysconfig/crio "
        "etc/sysconfig/stalld etc/sysconfig/stalld-backend etc/kubernetes/node.env etc/environment "
        "var/lib/kubelet/kubeadm-flags.env etc/cpuplan/irqbalance etc/eks/kubelet "
        "etc/kubernetes/kubelet.env",
        "known variables, and known flags in variables that have some",
    ),
    Place(
        "kubelet",
        _kubelet_files(),
        "fields of the KubeletConfiguration without staticPodURL and staticPodURLHeader",
    ),
    Place(
        "state",
        _state_files(),
        "CPUs and memory of containers, by name",
    ),
    Place("flags", _flag_files(), "known flags"),
    Place(
        "rancher",
        "etc/rancher/k3s/config.yaml etc/rancher/k3s/config.yaml.d etc/rancher/rke2/config.yaml "
        "etc/rancher/rke2/config.yaml.d",
        "kubelet-arg, with known flags",
    ),
    Place("crio", "etc/crio usr/lib/crio", "known keys without environments and registries"),
    Place("containerd", "etc/containerd", "keys of the runtime's handlers and of NRI"),
    Place(
        "agent",
        "var/lib/rancher/k3s/agent/etc var/lib/rancher/rke2/agent/etc",
        "the same, by the name of the file",
    ),
    Place("sysctl", "etc/sysctl.conf etc/sysctl.d run/sysctl.d", "names, and numbers as values"),
    Place("sysctl", "usr/local/lib/sysctl.d usr/lib/sysctl.d", "the same"),
    Place(
        "tuned",
        "etc/tuned usr/lib/tuned run/tuned var/lib/tuned var/lib/ocp-tuned",
        "sections, options of TuneD's plugins about CPUs, and numbers",
    ),
    Place(
        "boot",
        "etc/kernel/cmdline etc/kernel/cmdline.d boot/grub/grub.cfg boot/grub2/grub.cfg "
        "boot/grub/grubenv boot/grub2/grubenv boot/loader/entries boot/loader.0/entries "
        "boot/loader.1/entries boot/loader/loader.conf boot/efi/loader/entries "
        "boot/efi/loader/loader.conf boot/extlinux boot/cmdline.txt boot/firmware/cmdline.txt",
        "entries, and the boot arguments that the kernel or cpuplan knows",
    ),
    Place("cdi", "run/cdi", "variables DRA_CPUSET_* of claims"),
    Place("own", "etc/cpuplan/plan.json var/lib/ovn-ic/etc/enable_dynamic_cpu_affinity", "whole"),
    Place("own", "etc/tmpfiles.d run/tmpfiles.d usr/lib/tmpfiles.d/cpuplan.conf", "files of plans"),
    Place("own", "etc/udev/rules.d run/udev/rules.d", "files of plans"),
)
#: Outside of these places, and told in words.
_OTHERS = (
    "/proc/cmdline: the boot arguments that the kernel or cpuplan knows",
    "/proc/{cpuinfo,meminfo,version,stat,uptime,interrupts}, /proc/irq: whole",
    "/proc/sys/{kernel,vm,fs,net/core,net/ipv4}: numbers and single words",
    "/proc/<pid>/{stat,status,cgroup,comm} of all processes and threads",
    "/proc/<pid>/cmdline of the kubelet, runtimes, irqbalance, TuneD: program and known flags",
    "/proc/<pid>/environ: OPENSHIFT_ISOLATED_CPUS, OPENSHIFT_SHARED_CPUS, IRQBALANCE_*",
    "/sys: CPUs, caches, NUMA nodes, devices, interrupts, workqueues, huge pages, control groups",
    "/usr/local/bin: scripts that a plan delivers; of other programs their names",
    "dmesg: lines on CPUs, huge pages and boot arguments; systemctl show: states, no commands",
    "TuneD's log: what it loaded and verified",
)


def _words(names: Iterable[str]) -> str:
    return " ".join(sorted(set(names) - set(_NEVER.split())))


def tables() -> Mapping[str, str]:
    """The names of each form: shell variables of the script."""
    known_crio = [key for table in (*crio.TABLES.values(), *crio.ENTRIES.values()) for key in table]
    known = [containerd.TOP, containerd.RUNTIME, containerd.CONTAINERD, containerd.HANDLER]
    known += [containerd.OPTIONS, containerd.NRI_KEYS, containerd.VALIDATOR]
    return {
        "FLAGS": _words([*FLAG_FIELDS, *SWITCHES, *_OTHER_FLAGS.split(), *CRIO_FLAGS]),
        "KERNEL": _words([*ARGUMENTS, *keys_of("kernel"), *_KERNEL.split()]),
        "DIRECTIVES": _words(_DIRECTIVES.split()),
        "VARIABLES": _words(_VARIABLES.split()),
        "FIELDS": _words([*STRUCTS["KubeletConfiguration"], *_OWN_KEYS]),
        "CRIO": _words(known_crio),
        "CONTAINERD": _words([name for keys in known for name in keys]),
        "TUNED": _words(_TUNED.split()),
    }


def block() -> str:
    """The part of the script that is made here."""
    lines = [BEGIN]
    for name, words in tables().items():
        lines += [f"{name}='", *_wrapped(words), "'"]
    lines.append("FORMS='")
    lines += [f"{place.form} {path}" for place in PLACES for path in place.paths.split()]
    return "\n".join([*lines, "'", END, ""])


def _wrapped(words: str) -> list[str]:
    import textwrap

    return textwrap.wrap(words, 118, break_long_words=False, break_on_hyphens=False)


def listing() -> str:
    """For people: every place, and what is kept of it."""
    lines = ["The snapshot has these files of a node, and of each only what is said here.", ""]
    for place in PLACES:
        paths = ", ".join(f"/{path}" for path in place.paths.split())
        lines.append(f"{paths}: {place.kept}")
    lines += [*_OTHERS, "", "Known names; values of all others are left out:"]
    titles = {
        "FLAGS": "flags",
        "KERNEL": "boot arguments",
        "DIRECTIVES": "directives of units",
        "VARIABLES": "variables",
        "FIELDS": "fields of the kubelet",
        "CRIO": "keys of CRI-O",
        "CONTAINERD": "keys of containerd",
        "TUNED": "options of TuneD",
    }
    names = tables()
    lines += [f"{title}: {names[name]}" for name, title in titles.items()]
    return "\n".join([*lines, ""])


def rendered(script: str) -> str:
    """The script with its part as it is made here."""
    before, _, rest = script.partition(BEGIN)
    after = rest.partition(f"{END}\n")[2]
    return before + block() + after
