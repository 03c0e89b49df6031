"""What all backends share: Kubernetes objects as files, nodes' files, and what is known of each."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

from cpuplan.base import yaml_values
from cpuplan.base.emit import to_yaml
from cpuplan.diagnostics import Diagnostic
from cpuplan.diagnostics.source import Locate
from cpuplan.fleet.targets import HOST
from cpuplan.plan import ConfiguredPlan
from cpuplan.plan.setting import Value

NAMESPACED_KINDS = (
    ("", "ConfigMap"),
    ("bootstrap.cluster.x-k8s.io", "KubeadmConfigTemplate"),
    ("config.nri", "BalloonsPolicy"),
    ("config.nri", "TopologyAwarePolicy"),
    ("tuned.openshift.io", "Tuned"),
)
CLUSTER_KINDS = (
    ("", "Namespace"),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
    ("machineconfiguration.openshift.io", "KubeletConfig"),
    ("machineconfiguration.openshift.io", "MachineConfig"),
    ("machineconfiguration.openshift.io", "MachineConfigPool"),
    ("node.k8s.io", "RuntimeClass"),
    ("performance.openshift.io", "PerformanceProfile"),
    ("resource.k8s.io", "DeviceClass"),
    ("skyhook.nvidia.com", "Skyhook"),
)
#: The same where Koordinator gives CPUs to pods.
KOORDINATOR_KINDS = (
    ("", "Node"),
    ("config.koordinator.sh", "ClusterColocationProfile"),
)
#: The same where a cluster verifies its nodes.
VERIFY_KINDS = (
    ("", "ServiceAccount"),
    ("apps", "DaemonSet"),
    ("batch", "Job"),
    ("monitoring.coreos.com", "PodMonitor"),
    ("monitoring.coreos.com", "PrometheusRule"),
    ("networking.k8s.io", "NetworkPolicy"),
    ("rbac.authorization.k8s.io", "Role"),
    ("rbac.authorization.k8s.io", "RoleBinding"),
)
VERIFY_CLUSTER_KINDS = (
    ("rbac.authorization.k8s.io", "ClusterRole"),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
    ("security.openshift.io", "SecurityContextConstraints"),
)


class NodeFile(NamedTuple):
    """A file of a node's root file system.

    Git keeps no mode of files below `out/`, so that units run scripts by their shell, and 0755
    is for what other programs run.
    """

    data: bytes
    mode: int = 0o644
    #: The name of the component whose settings it has.
    component: str = ""

    @property
    def text(self) -> str:
        """Its content; all files are text."""
        return self.data.decode()

    @property
    def permissions(self) -> str:
        """Its mode as `chmod` reads it."""
        return f"{self.mode:04o}"


class NodeTree(NamedTuple):
    """The content of a node of one class."""

    #: By absolute path, in the order of the paths; nothing of a boot loader.
    files: Mapping[str, NodeFile]
    #: The words of the kernel command line that are added to what the node boots with.
    arguments: tuple[str, ...]
    #: Names of units that are enabled; others are started by units, or by udev.
    enabled: tuple[str, ...]
    #: The KubeletConfiguration of the kubelet's drop-in, which is among the files too.
    kubelet: Mapping[str, Any]
    #: Whether the operating system may read /etc/default/grub.d.
    has_grub_folder: bool = True

    def moved(self, old: str, new: str) -> "NodeTree":
        """The same with the files below `old` in `new`, also where other files name them."""
        before, after = f"{old}/".encode(), f"{new}/".encode()
        files = {
            path.replace(f"{old}/", f"{new}/", 1) if path.startswith(f"{old}/") else path: (
                file._replace(data=file.data.replace(before, after))
            )
            for path, file in self.files.items()
        }
        return self._replace(files=dict(sorted(files.items())))


#: Cluster and name of a class, and facts of its expected state.
Key: TypeAlias = tuple[str, str]
Facts: TypeAlias = Mapping[str, Value]
#: Files by path below `out/`.
Files = dict[str, bytes]

#: The policies for claims of devices begin with it.
DRA_POLICY = "cpuplan-dra-partitions"

#: Waves within a cluster. KubeletConfig and MachineConfig share one, so that nodes reboot once.
#: Namespaces are opened last, when pods that ask for shared CPUs are checked.
POOL_WAVE, NODE_WAVE, POLICY_WAVE, NAMESPACE_WAVE = -10, 0, 10, 20


class Manifest(NamedTuple):
    """A Kubernetes object and the file name that it gets in the cluster's folder."""

    file: str
    data: dict[str, Any]
    #: The comment at the beginning of its file.
    comment: str = ""
    #: Whether it belongs into the cluster that hosts the control plane of the nodes' own.
    is_for_host: bool = False


class Object(NamedTuple):
    """A manifest as it is written, and what Kustomize, Argo CD and Flux know it by."""

    file: str
    text: bytes
    api: str
    kind: str
    name: str
    #: "" of objects without one.
    namespace: str
    is_for_host: bool


