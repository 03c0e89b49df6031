"""The kinds that are emitted: how an API server calls them, and which defaults it adds.

CRDs of OpenShift's operators are recorded (vectors/nto/crd). Of others only the defaults are known,
as their CRDs had them in 2026: NodeWright 71ca22b, nri-plugins 0705acc.
"""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from tests.projects import SHARED

RECORDED = SHARED / "vectors" / "nto" / "crd"


class Kind(NamedTuple):
    """One kind of an API version."""

    api: str
    name: str
    plural: str
    is_namespaced: bool = False

    @property
    def group(self) -> str:
        return self.api.rpartition("/")[0]

    @property
    def version(self) -> str:
        return self.api.rpartition("/")[2]


#: What every API server has.
BUILT_IN = {
    "ClusterRole": "clusterroles",
    "ClusterRoleBinding": "clusterrolebindings",
    "ConfigMap": "configmaps",
    "DaemonSet": "daemonsets",
    "DeviceClass": "deviceclasses",
    "Job": "jobs",
    "MutatingAdmissionPolicy": "mutatingadmissionpolicies",
    "MutatingAdmissionPolicyBinding": "mutatingadmissionpolicybindings",
    "Namespace": "namespaces",
    "NetworkPolicy": "networkpolicies",
    "Node": "nodes",
    "Role": "roles",
    "RoleBinding": "rolebindings",
    "RuntimeClass": "runtimeclasses",
    "ServiceAccount": "serviceaccounts",
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
}
#: What CRDs bring.
CUSTOM = {
    "BalloonsPolicy": "balloonspolicies",
    "ClusterColocationProfile": "clustercolocationprofiles",
    "KubeadmConfigTemplate": "kubeadmconfigtemplates",
    "KubeletConfig": "kubeletconfigs",
    "MachineConfig": "machineconfigs",
    "MachineConfigPool": "machineconfigpools",
    "PerformanceProfile": "performanceprofiles",
    "PodMonitor": "podmonitors",
    "PrometheusRule": "prometheusrules",
    "SecurityContextConstraints": "securitycontextconstraints",
    "Skyhook": "skyhooks",
    "TopologyAwarePolicy": "topologyawarepolicies",
    "Tuned": "tuneds",
}
#: Fields with a default, by API version and kind; `[]` stands for each item of a list.
_DEFAULTS: dict[tuple[str, str], dict[str, Any]] = {
    ("config.nri/v1alpha1", "BalloonsPolicy"): {
        "spec.agent": {"nodeResourceTopology": True},
        "spec.balloonTypes[].allocatorPriority": "high",
        "spec.balloonTypes[].preferIsolCpus": False,
        "spec.controllableInterrupts": ["*"],
        "spec.pinCPU": True,
        "spec.pinMemory": True,
        "spec.turboDomain": "package",
    },
    ("config.nri/v1alpha1", "TopologyAwarePolicy"): {
        "spec.agent": {"nodeResourceTopology": True},
        "spec.controllableInterrupts": ["*"],
        "spec.defaultCPUPriority": "none",
        "spec.pinCPU": True,
        "spec.pinMemory": True,
        "spec.preferIsolatedCPUs": True,
        "spec.unlimitedBurstable": "package",
    },
    ("skyhook.nvidia.com/v1alpha1", "Skyhook"): {
        "spec.autoTaintNewNodes": False,
        "spec.priority": 200,
        "spec.runtimeRequired": False,
        "spec.sequencing": "node",
        "spec.serial": False,
    },
}
#: Defaults that the API server adds to emitted objects, and why they are no difference in meaning.
#: Server-side apply leaves them to the server, so that no sync changes them.
ADDED = {
    # What the plugin does where it knows no such field: releases before these fields.
    "BalloonsPolicy": {
        "spec.balloonTypes[].preferIsolCpus",
        "spec.controllableInterrupts",
        "spec.turboDomain",
    },
    # 4k is the page size of every kernel that no `kernel.pageSize` asks for.
    "PerformanceProfile": {"spec.kernelPageSize"},
    # One object for each class, in no order to others.
    "Skyhook": set(_DEFAULTS["skyhook.nvidia.com/v1alpha1", "Skyhook"]),
}


def kind_of(data: Mapping[str, Any]) -> Kind:
    """The kind of an object."""
    name, api = str(data["kind"]), str(data["apiVersion"])
    plural = BUILT_IN.get(name) or CUSTOM[name]
    return Kind(api, name, plural, bool(data["metadata"].get("namespace")))


@cache
def schemas() -> dict[tuple[str, str], dict[str, Any]]:
    """The schemas of recorded CRDs, by API version and kind."""
    by_kind = {}
    for path in sorted(RECORDED.glob("*.schema.json")):
        data = json.loads(path.read_text())
        by_kind[f"{data['group']}/{data['version']}", str(data["kind"])] = data["openAPIV3Schema"]
    return by_kind


def defaults(data: Mapping[str, Any]) -> dict[str, Any]:
    """Fields with a default of an object's kind."""
    key = str(data["apiVersion"]), str(data["kind"])
    if key in schemas():
        return dict(_of_schema(schemas()[key], ""))
    return _DEFAULTS.get(key, {})


def _of_schema(schema: Mapping[str, Any], at: str) -> Iterator[tuple[str, Any]]:
    if "default" in schema:
        yield at.removeprefix("."), schema["default"]
    for name, below in (schema.get("properties") or {}).items():
        if at or name == "spec":
            yield from _of_schema(below, f"{at}.{name}")
    if isinstance(schema.get("items"), dict):
        yield from _of_schema(schema["items"], f"{at}[]")


def additions(data: Mapping[str, Any]) -> set[str]:
    """The fields with a default that an object lacks: of a parent that is there."""
    return {path for path in defaults(data) if any(_misses(data, path.split(".")))}


def _misses(value: Any, parts: list[str]) -> Iterator[bool]:
    """For each parent that an object has, whether it lacks the field."""
    name, *rest = parts
    if not isinstance(value, Mapping):
        return
    if not rest:
        yield name not in value
    elif name.endswith("[]"):
        for item in value.get(name.removesuffix("[]"), ()):
            yield from _misses(item, rest)
    elif name in value:
        yield from _misses(value[name], rest)


def definition(kind: Kind) -> dict[str, Any]:
    """The CRD of a kind; of one without a recorded schema, with any fields."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = schemas().get((kind.api, kind.name), anything)
    version = {
        "name": kind.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    names = {"kind": kind.name, "plural": kind.plural, "listKind": f"{kind.name}List"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{kind.group}"},
        "spec": {
            "group": kind.group,
            "names": {**names, "singular": kind.name.lower()},
            "scope": "Namespaced" if kind.is_namespaced else "Cluster",
            "versions": [version],
        },
    }
