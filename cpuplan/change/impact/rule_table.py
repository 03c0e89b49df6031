"""All rules of what a change costs, each with its source. docs/impact.md is made of them.

Paths without a repository are those of openshift/machine-config-operator."""

from collections.abc import Mapping
from itertools import chain

from cpuplan.facts.settings import (
    containerd,
    crio,
    host,
    kernel,
    kubelet,
    objects,
    openshift,
    tuned,
)
from cpuplan.facts.settings.costs import Cost, Impact, Rule
from cpuplan.facts.settings.openshift import DRAIN, POLICIES, UPDATE
from cpuplan.facts.settings.table import rules

_NODES = (
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
        "drain, removal of {folder}/{file}, and start of the kubelet",
        "A kubelet does not start with a state file of another policy, or of CPUs or memory that "
        "do not fit.",
        "kubernetes.io/docs/tasks/administer-cluster/cpu-management-policies; "
        "kubernetes/kubernetes#84333, siderolabs/talos#7504",
    ),
    Rule(
        "state-file-maybe",
        Impact.DRAIN,
        "drain, removal of {folder}/{file}, and start of the kubelet, unless the platform "
        "removes the file",
        "Whether the platform removes the state file itself is not known for all releases.",
        "bottlerocket-os/bottlerocket#1465",
        is_certain=False,
    ),
    Rule(
        "state-file-new-node",
        Impact.DRAIN,
        "drain, removal of {folder}/cpu_manager_state, and start of the kubelet, if it ran "
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


#: Of nodes that two controllers reboot.
SECOND_REBOOT = "nto-second-reboot"
_OPENSHIFT = (
    Rule(
        "mco-kernel-arguments",
        Impact.REBOOT,
        DRAIN,
        "Any difference of the rendered kernel arguments reboots the nodes of a pool: also another "
        "order, a repetition, or the same arguments written as one string. No policy avoids it.",
        f"{UPDATE} (newMachineConfigDiff); openshift/api#1764",
    ),
    openshift.KERNEL,
    Rule(
        "mco-os",
        Impact.REBOOT,
        f"{DRAIN}, into another image of the operating system",
        "Another image of the operating system, or other extensions of it, reboot the nodes.",
        f"{UPDATE} (newMachineConfigDiff)",
    ),
    Rule(
        "mco-kubelet-config",
        Impact.REBOOT,
        DRAIN,
        "A changed KubeletConfig changes the file kubelet.conf in the MachineConfig that a "
        "controller generates from it. No policy of the operator covers this file.",
        "docs/KubeletConfigDesign.md; docs/MachineConfigController.md",
    ),
    Rule(
        "mco-kubelet-default",
        Impact.REBOOT,
        DRAIN,
        "A field of a KubeletConfig that is added or removed changes nothing if its value is the "
        "operator's default. The defaults differ between releases, so it counts as a change.",
        "templates/worker/01-worker-kubelet; pkg/controller/kubelet-config/helpers.go",
        is_certain=False,
    ),
    Rule(
        "mco-file",
        Impact.REBOOT,
        DRAIN,
        "A file without a node disruption policy reboots the nodes. Files are compared as Ignition "
        "objects: another encoding, mode or explicit default of the same bytes is a change.",
        f"{UPDATE} (calculatePostConfigChangeNodeDisruptionAction); {POLICIES}",
    ),
    openshift.UNIT,
    Rule(
        "mco-policy",
        None,
        "{does}",
        "From 4.17 on, a file costs what the policy with the longest path that covers it says, a "
        "unit what the policy of its name says. A policy of the cluster replaces one of the "
        "operator with the same path. Before, the operator has fixed paths.",
        POLICIES,
    ),
    Rule(
        "mco-irreconcilable",
        Impact.REINSTALL,
        "nothing, until the machine is installed anew: {problem}",
        "Changes of FIPS mode, disks, filesystems, directories, links and users are refused: from "
        "4.16 on the pool becomes RenderDegraded, before that its nodes become Degraded.",
        "pkg/controller/common/reconcile.go",
    ),
    Rule(
        "mco-not-rendered",
        Impact.REBOOT,
        "nothing, until the pool can be rendered: {problem}",
        "One object that is refused blocks its whole pool. What its nodes do afterwards depends on "
        "how it is corrected.",
        "pkg/controller/render/render_controller.go",
        is_certain=False,
    ),
    Rule(
        "mco-node-stops",
        Impact.REBOOT,
        "the node stops with an error: {problem}",
        "A change that the operator accepts and a node cannot make leaves the node degraded.",
        "pkg/daemon/drain.go",
        is_certain=False,
    ),
    Rule(
        "mco-renamed",
        Impact.REBOOT,
        f"{DRAIN}, because the pool has the objects of both names for a while",
        "A renamed MachineConfig is one that is added and one that is removed later. Until then "
        "the pool is rendered with both, so that kernel arguments are there twice.",
        "pkg/controller/common/helpers.go (MergeMachineConfigs)",
    ),
    Rule(
        "mco-pruned",
        Impact.REBOOT,
        f"{DRAIN}, when the removal of {{name}} is confirmed",
        "An object that is removed from Git stays until its removal is confirmed (Prune=confirm). "
        "Its removal is rendered as a change of its own.",
        "argoproj/argo-cd docs/user-guide/sync-options.md",
    ),
    Rule(
        "mco-pool-move",
        None,
        "{does}, because the node moves from pool {before} to pool {after}",
        "A node in another pool gets what that pool is rendered to. A custom pool precedes worker; "
        "a node whose custom pool is gone falls back to worker.",
        "pkg/helpers/helpers.go (GetPoolsForNode)",
    ),
    Rule(
        "mco-pool-left",
        Impact.REBOOT,
        f"{DRAIN}, unless the node leaves pool {{pool}} before the objects are synced",
        "Until the labels of a node change it is in its old pool, which loses the objects that are "
        "for the new one. People set these labels, before or after the sync.",
        "pkg/helpers/helpers.go (GetPoolsForNode)",
        is_certain=False,
    ),
    Rule(
        "mco-pool-paused",
        Impact.NOTHING,
        "nothing, until pool {pool} is unpaused",
        "A paused pool applies no change. All that has accumulated is one change once it is "
        "unpaused. Certificates are not rotated meanwhile.",
        "pkg/controller/node/node_controller.go; openshift/openshift-docs#45313",
    ),
    Rule(
        "mco-pool-resumed",
        Impact.REBOOT,
        f"{DRAIN}, if changes have accumulated while pool {{pool}} was paused",
        "What a paused pool has not applied cannot be seen in the compiled files.",
        "pkg/controller/node/node_controller.go",
        is_certain=False,
    ),
    Rule(
        "mco-node-selector",
        Impact.REBOOT,
        f"{DRAIN}, if the node has other labels than the pool selects from now on",
        "A node that a pool no longer selects leaves it, and falls back to worker. People set the "
        "labels of nodes.",
        "pkg/helpers/helpers.go (GetPoolsForNode)",
        is_certain=False,
    ),
    Rule(
        "mco-pool-object",
        Impact.NOTHING,
        "nothing: the object says which nodes change at a time",
        "Fields of a MachineConfigPool that leave its selectors alone change no node.",
        "docs/MachineConfigController.md",
    ),
    Rule(
        "mco-cgroup-mode",
        Impact.REBOOT,
        f"{DRAIN}, into another version of control groups",
        "The Node object `cluster` (config.openshift.io) sets kernel arguments of all pools.",
        "pkg/controller/kubelet-config/kubelet_config_nodes.go",
    ),
    tuned.BY_OPERATOR,
    Rule(
        "nto-same",
        Impact.NOTHING,
        "nothing: the objects that are made from the PerformanceProfile stay the same",
        "A changed PerformanceProfile costs what the objects cost that are made from it.",
        "openshift/cluster-node-tuning-operator pkg/performanceprofile/controller",
    ),
    Rule(
        "nto-renamed",
        Impact.REBOOT,
        f"{DRAIN}, once or twice",
        "The node tuning operator makes new objects of a PerformanceProfile with another name and "
        "removes those of the old one when that is removed; what both are together is not known.",
        "openshift/cluster-node-tuning-operator pkg/performanceprofile/controller",
        is_certain=False,
    ),
    Rule(
        SECOND_REBOOT,
        Impact.REBOOT,
        "a second reboot is likely, unless pool {pool} is paused until 50-nto-{pool} has changed "
        "(rollout.pausePools)",
        "Before OpenShift 4.22 the node tuning operator writes 50-performance-* at once, and "
        "50-nto-* when TuneD has worked out the kernel arguments on all nodes of the pool. The "
        "machine config operator joins what comes within five seconds.",
        "openshift/cluster-node-tuning-operator commit 53c744076",
        is_certain=False,
    ),
    Rule(
        "hosted-node-pool",
        Impact.REINSTALL,
        "the NodePool replaces the machine, or updates it in place with a reboot",
        "A changed MachineConfig or KubeletConfig of a hosted cluster rolls its NodePool out, by "
        "the upgradeType of the NodePool: Replace or InPlace.",
        "openshift/hypershift hypershift-operator/controllers/nodepool/config.go",
        is_certain=False,
    ),
    Rule(
        "hosted-tuned",
        Impact.LIVE,
        "TuneD of the node tuning operator applies the changed profile",
        "A Tuned object of a hosted cluster is no part of what its NodePool rolls out.",
        "openshift/hypershift hypershift-operator/controllers/nodepool/nto.go",
    ),
)


_OTHERS = (
    Rule(
        "ansible-restarts",
        Impact.RESTART,
        "restart of {runtime}, and of {kubelet} without its state files, by the role",
        "The role stops the kubelet, removes its state files, restarts the container runtime and "
        "starts the kubelet whenever a file differs. Pods go on, but exclusive CPUs are given out "
        "anew.",
        "cpuplan docs/delivery.md; templates/ansible/roles/cpuplan/handlers",
        costs=Cost.RESTARTS,
    ),
    Rule(
        "nodewright-reboot",
        Impact.REBOOT,
        "cordon, drain, installation and reboot by the operator of NodeWright",
        "The package has the interrupt `reboot` for each change of its files.",
        "NVIDIA/nodewright docs/interrupt_flow.md",
    ),
    Rule(
        "cluster-api-machines",
        Impact.REINSTALL,
        "a new machine, once the MachineDeployment names the template {name}",
        "Templates are not changed. Cluster API replaces the machines of another template.",
        "kubernetes-sigs/cluster-api docs/book/src/tasks/updating-machine-templates.md",
    ),
    Rule(
        "first-boot-only",
        Impact.REINSTALL,
        "a new installation of the machine",
        "Ignition and cloud-init read their configuration at the first boot of a machine.",
        "coreos/ignition docs/rationale.md; cloudinit docs (boot stages)",
    ),
    Rule(
        "talos-kubelet",
        Impact.RESTART,
        "restart of the kubelet by Talos",
        "Talos applies changes of the kubelet without a reboot.",
        "siderolabs/docs editing-machine-configuration.mdx",
        costs=Cost.KUBELET_RESTART,
    ),
    Rule(
        "talos-sysctl",
        Impact.LIVE,
        "Talos sets the sysctls",
        "Talos applies changes of sysctls without a reboot.",
        "siderolabs/docs editing-machine-configuration.mdx",
    ),
    Rule(
        "talos-schematic",
        Impact.REINSTALL,
        "upgrade to an image of the new schematic, with a reboot",
        "Boot arguments are part of the image of Talos, and a machine configuration cannot change "
        "them where systemd-boot starts a unified kernel image. An upgrade installs another image.",
        "siderolabs/docs bootloader.mdx, upgrading-talos.mdx",
        is_certain=False,
    ),
    Rule(
        "bottlerocket-kubelet",
        Impact.RESTART,
        "restart of the kubelet by Bottlerocket",
        "Settings that the configuration of the kubelet is made of restart it when applied.",
        "bottlerocket-os/bottlerocket sources/api (services.kubernetes: restart-commands)",
        costs=Cost.KUBELET_RESTART,
    ),
    Rule(
        "bottlerocket-sysctl",
        Impact.LIVE,
        "Bottlerocket sets the sysctls",
        "settings.kernel.sysctl is applied by corndog when it changes.",
        "bottlerocket.dev, settings.kernel",
    ),
    Rule(
        "bottlerocket-boot",
        Impact.REBOOT,
        "reboot",
        "settings.boot.kernel-parameters holds from the next boot on.",
        "bottlerocket.dev, settings.boot",
    ),
    *rules(objects),
    Rule(
        "admission",
        Impact.LIVE,
        "nothing on nodes: the API server applies the policy to requests from now on",
        "Admission policies concern requests, not pods that run.",
        "kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy",
    ),
    Rule(
        "namespace",
        Impact.LIVE,
        "nothing on nodes: pods made in the namespace from now on are concerned",
        "Labels and annotations of a namespace are read when a pod is admitted.",
        "kubernetes.io/docs/reference/access-authn-authz/admission-controllers",
    ),
    Rule(
        "agent",
        Impact.RESTART,
        "another pod of the verification agent",
        "A changed DaemonSet replaces its pods. The agent reads nodes and changes nothing.",
        "kubernetes.io/docs/tasks/manage-daemon/update-daemon-set",
        costs=Cost.NOTHING,
    ),
    Rule(
        "verification",
        Impact.LIVE,
        "nothing on nodes: agents, alerts and jobs read the objects",
        "Expected states, permissions, alerts and the Job after a sync change no node.",
        "cpuplan docs/checking.md",
    ),
    Rule(
        "unknown-object",
        Impact.REBOOT,
        "not known",
        "What acts on objects of this kind is not known, so it counts as a reboot.",
        "cpuplan docs/impact.md",
        is_certain=False,
    ),
)


#: By title, in the order of the page.
SECTIONS: Mapping[str, tuple[Rule, ...]] = {
    "OpenShift": _OPENSHIFT,
    "Nodes without an operator": _NODES,
    "Deliveries, other platforms and objects": _OTHERS,
}
RULES: Mapping[str, Rule] = {rule.id: rule for rule in chain.from_iterable(SECTIONS.values())}
