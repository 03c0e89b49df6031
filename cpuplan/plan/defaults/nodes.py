"""Defaults of the kubelet, CRI-O and the kernel."""

from cpuplan.plan.defaults.default import (
    Default,
    everywhere,
    for_latency,
    operator_only,
    with_operator,
    without_operator,
)

_REAL_TIME = "workloadHints: {realTime: false}"

DEFAULTS: tuple[Default, ...] = (
    everywhere(
        "static-policy",
        "kubelet cpuManagerPolicy = static",
        "no other policy gives pods exclusive CPUs",
        off="kubelet: {cpuManagerPolicy: none}",
    ),
    everywhere(
        "reserved-memory",
        "kubelet reservedMemory",
        (
            "the memory manager starts only with kubeReserved, "
            "systemReserved and evictionHard together"
        ),
        off=("kubelet: {memoryManagerPolicy: None}, or kubelet: {reservedMemory: [...]}"),
    ),
    with_operator(
        "reconcile-period",
        "kubelet cpuManagerReconcilePeriod = 5s",
        "cpusets are compared as often as under the node tuning operator",
        off="kubelet: {cpuManagerReconcilePeriod: 10s}",
        on="kubelet: {cpuManagerReconcilePeriod: 5s}",
    ),
    with_operator(
        "topology-policy",
        "kubelet topologyManagerPolicy = best-effort",
        "resources are aligned to NUMA nodes if possible, as under the node tuning operator",
        off="kubelet: {topologyManagerPolicy: none}",
        on="kubelet: {topologyManagerPolicy: best-effort}",
    ),
    with_operator(
        "whole-cores",
        "kubelet cpuManagerPolicyOptions.full-pcpus-only = true",
        "containers get whole cores with single-numa-node, as under the node tuning operator",
        off='kubelet: {cpuManagerPolicyOptions: {full-pcpus-only: "false"}}',
        on='kubelet: {cpuManagerPolicyOptions: {full-pcpus-only: "true"}}',
    ),
    with_operator(
        "memory-manager",
        "kubelet memoryManagerPolicy = Static; kubelet reservedMemory",
        "memory is aligned to NUMA nodes like the CPUs, as under the node tuning operator",
        off="kubelet: {memoryManagerPolicy: None}",
        on="kubelet: {memoryManagerPolicy: Static}",
    ),
    with_operator(
        "kube-reserved",
        "kubelet kubeReserved.* = memory 500Mi",
        "kept for the kubelet and the runtime, as under the node tuning operator",
        off="kubelet: {kubeReserved: {}}",
        on="kubelet: {kubeReserved: {memory: 500Mi}}",
    ),
    with_operator(
        "system-reserved",
        "kubelet systemReserved.* = memory 500Mi",
        "kept for system services, as under the node tuning operator",
        off="kubelet: {systemReserved: {}}",
        on="kubelet: {systemReserved: {memory: 500Mi}}",
    ),
    with_operator(
        "eviction",
        "kubelet evictionHard.* = the kubelet's own thresholds",
        "pods are evicted below this, as under the node tuning operator",
        off="kubelet: {evictionHard: {}}",
        on="kubelet: {evictionHard: {memory.available: 100Mi, ...}}",
    ),
    everywhere(
        "mixed-cpus",
        "kubelet reservedSystemCPUs; mixedcpus *; crio shared_cpuset; crio runtimes.*",
        "containers may use shared CPUs in addition to exclusive ones",
        off="runtime: {mixedCpus: false}",
    ),
    with_operator(
        "containers-limit",
        "mixedcpus shared_cpus.containers_limit = 256",
        "up to 256 containers may use shared CPUs, as under the node tuning operator",
        off="runtime: {containersLimit: 100}",
    ),
    everywhere(
        "infra-containers",
        "crio infra_ctr_cpuset = the reserved CPUs",
        "pause containers and conmon run on the reserved CPUs, and not on those of pods",
    ),
    with_operator(
        "gomaxprocs",
        "crio min_injected_gomaxprocs = 4",
        (
            "Go programs in containers without exclusive CPUs start few threads, "
            "as under the node tuning operator"
        ),
    ),
    with_operator(
        "handler",
        "crio runtimes.*; runtimeclass *",
        "pods ask for CRI-O's CPU hooks by this handler, as under the node tuning operator",
    ),
    without_operator(
        "sharing-handler",
        "crio runtimes.*; runtimeclass *",
        "CRI-O gives shared CPUs only to pods of such a handler",
        off="runtime: {mixedCpus: false}",
    ),
    with_operator(
        "exec-affinity",
        "crio runtimes.*.exec_cpu_affinity = first",
        "exec probes stay off the CPUs that workloads spin on, as under the node tuning operator",
        off="runtime: {execCpuAffinity: none}",
        on="runtime: {execCpuAffinity: first}",
    ),
    for_latency(
        "latency",
        "kernel skew_tick = 1; kernel tsc = reliable; kernel rcupdate.rcu_normal_after_boot = 1; "
        "kernel rcutree.nohz_full_patience_delay = 1000",
        "less jitter of ticks, clocks and RCU, as in TuneD's profile network-latency",
    ),
    for_latency(
        "latency",
        "kernel nohz = on",
        "ticks stop on idle CPUs, as in TuneD's profile cpu-partitioning",
    ),
    everywhere(
        "rcu-nocbs",
        "kernel rcu_nocbs = the isolated CPUs",
        "isolated from the kernel's own work: RCU callbacks run on other CPUs",
        off="isolation: {rcuNocbs: false}",
    ),
    operator_only("tuned", "kernel tuned.non_isolcpus", "TuneD's scripts read it on OpenShift"),
    everywhere(
        "system-services",
        "kernel systemd.cpu_affinity = all others; systemd CPUAffinity = all others",
        "system services stay off isolated and offlined CPUs",
    ),
    without_operator(
        "workqueues",
        "workqueue /sys/devices/virtual/workqueue/cpumask = all others",
        "isolated from the kernel's own work, which nohz_full= would keep off as well",
        off="isolation: {nohzFull: true}",
    ),
    without_operator(
        "kubelet-drop-ins",
        "kubeletunit --config-dir",
        "the kubelet reads a folder of configuration only on request",
    ),
    with_operator(
        "iommu", "kernel intel_iommu = on; kernel iommu = pt", "DPDK drivers can use devices (VFIO)"
    ),
    for_latency(
        "frequency-driver",
        "kernel amd_pstate = guided; kernel intel_pstate = disable before Ice Lake, then active",
        "the mode of the frequency driver that brings the least jitter, as TuneD chooses it",
    ),
    with_operator(
        "real-time",
        "kernel nmi_watchdog = 0; kernel mce = off; "
        "kernel idle = poll with highPowerConsumption; kernel nosoftlockup; "
        "kernel rcutree.kthread_prio = 11; "
        "tuned service.service.stalld = start,enable; tuned sysctl.*",
        "the workloads are real-time",
        off=_REAL_TIME,
        on="workloadHints: {realTime: true}",
    ),
    everywhere(
        "nohz-full",
        "kernel nohz_full = the isolated CPUs",
        "isolated from the kernel's own work: no timer tick while one task runs",
        off="isolation: {nohzFull: false}",
    ),
    everywhere(
        "managed-irq",
        "kernel isolcpus = managed_irq and the isolated CPUs",
        "isolated from the kernel's own work: interrupts of multi-queue devices go to other CPUs",
        off="isolation: {managedIrq: false}",
    ),
    everywhere(
        "scheduler",
        "kernel isolcpus = domain and the pool isolcpus",
        "the scheduler moves no tasks to or from the pool isolcpus",
        off="pools: without isolcpus",
    ),
    without_operator(
        "irq-affinity",
        "kernel irqaffinity = the reserved CPUs",
        "interrupts go to the reserved CPUs: nothing else keeps them off the isolated ones",
        off="isolation: {irqAffinity: false}",
        on="isolation: {irqAffinity: true}",
    ),
    without_operator(
        "irq-affinity",
        "interrupts CPUS; irqbalance IRQBALANCE_BANNED_CPULIST; kubeletunit Wants",
        "drivers and irqbalance place interrupts themselves, whatever irqaffinity= says",
        off="isolation: {irqAffinity: false}",
    ),
    everywhere(
        "expected-policy",
        "nrt apiVersion; nrt attributes.topologyManager*; nrt topologyPolicies",
        "what exporters report for a kubelet with default settings",
        off="kubelet: {topologyManagerPolicy: none, topologyManagerScope: pod}",
    ),
    everywhere(
        "expected-memory",
        "nrt zones.*.resources.memory",
        "what exporters report: memory minus huge pages and reservedMemory",
        off="kubelet.reservedMemory, hugePages",
    ),
)
