"""Which module writes for a platform, and which components it writes: each loads when asked for."""

from collections.abc import Mapping

from cpuplan.backends.base import Backend
from cpuplan.base.modules import Modules
from cpuplan.components.base import Component
from cpuplan.plan import NodePlan

BACKENDS: Modules[Backend] = Modules(
    {
        "kubernetes": "cpuplan.backends.kubernetes",
        "openshift": "cpuplan.backends.openshift",
        "kubeadm": "cpuplan.backends.kubernetes",
        "kubespray": "cpuplan.backends.kubernetes",
        "eks": "cpuplan.backends.embedded",
        "k0s": "cpuplan.backends.embedded",
        "microk8s": "cpuplan.backends.embedded",
        "kops": "cpuplan.backends.embedded",
        # Refused before anything is written (CP2506).
        "gke": "cpuplan.backends.embedded",
        "aks": "cpuplan.backends.embedded",
        "rke2": "cpuplan.backends.embedded",
        "k3s": "cpuplan.backends.embedded",
        "talos": "cpuplan.backends.talos",
        "bottlerocket": "cpuplan.backends.bottlerocket",
    }
)

#: Of nodes whose files are ours, by name, in the order in which they are printed.
_KUBERNETES = {
    "kubelet": "cpuplan.components.kubelet",
    "kubeletunit": "cpuplan.components.host.kubelet_unit",
    "crio": "cpuplan.components.crio",
    "containerd": "cpuplan.components.containerd",
    "balloons": "cpuplan.components.nri.balloons",
    "topology-aware": "cpuplan.components.nri.topologyaware",
    "dra-driver": "cpuplan.components.dra.driver",
    "device-classes": "cpuplan.components.dra.classes",
    "resource-claims": "cpuplan.components.dra.claims",
    "resource-slices": "cpuplan.components.dra.resource_slices",
    "koordinator": "cpuplan.components.koordinator.node",
    "koord-scheduler": "cpuplan.components.koordinator.scheduler",
    "slo-controller": "cpuplan.components.koordinator.slo",
    "colocation": "cpuplan.components.koordinator.colocation",
    "runtimeclass": "cpuplan.components.runtimeclass",
    "kernel": "cpuplan.components.kernel",
    "sysctl": "cpuplan.components.host.sysctl",
    "tuned": "cpuplan.components.host.tuned",
    "systemd": "cpuplan.components.host.systemd",
    "workqueue": "cpuplan.components.host.workqueue",
    "interrupts": "cpuplan.components.host.interrupts",
    "irqbalance": "cpuplan.components.host.irqbalance",
    "rps": "cpuplan.components.host.rps",
    "units": "cpuplan.components.units",
    "slices": "cpuplan.components.slices",
    "partitions": "cpuplan.components.host.partitions",
    "nrt": "cpuplan.components.nrt",
}
#: The same where operators make the files.
_OPENSHIFT = {
    "kubelet": "cpuplan.components.kubelet",
    "mixedcpus": "cpuplan.components.openshift.mixedcpus",
    "crio": "cpuplan.components.crio",
    "pinning": "cpuplan.components.openshift.pinning",
    "runtimeclass": "cpuplan.components.runtimeclass",
    "kernel": "cpuplan.components.kernel",
    "tuned": "cpuplan.components.openshift.tuned",
    "ovsdpdk": "cpuplan.components.openshift.ovsdpdk",
    "rps": "cpuplan.components.host.rps",
    "units": "cpuplan.components.openshift.operator_units",
    "slices": "cpuplan.components.slices",
    "partitions": "cpuplan.components.host.partitions",
    "nrt": "cpuplan.components.nrt",
    "pool": "cpuplan.components.openshift.pool",
    "machineconfig": "cpuplan.components.openshift.machineconfig",
    "performanceprofile": "cpuplan.components.openshift.performanceprofile",
}
#: Platforms that bring their runtime lack these.
_OF_RUNTIMES = frozenset({"crio", "containerd", "runtimeclass"})
#: All that can be said to a platform which takes settings and no files.
_OF_SETTINGS = frozenset({"kubelet", "kernel", "sysctl", "nrt"})

_EMBEDDED = {name: path for name, path in _KUBERNETES.items() if name not in _OF_RUNTIMES}
_SETTINGS_ONLY = {name: path for name, path in _KUBERNETES.items() if name in _OF_SETTINGS}
#: By platform, what its backend writes.
COMPONENTS: Mapping[str, Modules[Component]] = {
    "kubernetes": Modules(_KUBERNETES),
    "openshift": Modules(_OPENSHIFT),
    "kubeadm": Modules(_KUBERNETES),
    "kubespray": Modules(_KUBERNETES),
    "eks": Modules(_EMBEDDED),
    "k0s": Modules(_EMBEDDED),
    "microk8s": Modules(_EMBEDDED),
    "kops": Modules(_EMBEDDED),
    "gke": Modules(_SETTINGS_ONLY),
    "aks": Modules(_SETTINGS_ONLY),
    "rke2": Modules(_EMBEDDED),
    "k3s": Modules(_EMBEDDED),
    "talos": Modules(_SETTINGS_ONLY),
    "bottlerocket": Modules(_SETTINGS_ONLY),
}

#: What only targets with a mechanism have: it is not loaded for others.
_OF_MECHANISMS = {
    "balloons": "balloons",
    "topology-aware": "topology-aware",
    "dra-driver": "dra",
    "device-classes": "dra",
    "resource-claims": "dra",
    "resource-slices": "dra",
    "koordinator": "koordinator",
    "koord-scheduler": "koordinator",
    "slo-controller": "koordinator",
    "colocation": "koordinator",
}


def components(plan: NodePlan) -> list[Component]:
    """The components that can have settings for the target of a plan."""
    mechanism = plan.node_class.target.mechanism
    written = COMPONENTS[plan.node_class.platform.name]
    return [written[name] for name in written if _OF_MECHANISMS.get(name, mechanism) == mechanism]


def lacking(plan: NodePlan) -> list[Component]:
    """The components that Kubernetes has and the platform of a plan has not.

    The kubelet's unit follows from the others where a platform brings its own.
    """
    own = COMPONENTS[plan.node_class.platform.name]
    others = COMPONENTS["kubernetes"]
    return [others[name] for name in others if name not in own and name != "kubeletunit"]
