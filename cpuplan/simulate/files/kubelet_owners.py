"""Whose a document for kubelets is, and what its program refuses of its form."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from cpuplan.base.text import joined, nearest
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Field, Source
from cpuplan.upstream.kubelet.config.types import API_VERSION, KIND

KUBELET_GROUP = API_VERSION.partition("/")[0]
#: Other kinds of the kubelet's group, which are files of their own.
_OTHER_KINDS = ("CredentialProviderConfig", "SerializedNodeConfigSource")
EXTRA_ARGS = "kubeletExtraArgs"
KUBELET_ARG = "kubelet-arg"
#: Options of a server or agent of K3s and RKE2 (docs.k3s.io, cli/server and cli/agent).
_RANCHER = frozenset(
    {
        "agent-token",
        "cluster-cidr",
        "cluster-init",
        "cni",
        "data-dir",
        "disable",
        "etcd-expose-metrics",
        "flannel-backend",
        "kube-apiserver-arg",
        "kube-proxy-arg",
        "node-ip",
        "node-label",
        "node-name",
        "node-taint",
        "profile",
        "protect-kernel-defaults",
        "selinux",
        "server",
        "service-cidr",
        "tls-san",
        "token",
        "write-kubeconfig-mode",
    }
)


class Owner(StrEnum):
    """Whose a document is; the text is for people."""

    KUBELET = "the kubelet"
    CONFIGZ = "the kubelet (configz)"
    CONFIG_MAP = "the kubelet (ConfigMap)"
    LIST = "the kubelet (List)"
    KUBEADM = "kubeadm"
    PATCH = "kubeadm (a patch)"
    KIND = "kind"
    CLUSTER_API = "Cluster API"
    EKS = "EKS"
    TALOS = "Talos"
    RANCHER = "K3s or RKE2"
    MICROK8S = "MicroK8s"
    BOTTLEROCKET = "Bottlerocket"
    FLAGS = "flags of a kubelet"


class _Api(NamedTuple):
    """The kinds and versions of a group that its program knows; of `None` every version."""

    kinds: tuple[str, ...]
    versions: tuple[str, ...] | None


#: kubernetes cmd/kubeadm/app/apis/kubeadm, kind pkg/apis/config, amazon-eks-ami nodeadm/api.
_APIS = {
    Owner.KUBEADM: _Api(
        (
            "InitConfiguration",
            "ClusterConfiguration",
            "JoinConfiguration",
            "ResetConfiguration",
            "UpgradeConfiguration",
            "ClusterStatus",
        ),
        ("v1beta1", "v1beta2", "v1beta3", "v1beta4"),
    ),
    Owner.KIND: _Api(("Cluster",), ("v1alpha3", "v1alpha4")),
    Owner.EKS: _Api(("NodeConfig",), ("v1alpha1",)),
}
#: Versions whose kubeletExtraArgs are a list of names and values; in those before it is a map.
_WITH_LISTS = {Owner.KUBEADM: ("v1beta4",), Owner.CLUSTER_API: ("v1beta2",)}
_WITH_MAPS = {
    Owner.KUBEADM: ("v1beta1", "v1beta2", "v1beta3"),
    Owner.CLUSTER_API: ("v1alpha3", "v1alpha4", "v1beta1"),
}


def is_configuration(data: Any) -> bool:
    """Whether a document is a KubeletConfiguration, of whatever version or misspelt kind."""
    if not isinstance(data, dict):
        return False
    version, kind = str(data.get("apiVersion", KUBELET_GROUP)), data.get("kind")
    if not version.startswith(KUBELET_GROUP):
        return False
    return kind == KIND or ("apiVersion" in data and kind not in _OTHER_KINDS)


def owner_of(data: Any) -> Owner | None:
    """Whose document it is; None where that is not known."""
    if not isinstance(data, dict):
        return None
    group, kind = str(data.get("apiVersion", "")), data.get("kind")
    rows: tuple[tuple[bool, Owner], ...] = (
        (is_configuration(data), Owner.KUBELET),
        (isinstance(data.get("kubeletconfig"), dict), Owner.CONFIGZ),
        (group.startswith("kubeadm.k8s.io/"), Owner.KUBEADM),
        (group.startswith("kind.x-k8s.io/"), Owner.KIND),
        ("cluster.x-k8s.io/" in group, Owner.CLUSTER_API),
        (group.startswith("node.eks.aws/"), Owner.EKS),
        (group == "v1" and kind == "ConfigMap" and bool(texts_of(data)), Owner.CONFIG_MAP),
        (kind == "List" and any(map(owner_of, items_of(data))), Owner.LIST),
        (not group and isinstance(data.get("machine"), dict), Owner.TALOS),
        (not group and not kind and _is_of_rancher(data), Owner.RANCHER),
    )
    return next((owner for is_so, owner in rows if is_so), None)


def _is_of_rancher(data: Mapping[str, Any]) -> bool:
    names = {str(name).removesuffix("+") for name in data}
    return KUBELET_ARG in names or (bool(names) and names <= _RANCHER)


def items_of(data: Mapping[str, Any]) -> list[Any]:
    """The objects of a List."""
    items = data.get("items")
    return items if isinstance(items, list) else []


def texts_of(data: Mapping[str, Any]) -> list[str]:
    """The keys of a ConfigMap below which a KubeletConfiguration stands."""
    entries = data.get("data")
    if not isinstance(entries, dict):
        return []
    return [name for name, value in entries.items() if isinstance(value, str) and KIND in value]


def faults(source: Source) -> Iterator[Diagnostic]:
    """CP1566 for a document that its program does not know."""
    data: Any = source.data
    owner = owner_of(data)
    api = _APIS.get(owner) if owner else None
    if api is None:
        return
    version, kind = str(data["apiVersion"]).partition("/")[2], str(data.get("kind"))
    if kind not in api.kinds:
        near = nearest(kind, api.kinds)
        hint = f"did you mean {near!r}?" if near else f"write one of {joined(api.kinds)}"
        place = source.value_at(("kind",))
        yield diagnose("CP1566", place, owner=owner, what=f"no kind {kind}", hint=hint)
    if api.versions and version not in api.versions:
        hint = f"write one of {joined(api.versions)}"
        place = source.value_at(("apiVersion",))
        yield diagnose("CP1566", place, owner=owner, what=f"no version {version}", hint=hint)


def form_fault(source: Source, field: Field, value: Any) -> Diagnostic | None:
    """CP1567 for kubeletExtraArgs in the form of another version."""
    data: Any = source.data
    owner, version = owner_of(data), str(data.get("apiVersion", "")).partition("/")[2]
    if owner is None:
        return None
    is_list = isinstance(value, list)
    wrong = _WITH_MAPS if is_list else _WITH_LISTS
    if version not in wrong.get(owner, ()):
        return None
    form = "a map of names and values" if is_list else "a list of entries with name and value"
    version = str(data["apiVersion"])
    return diagnose("CP1567", source.key_at(field), version=version, form=form)
