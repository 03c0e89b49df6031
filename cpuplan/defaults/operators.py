"""What the node tuning operator sets on OpenShift's nodes while they run: options of TuneD, units,
files.
"""

from cpuplan.defaults.default import Default, Where, operators, row

_UNITS = "units /etc/systemd/system/"
_BIN = "units /usr/local/bin/"
_REAL_TIME = "workloadHints: {realTime: false}"

DEFAULTS: tuple[Default, ...] = (
    operators("tuned", "tuned main.*", "OpenShift's own profile, and TuneD's for isolated CPUs"),
    operators(
        "cpu-frequencies", "tuned cpu.force_latency", "CPUs wake up from shallow C-states only"
    ),
    operators(
        "cpu-frequencies",
        "tuned cpu.governor; tuned cpu.energy_perf_bias; tuned cpu.min_perf_pct",
        "frequencies do not drop",
    ),
    operators(
        "firmware-updates",
        "tuned service.service.fwupd-refresh.timer",
        "firmware updates raise SMIs, which stop every CPU",
    ),
    operators(
        "transparent-hugepages",
        "tuned vm.transparent_hugepages",
        "khugepaged would move the pages of running workloads",
    ),
    operators(
        "tcp-fastopen",
        "tuned sysctl.net.ipv4.tcp_fastopen",
        "connections open faster, as in network-latency",
    ),
    operators(
        "dirty-pages",
        "tuned sysctl.vm.dirty_ratio",
        "writers wait before many pages are dirty, as in latency-performance",
    ),
    operators(
        "dirty-pages",
        "tuned sysctl.vm.dirty_background_ratio",
        "writing back begins early, as in latency-performance",
    ),
    operators(
        "swappiness",
        "tuned sysctl.vm.swappiness",
        "memory of processes stays in memory, as in latency-performance",
    ),
    operators(
        "timer-migration",
        "tuned sysctl.kernel.timer_migration",
        "timers leave the CPUs that pods get exclusively",
    ),
    operators(
        "avc-cache",
        "tuned selinux.avc_cache_threshold",
        "a node with many containers has many access vectors",
    ),
    operators(
        "tuned-scheduler",
        "tuned scheduler.runtime",
        "TuneD places processes once and does not watch for new ones",
    ),
    operators(
        "kernel-threads",
        "tuned scheduler.group.ksoftirqd",
        "soft interrupts run before real-time threads of workloads",
    ),
    operators(
        "kernel-threads",
        "tuned scheduler.group.rcuc",
        "RCU callbacks run before real-time threads of workloads",
    ),
    operators(
        "kernel-threads",
        "tuned scheduler.group.ktimers",
        "timers run before real-time threads of workloads",
    ),
    row(
        "real-time",
        "tuned sysctl.kernel.hung_task_timeout_secs",
        Where.WITH_OPERATOR,
        "a task may have to wait long for a busy CPU",
        _REAL_TIME,
    ),
    row(
        "real-time",
        "tuned sysctl.kernel.nmi_watchdog",
        Where.WITH_OPERATOR,
        "no watchdog interrupts",
        _REAL_TIME,
    ),
    row(
        "real-time",
        "tuned sysctl.kernel.sched_rt_runtime_us",
        Where.WITH_OPERATOR,
        "real-time tasks may use all of a CPU",
        _REAL_TIME,
    ),
    row(
        "real-time",
        "tuned sysctl.vm.stat_interval",
        Where.WITH_OPERATOR,
        "statistics are gathered less often",
        _REAL_TIME,
    ),
    row(
        "irq-balancing",
        "tuned irqbalance.enabled; tuned scheduler.default_irq_smp_affinity; tuned scheduler.irq_process",
        Where.WITH_OPERATOR,
        "CRI-O takes interrupts from the CPUs of pods that ask for it",
        "isolation: {globallyDisableIrqLoadBalancing: true}",
    ),
    operators(
        "time-stamps",
        "tuned rtentsk.enabled",
        "a socket with time stamps is always open, so that opening one does not switch static keys",
    ),
    operators(
        "tuned",
        "tuned bootloader.replace",
        "the parents' boot arguments give way to those of the MachineConfig",
    ),
    operators(
        "tuned",
        "tuned bootloader.skip_grub_config",
        "TuneD notes down that it has no boot arguments, whatever an earlier profile had",
    ),
    row(
        "dpdk-balancing",
        "ovsdpdk partition",
        Where.WITH_OPERATOR,
        "the scheduler may move the threads",
        "openVSwitch: {loadBalancing: false}",
    ),
    row(
        "physical-rps",
        "rps update-rps@.service",
        Where.WITH_OPERATOR,
        "physical devices have queues of their own",
        "net: {physicalDeviceRps: true}",
    ),
    operators("irqbalance-start", f"{_BIN}clear-irqbalance-banned-cpus.sh", "its unit runs it"),
    operators(
        "irqbalance-start",
        "units clear-irqbalance-banned-cpus.service",
        "irqbalance starts with no CPU banned: CRI-O bans those of pinned pods",
    ),
    operators("cgroup-v1", f"{_BIN}cpuset-configure.sh", "its unit runs it"),
    operators(
        "cgroup-v1",
        "units cpuset-configure.service",
        "load balancing can only be switched off below a root cgroup without it (cgroup v1)",
    ),
    operators("scripts", f"{_BIN}hugepages-allocation.sh", "units of huge pages run it"),
    operators("scripts", f"{_BIN}set-cpus-offline.sh", "set-cpus-offline.service runs it"),
    operators(
        "ovs-slice",
        f"{_UNITS}ovs.slice; {_UNITS}*/01-use-ovs-slice.conf; units /var/lib/ovn-ic/etc/enable_dynamic_cpu_affinity",
        "Open vSwitch may use all CPUs: its affinity is managed by OVN-Kubernetes",
    ),
    operators(
        "stalld-backend",
        "units /etc/sysconfig/stalld-backend",
        "stalld reads the scheduler's debug files, as under the node tuning operator",
    ),
    operators(
        "stalld-backend",
        f"{_UNITS}stalld.service.d/stalld-backend.conf",
        "stalld must know its backend",
    ),
    operators(
        "tuned-first",
        "units ocp-tuned-one-shot.service",
        "TuneD tunes the node before its kubelet starts",
    ),
)
