"""Rules of nodes that no operator configures: what each program makes of its changed file."""

from cpuplan.facts.settings import containerd, crio, host, kernel, kubelet, tuned
from cpuplan.facts.settings.costs import Impact, Rule
from cpuplan.facts.settings.table import rules

RULES = (
    *rules(kubelet, crio, containerd, host, tuned, kernel),
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
