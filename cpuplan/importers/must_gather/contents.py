"""The images of a must-gather: nodes by their snapshots, Node objects, and facts of the cluster."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, get_args

from cpuplan.base import naming
from cpuplan.base.naming import is_subdomain
from cpuplan.base.progress import follow
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.fleet import cluster_objects, given_tuneds
from cpuplan.fleet.cluster_objects import name_of
from cpuplan.fleet.openshift import CUSTOM, feature_gates
from cpuplan.importers import data, objects
from cpuplan.importers.base import Imported, Node, NodeObject
from cpuplan.importers.must_gather import NODES, SNAPSHOT, images, snapshot_path
from cpuplan.importers.packed_files import ArchiveError
from cpuplan.importers.sysroot import reader as sysroot
from cpuplan.importers.trees import FolderTree, TarTree
from cpuplan.language.model.base import FeatureSet

INFRASTRUCTURES = (
    "cluster-scoped-resources/config.openshift.io/infrastructures/cluster.yaml",
    "cluster-scoped-resources/config.openshift.io/infrastructures.yaml",
)
FEATURE_GATES = (
    "cluster-scoped-resources/config.openshift.io/featuregates/cluster.yaml",
    "cluster-scoped-resources/config.openshift.io/featuregates.yaml",
)
#: Node objects of the API group config.openshift.io: there is one, for all nodes.
NODE_CONFIGS = (
    "cluster-scoped-resources/config.openshift.io/nodes/cluster.yaml",
    "cluster-scoped-resources/config.openshift.io/nodes.yaml",
)
#: Those that a document can state; of others nothing is known here.
_FEATURE_SETS = get_args(FeatureSet)
#: The cluster's name is the first label of its domain.
_API_SERVER = re.compile(r"https://api\.([^.:/]{1,253})\.")


def cluster_name(tree: FolderTree) -> tuple[str | None, str]:
    """The name by the address of the API server, else by the infrastructure; and its source."""
    for path in INFRASTRUCTURES:
        document = load(tree, path)
        objects = data.items(document.get("items")) or [document]
        status = data.mapping(objects[0].get("status"))
        url, name = status.get("apiServerURL"), status.get("infrastructureName")
        source = "the Infrastructure object"
        match = _API_SERVER.match(url) if isinstance(url, str) else None
        if match:
            name, source = match[1], f"the API server's address {url}"
        if isinstance(name, str) and name:
            return name.lower(), source
    return None, ""


def facts(tree: FolderTree) -> dict[str, Any]:
    """The spec of a Cluster document: the feature set and version of cgroups, where stated."""
    return {**_feature_set(tree), **_cgroup_mode(tree)}


def _cgroup_mode(tree: FolderTree) -> dict[str, Any]:
    for item in _objects(tree, NODE_CONFIGS):
        mode = data.mapping(item.get("spec")).get("cgroupMode")
        if mode in ("v1", "v2"):
            return {"cgroupMode": mode}
    return {}


def _objects(tree: FolderTree, paths: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The object of a kind with one object, as one file or as a list."""
    for path in paths:
        document = load(tree, path)
        yield (data.items(document.get("items")) or [document])[0]


def _feature_set(tree: FolderTree) -> dict[str, Any]:
    for item in _objects(tree, FEATURE_GATES):
        name, enabled = feature_gates(item)
        if name in _FEATURE_SETS:
            gates = {"enabledFeatureGates": list(enabled)} if name == CUSTOM else {}
            return {"featureSet": name, **gates}
    return {}


def node_objects(
    tree: FolderTree, cluster: str | None, diagnostics: list[Diagnostic]
) -> Iterator[NodeObject]:
    """The Node objects; what is wrong with a file goes to `diagnostics`."""
    for name in tree.names(NODES):
        if name.endswith(".yaml"):
            node = objects.read_node(load(tree, f"{NODES}/{name}", diagnostics), cluster)
            if node:
                yield node


def load(
    tree: FolderTree, path: str, diagnostics: list[Diagnostic] | None = None
) -> dict[str, Any]:
    """The object in a YAML file; {} if it is missing or damaged."""
    text = tree.read(path)
    if text is None:
        return {}
    try:
        documents = data.parse(text)
    except data.DataError as error:
        if diagnostics is not None:
            place = f"{tree.name}/{path}"
            shown = data.clip(text)
            diagnostics.append(diagnose("CP125", path=place, text=shown, problem=str(error)))
        return {}
    return data.mapping(documents[0] if documents else None)


_FOLDER = "cluster-scoped-resources/machineconfiguration.openshift.io"
_CONFIGURATIONS = "cluster-scoped-resources/operator.openshift.io/machineconfigurations"
_CONFIGURATION = "cluster.yaml"


def foreign_facts(tree: FolderTree, diagnostics: list[Diagnostic]) -> dict[str, Any]:
    """Fields of the Cluster document; a kind of object that the must-gather lacks is left out."""
    fields: dict[str, Any] = {}
    for kind, known in cluster_objects.KINDS.items():
        folder = f"{kind.lower()}s"
        if tree.names(f"{_FOLDER}/{folder}"):
            items = sorted(_objects_below(tree, folder, diagnostics), key=_created)
            fields[known.field] = [
                cluster_objects.entry(kind, item)
                for item in items
                if known.is_foreign({"kind": kind} | item)
            ]
    if tree.names(_CONFIGURATIONS):
        fields |= _disruption_policy(tree, diagnostics)
    return fields | _tuneds(tree, diagnostics)


