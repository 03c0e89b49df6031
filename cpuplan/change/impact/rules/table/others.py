"""Rules of deliveries, of platforms that take settings only, and of objects of the API."""

from cpuplan.facts.settings import objects
from cpuplan.facts.settings.costs import Impact, Rule
from cpuplan.facts.settings.table import rules

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
