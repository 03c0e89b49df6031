"""The kinds of objects that are read of a cluster, where its API has them, and of which types the
fields are that are read of them.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from cpuplan.base.served.json import (
    AMOUNT,
    FLAG,
    MAPPING,
    TEXT,
    TEXTS,
    WHOLE,
    Entries,
    Items,
    Shape,
    misfit,
    path_of,
)

#: Groups of OpenShift's operators.
_MCO, _NTO = "machineconfiguration.openshift.io", "tuned.openshift.io"
_ADMISSION = "admissionregistration.k8s.io"


class Kind(NamedTuple):
    """The path of a kind in the API; `group` is empty for the core."""

    group: str
    plural: str
    is_namespaced: bool = False

    @property
    def resource(self) -> str:
        """As kubectl takes it: `runtimeclasses.node.k8s.io`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


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


_METADATA: Shape = {
    "name": TEXT,
    "namespace": TEXT,
    "labels": TEXTS,
    "annotations": TEXTS,
    "generation": WHOLE,
}
_CONDITIONS: Shape = Items({"type": TEXT, "status": TEXT, "message": TEXT})
_CONFIGURATION: Shape = {"name": TEXT, "source": Items({"name": TEXT})}
_IGNITION: Shape = {
    "storage": {
        "files": Items(
            {"path": TEXT, "mode": WHOLE, "contents": {"source": TEXT, "compression": TEXT}}
        )
    },
    "systemd": {"units": Items({"name": TEXT, "enabled": FLAG, "mask": FLAG, "contents": TEXT})},
}
#: What is read of an object beside its metadata. Other kinds are compared value by value.
_SHAPES: Mapping[str, Mapping[str, Shape]] = {
    "Node": {"status": {"capacity": Entries(AMOUNT), "allocatable": Entries(AMOUNT)}},
    "Pod": {"spec": {"nodeName": TEXT}, "status": {"phase": TEXT}},
    "MachineConfig": {
        "spec": {"config": _IGNITION, "kernelArguments": Items(TEXT), "kernelType": TEXT}
    },
    "MachineConfigPool": {
        "spec": {"paused": FLAG, "configuration": _CONFIGURATION},
        "status": {
            "conditions": _CONDITIONS,
            "configuration": {"name": TEXT},
            "observedGeneration": WHOLE,
            "machineCount": WHOLE,
            "updatedMachineCount": WHOLE,
        },
    },
    "KubeletConfig": {"status": {"conditions": _CONDITIONS}},
    "PerformanceProfile": {"status": {"conditions": _CONDITIONS}},
    "NodeResourceTopology": {
        "zones": Items({"name": TEXT}),
        "attributes": Items({"name": TEXT}),
        "topologyPolicies": Items(TEXT),
    },
    "ResourceSlice": {
        "spec": {
            "driver": TEXT,
            "pool": {"name": TEXT, "generation": WHOLE, "resourceSliceCount": WHOLE},
            "devices": Items({"name": TEXT, "attributes": Entries(MAPPING)}),
        }
    },
}


def wrong_in(kind: str, data: Any) -> str:
    """What no API server says of an object of a kind; empty where nothing is wrong."""
    shape: Shape = {"metadata": _METADATA, **_SHAPES.get(kind, {})}
    if data is None:
        return "it is null"
    found = misfit(data, shape)
    if found:
        place, problem = found
        return f"{path_of(place) or 'it'} is {problem}"
    return "" if (data.get("metadata") or {}).get("name") else "it has no name"
