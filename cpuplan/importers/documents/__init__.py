"""What was imported as documents: Hardware by kind of machine, Nodes and Cluster by cluster."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from cpuplan import API_VERSION
from cpuplan.base import naming
from cpuplan.base.emit import Flow, to_yaml
from cpuplan.base.naming import fold_names
from cpuplan.base.text import counted, joined
from cpuplan.importers.base import Imported, Node
from cpuplan.importers.documents.kinds import Kind, kinds_of


def document(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    """A whole document."""
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}


def texts_of(
    documents: Iterable[Mapping[str, Any]], header: str = "", kinds: Mapping[str, Kind] = {}
) -> dict[str, str]:
    """YAML by file name. `header` goes above each document; {kind} in it becomes the kind.

    What was assumed of the `kinds` stands in comments below it, since people judge it later.
    """
    texts = {}
    for known in documents:
        is_hardware = known["kind"] == "Hardware"
        kind = kinds.get(known["metadata"]["name"]) if is_hardware else None
        lines = "".join(f"{line}\n" for line in kind.machine.assumptions) if kind else ""
        texts[file_name(known)] = text_of(known, f"{header}{lines}")
    return texts


def file_name(document: Mapping[str, Any]) -> str:
    """Where a document is written first."""
    return f"{document['kind'].lower()}-{document['metadata']['name']}.yaml"


def text_of(document: Mapping[str, Any], header: str = "") -> str:
    """A document as YAML; see `texts_of`."""
    return to_yaml(dict(document), header.replace("{kind}", document["kind"].lower()))


#: The cluster of nodes whose source does not name one.
DEFAULT_CLUSTER = "default"

#: A node, and the name of its hardware.
_Placed = tuple[Node, str]
_Labels = tuple[tuple[str, str], ...]


def nodes_documents(nodes: Iterable[_Placed]) -> list[dict[str, Any]]:
    """A Nodes document for each cluster."""
    clusters: dict[str, list[_Placed]] = {}
    for node, hardware in nodes:
        clusters.setdefault(cluster_of(node), []).append((node, hardware))
    return [
        document("Nodes", cluster, _nodes_spec(cluster, clusters[cluster]))
        for cluster in sorted(clusters)
    ]


def cluster_facts(nodes: Iterable[Node]) -> dict[str, dict[str, Any]]:
    """The spec of the Cluster document of each cluster about which something was read."""
    stated: dict[str, list[Mapping[str, Any]]] = {}
    for node in nodes:
        if node.cluster_facts:
            stated.setdefault(cluster_of(node), []).append(node.cluster_facts)
    together = {cluster: _together(facts) for cluster, facts in sorted(stated.items())}
    return {cluster: facts for cluster, facts in together.items() if facts}


def _together(stated: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The facts of all nodes of a cluster: the oldest containerd, no runtime where it has both."""
    facts: dict[str, Any] = {}
    for own in stated:
        facts |= own
    releases = [str(own["containerd"]) for own in stated if "containerd" in own]
    facts |= {"containerd": min(releases)} if releases else {}
    if len(runtimes_of(stated)) > 1:
        facts = {name: value for name, value in facts.items() if name not in OF_RUNTIMES}
    return facts


#: Facts that a cluster with two runtimes does not have.
OF_RUNTIMES = ("runtime", "containerd")


def runtimes_of(stated: Iterable[Mapping[str, Any]]) -> list[str]:
    """The container runtimes of nodes."""
    return sorted({str(own["runtime"]) for own in stated if "runtime" in own})


def unlike_runtimes(nodes: Iterable[Node]) -> Iterator[str]:
    """A sentence for each cluster whose nodes have different runtimes."""
    clusters: dict[str, list[Mapping[str, Any]]] = {}
    for node in nodes:
        clusters.setdefault(cluster_of(node), []).append(node.cluster_facts)
    for cluster, stated in clusters.items():
        names = runtimes_of(stated)
        if len(names) > 1:
            yield (
                f"nodes of cluster {cluster} have {joined(names)}: write `runtime` in the targets "
                "of intents"
            )


def cluster_of(node: Node) -> str:
    """The name of a node's cluster, as documents have it."""
    name = node.cluster or node.home or DEFAULT_CLUSTER
    return naming.name_from(name, DEFAULT_CLUSTER, naming.LONGEST_LABEL, dots=False)


def derived_clusters(nodes: Iterable[Node]) -> Iterator[str]:
    """A sentence for each cluster that no option named: where its name is from, and its option."""
    counts: dict[tuple[str, str], int] = {}
    for node in nodes:
        source = node.cluster_from or ("nothing" if node.cluster is None else "")
        if source:
            key = cluster_of(node), source
            counts[key] = counts.get(key, 0) + 1
    for (cluster, source), count in counts.items():
        why = "its name is unknown" if source == "nothing" else f"so named after {source}"
        yield (
            f"cluster {cluster} ({counted(count, 'node')}): {why}; "
            "--cluster NAME gives it another name"
        )


def _nodes_spec(cluster: str, nodes: list[_Placed]) -> dict[str, Any]:
    """The spec of a Nodes document; what all nodes share is written once."""
    first_hardware = nodes[0][1]
    share_hardware = all(hardware == first_hardware for _, hardware in nodes)
    shared_labels = dict(set.intersection(*(set(node.labels.items()) for node, _ in nodes)))
    groups: dict[tuple[str, _Labels], list[str]] = {}
    for node, hardware in nodes:
        own = {key: value for key, value in node.labels.items() if key not in shared_labels}
        groups.setdefault((hardware, tuple(sorted(own.items()))), []).append(node.name)
    entries: list[dict[str, Any] | Flow] = []
    for (hardware, labels), names in groups.items():
        facts = {} if share_hardware else {"hardware": hardware}
        entries += _entries(names, facts, labels)
    spec: dict[str, Any] = {"cluster": cluster}
    if share_hardware:
        spec["hardware"] = first_hardware
    if shared_labels:
        spec["labels"] = dict(sorted(shared_labels.items()))
    return {**spec, "nodes": entries}


def _entries(
    names: Iterable[str], facts: dict[str, str], labels: _Labels
) -> Iterator[dict[str, Any] | Flow]:
    """Entries for nodes that are alike: numbered names become ranges, short ones take one line."""
    for name in fold_names(names):
        entry = {"name": name, **facts}
        yield {**entry, "labels": dict(labels)} if labels else Flow(entry)


def hardware_documents(imported: Imported) -> list[dict[str, Any]]:
    """Hardware documents, then Nodes documents, each by name; equal machines share a document."""
    return documents_of(kinds_of(imported))


def documents_of(kinds: Mapping[str, Kind]) -> list[dict[str, Any]]:
    """The documents of the kinds of machines and their nodes; see `hardware_documents`."""
    hardware = [document("Hardware", name, kinds[name].spec) for name in sorted(kinds)]
    nodes = [(node, name) for name, kind in kinds.items() for node in kind.nodes]
    facts = cluster_facts(node for node, _ in nodes)
    clusters = [document("Cluster", name, stated) for name, stated in described(facts)]
    return hardware + nodes_documents(sorted(nodes, key=lambda pair: pair[0].name)) + clusters


def described(facts: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The clusters with anything to state: name and spec."""
    for name, fields in facts.items():
        spec = {key: value for key, value in fields.items() if value != []}
        if spec:
            yield name, spec


def render(imported: Imported, header: str = "") -> dict[str, str]:
    """YAML text by file name. In `header`, {kind} becomes `hardware` or `nodes`."""
    return texts_of(hardware_documents(imported), header)
