"""Rules of deliveries, of platforms that take settings only, and of objects of the API."""

from cpuplan.change.impact.impact import Impact
from cpuplan.change.impact.rules.table.rule import Rule

RULES = (
    Rule(
        "ansible-restarts",
        Impact.RESTART,
        "restart of {runtime}, and of {kubelet} without its state files, by the role",
        "The role stops the kubelet, removes its state files, restarts the container runtime and "
        "starts the kubelet whenever a file differs. Pods go on, but exclusive CPUs are given out "
        "anew.",
        "cpuplan docs/delivery.md; templates/ansible/roles/cpuplan/handlers",
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
    Rule(
        "runtime-class",
        Impact.LIVE,
        "nothing on nodes: pods made from now on use the object",
        "A RuntimeClass is read when a pod is admitted and when it starts. The API server refuses "
        "another handler: the object must be removed first.",
        "kubernetes.io/docs/concepts/containers/runtime-class",
    ),
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
        "balloons-policy",
        Impact.LIVE,
        "the NRI balloons policy gives containers their CPUs anew",
        "The policy takes a changed object while it runs, and moves containers.",
        "containers/nri-plugins docs/resource-policy/policy/balloons.md",
    ),
    Rule(
        "dra-driver",
        Impact.DRAIN,
        "the node is drained, and the DRA CPU driver starts with the new configuration",
        "The driver reads its configuration when it starts. With other reserved CPUs or another "
        "mode, names of devices mean other CPUs, and claims of running pods are not found again.",
        "kubernetes-sigs/dra-driver-cpu pkg/device/builder.go, pkg/driver/dra_hooks.go",
    ),
    Rule(
        "dra-driver-installed",
        Impact.DRAIN,
        "the node is drained, and gets the label cpuplan.io/class and the DRA CPU driver",
        "Containers without a claim share what no claim has: those that run keep the CPUs that "
        "something else gave them until they are created again.",
        "kubernetes-sigs/dra-driver-cpu docs/user/installation.md, pkg/driver/nri_hooks.go",
    ),
    Rule(
        "dra-driver-removed",
        Impact.DRAIN,
        "the node is drained, and the DRA CPU driver is uninstalled from it",
        "What the driver wrote stays on running containers, and nobody prepares new claims.",
        "kubernetes-sigs/dra-driver-cpu docs/user/installation.md",
    ),
    Rule(
        "nri-policy-installed",
        Impact.LIVE,
        "the node gets the label config.nri/group, and the NRI policy {policy}, which gives "
        "containers their CPUs anew",
        "A policy that starts places all containers that run. NRI refuses containers that two "
        "programs want to place: one that was there before must be gone.",
        "containers/nri-plugins pkg/resmgr/nri.go, containerd/nri pkg/api/owners.go",
    ),
    Rule(
        "nri-policy-removed",
        Impact.LIVE,
        "the NRI policy {policy} is uninstalled from the node; containers that run keep their CPUs",
        "What the policy wrote stays on running containers until something else writes it.",
        "containers/nri-plugins docs/resource-policy/installation.md",
    ),
    Rule(
        "device-classes",
        Impact.LIVE,
        "nothing on nodes: the scheduler chooses CPUs of new claims by the changed DeviceClass",
        "A DeviceClass is read when a claim is allocated. Claims that have CPUs keep them.",
        "kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation",
    ),
    Rule(
        "topology-aware-policy",
        Impact.LIVE,
        "the NRI topology-aware policy keeps what containers have, or gives them CPUs anew",
        "The policy takes a changed object while it runs. What every container has is kept if that "
        "is still possible; else all are placed again, as near to their pools as they can be.",
        "containers/nri-plugins cmd/plugins/topology-aware/policy/cache.go",
    ),
    Rule(
        "koordinator-node",
        Impact.LIVE,
        "koord-scheduler and koordlet read the labels and annotations of the node",
        "Labels and annotations of nodes are watched. Pods that run keep their CPUs.",
        "koordinator-sh/koordinator apis/extension",
    ),
    Rule(
        "koordinator-scheduler",
        Impact.NOTHING,
        "restart of koord-scheduler, which no node notices",
        "koord-scheduler reads its configuration when it starts.",
        "koordinator-sh/charts koord-scheduler-config",
    ),
    Rule(
        "koordinator-slo",
        Impact.LIVE,
        "koord-manager changes the NodeSLO, which koordlet applies",
        "koord-manager watches the ConfigMap slo-controller-config.",
        "koordinator-sh/koordinator pkg/slo-controller",
    ),
    Rule(
        "koordinator-profile",
        Impact.LIVE,
        "nothing on nodes: the webhook applies the profile to pods made from now on",
        "A ClusterColocationProfile is read when a pod is created.",
        "koordinator-sh/koordinator pkg/webhook/pod/mutating",
    ),
    Rule(
        "agent",
        Impact.RESTART,
        "another pod of the verification agent",
        "A changed DaemonSet replaces its pods. The agent reads nodes and changes nothing.",
        "kubernetes.io/docs/tasks/manage-daemon/update-daemon-set",
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
