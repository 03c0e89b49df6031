"""What all backends share: Kubernetes objects as files, and what Argo CD must know of them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

from cpuplan.backends.tree import NodeFile
from cpuplan.base.emit import to_yaml
from cpuplan.components.base import Component
from cpuplan.diagnostics import Diagnostic
from cpuplan.diagnostics.source import Locate
from cpuplan.plan import ConfiguredPlan
from cpuplan.plan.setting import Value

#: Cluster and name of a class, and facts of its expected state.
Key: TypeAlias = tuple[str, str]
Facts: TypeAlias = Mapping[str, Value]
#: Files by path below `out/`.
Files = dict[str, bytes]

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

    #: The components whose settings it writes, in the order in which they are printed.
    COMPONENTS: tuple[Component, ...]
    #: Absolute paths of files that lie elsewhere on other platforms, by component.
    PATHS: Mapping[str, str]

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

    def expected_of_cluster(self, plans: Sequence[ConfiguredPlan]) -> Mapping[str, bytes]:
        """Further expectations about a cluster, by path below `expected/`."""

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
