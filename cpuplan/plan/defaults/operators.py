"""Defaults that the node tuning operator sets on running nodes: TuneD options, units, files."""

from cpuplan.plan.defaults.default import (
    Default,
    everywhere,
    for_latency,
    operator_only,
    with_operator,
)

_UNITS = "units /etc/systemd/system/"
_BIN = "units /usr/local/bin/"
_REAL_TIME = "workloadHints: {realTime: false}"

DEFAULTS: tuple[Default, ...] = (
    with_operator(
        "kernel-type",
        "machineconfig kernelType = default",
        "nodes boot the usual kernel of the release",
        off="kernel: {realTime: true}",
    ),
    operator_only(
        "tuned", "tuned main.*", "OpenShift's own profile, and TuneD's for isolated CPUs"
    ),
    for_latency(
        "cpu-frequencies", "tuned cpu.force_latency", "CPUs wake up from shallow C-states only"
    ),
    for_latency(
        "cpu-frequencies",
        "tuned cpu.governor; tuned cpu.energy_perf_bias; tuned cpu.min_perf_pct",
        "frequencies do not drop",
    ),
    for_latency(
        "firmware-updates",
        "tuned service.service.fwupd-refresh.timer",
        "firmware updates raise SMIs, which stop every CPU",
    ),
    for_latency(
        "transparent-hugepages",
        "tuned vm.transparent_hugepages",
        "khugepaged would move the pages of running workloads",
    ),
    with_operator(
        "tcp-fastopen",
        "tuned sysctl.net.ipv4.tcp_fastopen; sysctl net.ipv4.tcp_fastopen",
        "connections open faster, as in network-latency",
    ),
    with_operator(
        "dirty-pages",
        "tuned sysctl.vm.dirty_ratio; sysctl vm.dirty_ratio",
        "few pages are dirty before writers wait, as in latency-performance",
    ),
    with_operator(
        "dirty-pages",
        "tuned sysctl.vm.dirty_background_ratio; sysctl vm.dirty_background_ratio",
        "dirty pages are written back early, as in latency-performance",
    ),
    with_operator(
        "swappiness",
        "tuned sysctl.vm.swappiness; sysctl vm.swappiness",
        "the kernel rarely swaps memory of processes, as in latency-performance",
    ),
    for_latency(
        "timer-migration",
        "tuned sysctl.kernel.timer_migration; sysctl kernel.timer_migration",
        "timers leave the CPUs that pods get exclusively",
    ),
    with_operator(
        "avc-cache",
        "tuned selinux.avc_cache_threshold",
        "a node with many containers has many access vectors",
    ),
    for_latency(
        "tuned-scheduler",
        "tuned scheduler.runtime",
        "TuneD places processes once and does not watch for new ones",
    ),
    for_latency(
        "kernel-threads",
        "tuned scheduler.group.ksoftirqd",
        "soft interrupts run before real-time threads of workloads",
    ),
    for_latency(
        "kernel-threads",
        "tuned scheduler.group.rcuc",
        "RCU callbacks run before real-time threads of workloads",
    ),
    for_latency(
        "kernel-threads",
        "tuned scheduler.group.ktimers",
        "timers run before real-time threads of workloads",
    ),
    with_operator(
        "real-time",
        "tuned sysctl.kernel.hung_task_timeout_secs",
        "a task may wait a long time for a busy CPU",
        off=_REAL_TIME,
    ),
    with_operator(
        "real-time", "tuned sysctl.kernel.nmi_watchdog", "no watchdog interrupts", off=_REAL_TIME
    ),
    with_operator(
        "real-time",
        "tuned sysctl.kernel.sched_rt_runtime_us",
        "real-time tasks may use all of a CPU",
        off=_REAL_TIME,
    ),
    with_operator(
        "real-time",
        "tuned sysctl.vm.stat_interval",
        "statistics are gathered less often",
        off=_REAL_TIME,
    ),
    with_operator(
        "irq-balancing",
        (
            "tuned irqbalance.enabled; tuned scheduler.default_irq_smp_affinity; "
            "tuned scheduler.irq_process"
        ),
        "CRI-O takes interrupts from the CPUs of pods that ask for it",
        off="isolation: {globallyDisableIrqLoadBalancing: true}",
    ),
    for_latency(
        "time-stamps",
        "tuned rtentsk.enabled",
        "a socket with time stamps is always open, so that opening one does not switch static keys",
    ),
    operator_only(
        "tuned",
        "tuned bootloader.replace",
        "boot arguments of the MachineConfig replace those of the parent profiles",
    ),
    operator_only(
        "tuned",
        "tuned bootloader.skip_grub_config",
        "TuneD records that it has no boot arguments, even if an earlier profile had some",
    ),
    with_operator(
        "dpdk-balancing",
        "ovsdpdk partition",
        "the scheduler may move the threads of Open vSwitch",
        off="openVSwitch: {loadBalancing: false}",
    ),
    everywhere(
        "physical-rps",
        "rps update-rps@.service",
        "physical devices have hardware queues",
        off="net: {physicalDeviceRps: true}",
    ),
    operator_only(
        "irqbalance-start",
        f"{_BIN}clear-irqbalance-banned-cpus.sh",
        "clear-irqbalance-banned-cpus.service runs it",
    ),
    operator_only(
        "irqbalance-start",
        "units clear-irqbalance-banned-cpus.service",
        "irqbalance starts with no CPU banned: CRI-O bans those of pinned pods",
    ),
    operator_only("cgroup-v1", f"{_BIN}cpuset-configure.sh", "cpuset-configure.service runs it"),
    operator_only(
        "cgroup-v1",
        "units cpuset-configure.service",
        "with cgroup v1, load balancing can be switched off only if the root cgroup has none",
    ),
    operator_only("scripts", f"{_BIN}hugepages-allocation.sh", "units of huge pages run it"),
    operator_only("scripts", f"{_BIN}set-cpus-offline.sh", "set-cpus-offline.service runs it"),
    operator_only(
        "ovs-slice",
        (
            f"{_UNITS}ovs.slice; {_UNITS}*/01-use-ovs-slice.conf; "
            "units /var/lib/ovn-ic/etc/enable_dynamic_cpu_affinity"
        ),
        "Open vSwitch may use all CPUs: its affinity is managed by OVN-Kubernetes",
    ),
    operator_only(
        "stalld-backend",
        "units /etc/sysconfig/stalld-backend",
        "stalld reads the scheduler's debug files, as under the node tuning operator",
    ),
    operator_only(
        "stalld-backend",
        f"{_UNITS}stalld.service.d/stalld-backend.conf",
        "stalld must know its backend",
    ),
    operator_only(
        "tuned-first",
        "units ocp-tuned-one-shot.service",
        "TuneD tunes the node before its kubelet starts",
    ),
)
