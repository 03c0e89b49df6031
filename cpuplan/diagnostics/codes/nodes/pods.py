"""Threads, control groups and containers of a node."""

from cpuplan.diagnostics.codes.code import Code

CODES = {
    "CP836": Code(
        "programs on isolated CPUs",
        "{threads} outside of pods may run on {found}: {programs}",
        "look for CPUAffinity= in the unit, and for taskset or cgroups of others; then restart the unit. If it is "
        "systemd itself, reboot: all programs inherit its CPUs",
        "Every thread counts that no kubelet started and whose Cpus_allowed_list has CPUs which the plan keeps "
        "programs off: with CPUAffinity= of systemd, with isolcpus=domain, or with a partition. What is pinned to the "
        "pool isolcpus alone is left out.",
    ),
    "CP837": Code(
        "kernel threads on isolated CPUs",
        "{threads} may run on {found}; the kernel keeps them on {wanted}",
        "move them back with taskset, and look for the program that moved them; a reboot does it too",
        "nohz_full= keeps the kernel's own threads off its CPUs, but for those that belong to one CPU, to a NUMA node "
        "(kswapd, kcompactd), to a workqueue or to an interrupt.",
    ),
    "CP838": Code(
        "RCU threads not as planned",
        "{found}; the plan has {wanted}",
        "look in the kernel log for what the kernel made of the argument, and reboot the node with the compiled arguments",
        "With rcu_nocbs= there is a thread rcuop/N or rcuos/N for each CPU whose callbacks other CPUs run. "
        "rcutree.kthread_prio= is the real-time priority of the threads rcu_preempt, rcuc/N and rcub/N.",
    ),
    "CP839": Code(
        "CPUs that a control group keeps",
        "{found}",
        "write `member` to cpuset.cpus.partition and an empty line to cpuset.cpus.exclusive of that control group, those "
        "below first. If CPUs remain isolated without a control group, reboot the node",
        "A partition takes its CPUs from all other control groups, those of pods too. The kernel accepts one that is not "
        "possible and says so only where it is read. CPUs of a partition leak if cpuset.cpus.exclusive of a control group "
        "above it is cleared first: they stay isolated until the next boot. What stays in cpuset.cpus.exclusive prevents "
        "later partitions.",
    ),
    "CP857": Code(
        "containers on other CPUs",
        "{who}: {found}; the kubelet's state file gives {wanted}",
        "restart the pod: the kubelet compares with what it last wrote, and does not repair it",
        "Each container has the exclusive CPUs of cpu_manager_state, with shared CPUs if it asked for them, and all others "
        "have the shared pool (kubernetes/kubernetes#138731, #120230).",
    ),
    "CP858": Code(
        "quota below exclusive CPUs",
        "{who}: {cpus}, and a quota of {found}; it should be {wanted}",
        "annotate the pod with cpu-quota.crio.io: disable, or run a kubelet of 1.33 or later, and restart the pod",
        "The smallest quota of the control groups above, of and in a container stops it (cri-o/cri-o#9251), also while its "
        "CPUs are idle.",
    ),
    "CP859": Code(
        "exclusive CPUs that are not aligned",
        "{who} has {cpus}, {found}; the kubelet's policies promise {wanted}",
        "restart the pod: it was admitted before the policies were as they are",
        "full-pcpus-only gives whole cores, and the topology policies single-numa-node and restricted give CPUs of as few "
        "NUMA nodes as are enough. They count when a pod is admitted.",
    ),
    "CP864": Code(
        "containers with CPUs of an earlier configuration",
        "{who}: {found}; CRI-O's configuration has {wanted}",
        "restart CRI-O if it is older than its files, then restart the pod",
        "CRI-O reads infra_ctr_cpuset and shared_cpuset when it starts, and gives them to sandboxes, monitors and containers "
        "when it starts those.",
    ),
}