def _disruption_policy(tree: FolderTree, diagnostics: list[Diagnostic]) -> dict[str, Any]:
    """What a user states; the operator's own policies are in the status."""
    if _CONFIGURATION not in tree.names(_CONFIGURATIONS):
        return {}
    item = load(tree, f"{_CONFIGURATIONS}/{_CONFIGURATION}", diagnostics)
    given = data.mapping(data.mapping(item.get("spec")).get("nodeDisruptionPolicy"))
    stated = {name: given.get(name) for name in ("files", "units", "sshkey")}
    sections = {name: section for name, section in stated.items() if section}
    return {"nodeDisruptionPolicy": sections} if sections else {}


def _objects_below(
    tree: FolderTree, folder: str, diagnostics: list[Diagnostic]
) -> Iterator[dict[str, Any]]:
    for name in tree.names(f"{_FOLDER}/{folder}"):
        if name.endswith(".yaml"):
            yield load(tree, f"{_FOLDER}/{folder}/{name}", diagnostics)


def _created(item: dict[str, Any]) -> tuple[str, str]:
    """Its place in the order of creation, which decides between KubeletConfigs."""
    stamp = data.mapping(item.get("metadata")).get("creationTimestamp")
    return str(stamp or ""), name_of(item)


_TUNEDS = "namespaces/openshift-cluster-node-tuning-operator/tuned.openshift.io/tuneds"


def _tuneds(tree: FolderTree, diagnostics: list[Diagnostic]) -> dict[str, Any]:
    """Tuned objects, in the order of their names."""
    names = [name for name in tree.names(_TUNEDS) if name.endswith(".yaml")]
    items = [load(tree, f"{_TUNEDS}/{name}", diagnostics) for name in names]
    foreign = [item for item in items if given_tuneds.is_foreign(item)]
    return {given_tuneds.FIELD: [given_tuneds.entry(item)[0] for item in foreign]} if names else {}


class _Collection(NamedTuple):
    """The images of one must-gather, and what they say of its cluster."""

    folder: Path
    trees: list[FolderTree]
    cluster: str | None
    source: str
    home: str  # what its cluster is called where nothing says the name


def read(path: Path) -> Imported:
    """Read every node. Of a node in two images, the first in the order of names counts."""
    read = [_read(collection) for collection in _collections(path)]
    diagnostics = [problem for part in read for problem in part.diagnostics]
    nodes = [node for part in read for node in part.nodes]
    if not nodes and not diagnostics:
        diagnostics.append(diagnose("CP124", path=path))
    return Imported(
        tuple(nodes),
        tuple(remark for part in read for remark in part.remarks),
        tuple(diagnostics),
        tuple(known for part in read for known in part.objects),
    )


def _collections(path: Path) -> Iterator[_Collection]:
    """The must-gathers at `path`: the images in one folder are parts of one, and of one cluster."""
    folders: dict[Path, list[Path]] = {}
    for image in images(path):
        folders.setdefault(path if image == path else image.parent, []).append(image)
    for folder, parts in folders.items():
        trees = [FolderTree(image) for image in parts]
        named = [known for known in map(cluster_name, trees) if known[0] is not None]
        cluster, source = named[0] if named else (None, "")
        yield _Collection(folder, trees, cluster, source, _home(folder))


def _home(folder: Path) -> str:
    """The name of the folder, which is all that tells two clusters without names apart."""
    name = folder.resolve().name
    return naming.name_from(name, "default", naming.LONGEST_LABEL, dots=False)


def _read(collection: _Collection) -> Imported:
    nodes: dict[str, Node] = {}
    objects: dict[str, NodeObject] = {}
    remarks: list[str] = []
    diagnostics: list[Diagnostic] = []
    cluster, source = collection.cluster, collection.source
    origin = str(collection.folder)
    if cluster is None:
        source = f"the folder {collection.folder.resolve().name} of its must-gather"
        remarks.append(
            f"{collection.folder} does not contain the cluster's name: "
            "its Infrastructure object has none, or is missing"
        )
    for tree in collection.trees:
        stated = {**facts(tree), **foreign_facts(tree, diagnostics)}
        for known in node_objects(tree, cluster, diagnostics):
            objects.setdefault(known.name, known._replace(origin=origin))
        names = list(filter(is_subdomain, tree.names("nodes")))
        for name in follow("nodes", len(names), names, str):
            node = None if name in nodes else read_node(tree, name, cluster, remarks, diagnostics)
            if node is not None:
                nodes[name] = node._replace(
                    cluster_from=source, cluster_facts=stated, origin=origin, home=collection.home
                )
        diagnostics += tree.refused.diagnostics()
    without_object = sorted(nodes.keys() - objects)
    remarks += (
        f"node {name} has no Node object: its labels are unknown" for name in without_object
    )
    return Imported(
        tuple(nodes.values()), tuple(remarks), tuple(diagnostics), tuple(objects.values())
    )


def read_node(
    tree: FolderTree,
    name: str,
    cluster: str | None,
    remarks: list[str],
    diagnostics: list[Diagnostic],
) -> Node | None:
    """The node by its snapshot; what is wrong goes to `remarks` and `diagnostics`."""
    path = snapshot_path(name)
    snapshot_bytes = tree.read_bytes(path)
    if snapshot_bytes is None:
        remarks.append(f"node {name} has no {SNAPSHOT}: it is left out")
        return None
    try:
        snapshot = TarTree(snapshot_bytes, f"{tree.name}/{path}")
    except ArchiveError as error:
        diagnostics.append(error.diagnostic)
        return None
    machine, sentences, problems = sysroot.read_machine(snapshot)
    remarks += (f"node {name}: {sentence}" for sentence in sentences)
    diagnostics += problems
    return None if machine is None else Node(name, machine, {}, cluster)