class Backend(Protocol):
    """A module of this package: what platforms need of one class of nodes."""

    def check(self, plan: ConfiguredPlan, locate: Locate) -> Iterator[Diagnostic]:
        """What its objects and files cannot say."""

    def manifests(self, plan: ConfiguredPlan) -> Iterator[Manifest]:
        """Objects for the cluster's API."""

    def node_files(self, plan: ConfiguredPlan) -> Mapping[str, bytes]:
        """Files for the root file system of each node, by path; empty where objects bring them."""

    def on_node(self, plan: ConfiguredPlan) -> Mapping[str, NodeFile]:
        """Files of each node as they must lie there, whoever writes them, by absolute path."""

    def delivered(self, plan: ConfiguredPlan) -> Mapping[str, bytes]:
        """The same files in other forms, which its target asks for, by path below `out/`."""

    def expected(self, plan: ConfiguredPlan) -> Iterator[Manifest]:
        """What operators will make of the manifests: for reviews and checkers, never synced."""

    def check_cluster(
        self, plans: Sequence[ConfiguredPlan], locate: Locate
    ) -> Iterator[Diagnostic]:
        """What the objects of one cluster do to each other."""

    def expected_of_cluster(self, plans: Sequence[ConfiguredPlan]) -> Mapping[Key, Files]:
        """Further expectations about each class of a cluster, by path below `expected/`."""

    def facts_of_cluster(self, plans: Sequence[ConfiguredPlan]) -> Mapping[Key, Facts]:
        """What the objects of one cluster become together, as facts of each class, by its key."""


def to_file(data: dict[str, Any]) -> bytes:
    """An object as the bytes of its file."""
    return to_yaml(data).encode()


def object_of(manifest: Manifest) -> Object:
    """An object with the bytes of its file."""
    data, metadata = manifest.data, manifest.data["metadata"]
    return Object(
        manifest.file,
        to_file(data),
        str(data["apiVersion"]),
        str(data["kind"]),
        str(metadata["name"]),
        str(metadata.get("namespace", "")),
        manifest.is_for_host,
    )


#: Removing one of our objects reboots nodes, lets pods fail, or opens what a policy closed: Argo CD
#: asks first.
SYNC_OPTIONS = "argocd.argoproj.io/sync-options"
CONFIRM = ("Prune=confirm", "Delete=confirm")
#: Where the kind of an object is not served, since its operator is not installed yet, the object
#: fails by itself, in its wave, and not the whole sync beforehand.
MAY_BE_MISSING = "SkipDryRunOnMissingResource=true"


#: The same of an object that is not ours, of which we set some fields: it stays whatever happens
#: in Git, and other writers keep their fields.
_OF_OTHERS = ("Prune=false", "Delete=false", "ServerSideApply=true")


def of_others(wave: int, options: str = "") -> dict[str, str]:
    """Annotations of an object that somebody else created; `options` are further ones."""
    return {
        "argocd.argoproj.io/sync-wave": str(wave),
        SYNC_OPTIONS: ",".join((*_OF_OTHERS, options) if options else _OF_OTHERS),
        "kustomize.toolkit.fluxcd.io/prune": "disabled",
        "kustomize.toolkit.fluxcd.io/ssa": "Merge",
    }


def metadata(
    name: str, wave: int, *, labels: Mapping[str, str] | None = None, options: str = ""
) -> dict[str, Any]:
    """Metadata of an object that is only removed after confirmation.

    `options` are further ones for its sync.
    """
    annotations = {
        "argocd.argoproj.io/sync-wave": str(wave),
        SYNC_OPTIONS: ",".join((*CONFIRM, options) if options else CONFIRM),
    }
    made: dict[str, Any] = {"name": name, "annotations": annotations}
    if labels:
        made["labels"] = dict(labels)
    return made


class Managed(NamedTuple):
    """One object."""

    #: The cluster whose folder it is in, and the one that it belongs into.
    cluster: str
    destination: str
    api: str
    kind: str
    name: str
    #: "" of objects without one.
    namespace: str = ""

    @property
    def group(self) -> str:
        """The API group; "" for the core."""
        return self.api.rpartition("/")[0]

    @property
    def group_kind(self) -> tuple[str, str]:
        """API group and kind."""
        return self.group, self.kind

    @property
    def is_for_host(self) -> bool:
        """Whether it belongs into the cluster that hosts the control plane of another."""
        return self.cluster != self.destination


def of_objects(
    cluster: str, host: str, objects: Iterable[Object], kept: Mapping[str, bytes]
) -> Iterator[Managed]:
    """The objects of a cluster; `kept` are the files of paused classes, by path."""
    for manifest in objects:
        destination = host if manifest.is_for_host else cluster
        yield Managed(
            cluster, destination, manifest.api, manifest.kind, manifest.name, manifest.namespace
        )
    for path, data in kept.items():
        if "/manifests/" in path:
            destination = host if f"/{HOST}/" in path else cluster
            for document in yaml_values.load_yaml11(data.decode()):
                yield _managed(cluster, destination, document)


def _managed(cluster: str, destination: str, data: Mapping[str, Any]) -> Managed:
    metadata = data["metadata"]
    return Managed(
        cluster,
        destination,
        str(data["apiVersion"]),
        str(data["kind"]),
        str(metadata["name"]),
        str(metadata.get("namespace", "")),
    )
