"""The kinds of objects that are read of a cluster, and where its API has them."""

from typing import NamedTuple

#: Groups of OpenShift's operators.
_MCO, _NTO = "machineconfiguration.openshift.io", "tuned.openshift.io"
_ADMISSION = "admissionregistration.k8s.io"


class Kind(NamedTuple):
    """The path of a kind in the API; `group` is empty for the core."""

    group: str
    plural: str
    is_namespaced: bool = False


KINDS = {
    "Node": Kind("", "nodes"),
    "Namespace": Kind("", "namespaces"),
    "ConfigMap": Kind("", "configmaps", is_namespaced=True),
    "Pod": Kind("", "pods", is_namespaced=True),
    "RuntimeClass": Kind("node.k8s.io", "runtimeclasses"),
    "MutatingAdmissionPolicy": Kind(_ADMISSION, "mutatingadmissionpolicies"),
    "MutatingAdmissionPolicyBinding": Kind(_ADMISSION, "mutatingadmissionpolicybindings"),
    "ValidatingAdmissionPolicy": Kind(_ADMISSION, "validatingadmissionpolicies"),
    "ValidatingAdmissionPolicyBinding": Kind(_ADMISSION, "validatingadmissionpolicybindings"),
    "MachineConfig": Kind(_MCO, "machineconfigs"),
    "MachineConfigPool": Kind(_MCO, "machineconfigpools"),
    "KubeletConfig": Kind(_MCO, "kubeletconfigs"),
    "PerformanceProfile": Kind("performance.openshift.io", "performanceprofiles"),
    "Tuned": Kind(_NTO, "tuneds", is_namespaced=True),
    "BalloonsPolicy": Kind("config.nri", "balloonspolicies", is_namespaced=True),
    "DeviceClass": Kind("resource.k8s.io", "deviceclasses"),
    "ResourceSlice": Kind("resource.k8s.io", "resourceslices"),
    "TopologyAwarePolicy": Kind("config.nri", "topologyawarepolicies", is_namespaced=True),
    "ClusterColocationProfile": Kind("config.koordinator.sh", "clustercolocationprofiles"),
    "NodeResourceTopology": Kind("topology.node.k8s.io", "noderesourcetopologies"),
}


def words(kind: str) -> str:
    """What a command or a message calls the objects of a kind."""
    return KINDS[kind].plural if kind in KINDS else f"objects of kind {kind}"
