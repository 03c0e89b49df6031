"""Rules of OpenShift: the machine config operator, the node tuning operator, hosted clusters.

Paths without a repository are those of openshift/machine-config-operator.
"""

from cpuplan.facts.settings import openshift, tuned
from cpuplan.facts.settings.costs import Impact, Rule
from cpuplan.facts.settings.openshift import DRAIN, POLICIES, UPDATE

RULES = (
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
