"""Rules of nodes that no operator configures: what each program makes of its changed file."""

from cpuplan.change.impact.impact import Impact
from cpuplan.change.impact.rules.table.rule import Rule

RULES = (
    Rule(
        "kubelet-config",
        Impact.RESTART,
        "restart of {unit}",
        "The kubelet reads its configuration when it starts. Pods go on.",
        "kubernetes.io/docs/tasks/administer-cluster/kubelet-config-file",
    ),
    Rule(
        "kubelet-unit",
        Impact.RESTART,
        "systemctl daemon-reload, and restart of {unit}",
        "A drop-in of the kubelet's unit holds from the next start of the unit on.",
        "systemd.unit(5)",
    ),
    Rule(
        "crio-config",
        Impact.RESTART,
        "restart of crio.service",
        "CRI-O reads neither infra_ctr_cpuset nor shared_cpuset again on a reload. Containers that "
        "run go on with the CPUs that they have.",
        "cri-o/cri-o docs/crio.conf.5.md",
    ),
    Rule(
        "containerd-config",
        Impact.RESTART,
        "restart of containerd.service",
        "containerd reads its configuration when it starts. Containers go on.",
        "containerd/containerd docs/man/containerd-config.toml.5.md",
    ),
    Rule(
        "boot-arguments",
        Impact.REBOOT,
        "reboot",
        "The kernel reads its command line when it boots.",
        "kernel Documentation/admin-guide/kernel-parameters.rst",
    ),
    Rule(
        "sysctl",
        Impact.LIVE,
        "sysctl --system",
        "sysctls hold at once. One that is no longer set keeps its value until the node boots.",
        "sysctl(8), sysctl.d(5)",
    ),
    Rule(
        "tuned-profile",
        Impact.RESTART,
        "restart of tuned.service",
        "TuneD reads a profile when it starts, and takes back what the old one set.",
        "redhat-performance/tuned doc/manual (tuned-adm)",
    ),
    Rule(
        "systemd-affinity",
        Impact.REBOOT,
        "systemctl daemon-reexec, and a reboot for services that run already",
        "CPUAffinity= of the manager holds for services that start after a daemon-reexec. Those "
        "that run keep their CPUs; whether all of them can be restarted is not known.",
        "systemd-system.conf(5)",
        is_certain=False,
    ),
    Rule(
        "slice-cpus",
        Impact.LIVE,
        "systemctl daemon-reload",
        "AllowedCPUs= of a slice holds for its processes after a daemon-reload.",
        "systemd.resource-control(5)",
    ),
    Rule(
        "slice-cpus-removed",
        Impact.REBOOT,
        "systemctl daemon-reload, and a reboot where the slice keeps the old CPUs",
        "A slice whose drop-in is removed keeps its CPUs if cgroups below it use cpusets.",
        "systemd/systemd#43846",
        is_certain=False,
    ),
    Rule(
        "workqueue-mask",
        Impact.LIVE,
        "systemd-tmpfiles --create",
        "The mask of unbound workqueues holds at once. One that is no longer set stays until the "
        "node boots.",
        "kernel Documentation/core-api/workqueue.rst, tmpfiles.d(5)",
    ),
    Rule(
        "interrupts",
        Impact.LIVE,
        "systemctl daemon-reload and restart cpuplan-interrupts.service, which moves interrupts",
        "The affinity of an interrupt holds at once. The unit runs a script and ends.",
        "kernel Documentation/core-api/irq/irq-affinity.rst",
    ),
    Rule(
        "irqbalance",
        Impact.RESTART,
        "systemctl daemon-reload, and restart of irqbalance.service",
        "irqbalance reads its environment when it starts.",
        "Irqbalance/irqbalance irqbalance.1",
    ),
    Rule(
        "packet-steering",
        Impact.REBOOT,
        "reboot",
        "The default mask holds for network devices that are made later. Those of pods that run "
        "keep theirs.",
        "kernel Documentation/admin-guide/sysctl/net.rst (rps_default_mask)",
    ),
    Rule(
        "boot-units",
        Impact.REBOOT,
        "reboot",
        "Units that switch CPUs off, or check huge pages, run once, before the kubelet starts and "
        "counts them.",
        "systemd.service(5); kubernetes/kubernetes#124066",
    ),
    Rule(
        "huge-pages-at-run-time",
        Impact.REBOOT,
        "reboot, or a run of {unit} and a restart of the kubelet where memory is not fragmented",
        "Huge pages of a NUMA node can be set aside while a node runs, if the kernel finds enough "
        "contiguous memory, which nothing promises.",
        "kernel Documentation/admin-guide/mm/hugetlbpage.rst",
        is_certain=False,
    ),
    Rule(
        "partition",
        Impact.LIVE,
        "systemctl daemon-reload and restart isolate-cpus.service",
        "A partition of control groups isolates CPUs, and gives them back, while the node runs.",
        "kernel Documentation/admin-guide/cgroup-v2.rst (cpuset.cpus.partition)",
    ),
    Rule(
        "other-runtime",
        Impact.DRAIN,
        "drain, and change of the container runtime from {before} to {after}",
        "A container runtime does not know the containers of another one.",
        "kubernetes.io/docs/tasks/administer-cluster/migrating-from-dockershim/"
        "change-runtime-containerd",
    ),
    Rule(
        "state-file",
        Impact.DRAIN,
        "drain, removal of /var/lib/kubelet/{file}, and start of the kubelet",
        "A kubelet does not start with a state file of another policy, or of CPUs or memory that "
        "do not fit.",
        "kubernetes.io/docs/tasks/administer-cluster/cpu-management-policies; "
        "kubernetes/kubernetes#84333, siderolabs/talos#7504",
    ),
    Rule(
        "state-file-maybe",
        Impact.DRAIN,
        "drain, removal of /var/lib/kubelet/{file}, and start of the kubelet, unless the platform "
        "removes the file",
        "Whether the platform removes the state file itself is not known for all releases.",
        "bottlerocket-os/bottlerocket#1465",
        is_certain=False,
    ),
    Rule(
        "state-file-new-node",
        Impact.DRAIN,
        "drain, removal of /var/lib/kubelet/cpu_manager_state, and start of the kubelet, if it ran "
        "with another policy",
        "A kubelet that ran before leaves a state file of its policy; what it was is not known.",
        "kubernetes.io/docs/tasks/administer-cluster/cpu-management-policies",
        is_certain=False,
    ),
    Rule(
        "node-leaves",
        Impact.NOTHING,
        "nothing: files and settings stay on the node",
        "Nothing removes the files of a node that is no longer in the project.",
        "cpuplan docs/delivery.md",
    ),
    Rule(
        "other-platform",
        Impact.REINSTALL,
        "installation of {after} in place of {before}",
        "A node that moves to another platform is installed anew.",
        "cpuplan docs/delivery.md",
    ),
    Rule(
        "unknown-file",
        Impact.REBOOT,
        "not known",
        "What reads this file is not known, so it counts as a reboot.",
        "cpuplan docs/impact.md",
        is_certain=False,
    ),
    Rule(
        "unknown-before",
        Impact.REBOOT,
        "not known",
        "A release of cpuplan that wrote no expected state, or another one, compiled one side: its "
        "files cannot be compared.",
        "cpuplan docs/checking.md",
        is_certain=False,
    ),
)
