"""What was imported as documents: Hardware for each kind of machine, Nodes for each cluster, and
Cluster for what was read about one.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from cpuplan.importers.base import Imported
from cpuplan.importers.documents.kinds import Kind, kinds_of
from cpuplan.importers.documents.nodes import cluster_facts, nodes_documents
from cpuplan.importers.documents.texts import document, texts_of


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
