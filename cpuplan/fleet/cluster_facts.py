"""Cluster documents: what they state about a cluster, and whether it has such nodes."""

from collections.abc import Iterable, Iterator

from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.model.base import attributes
from cpuplan.model.cluster import ClusterSpec
from cpuplan.plan import NodeClass
from cpuplan.read.documents import Document, Documents
from cpuplan.text import did_you_mean

#: Fields that mean something to any API server; all others are for OpenShift.
_FOR_ALL = frozenset({"version", "cgroupMode"})


def of(documents: Documents, cluster: str) -> ClusterSpec | None:
    """The facts about a cluster; None where the project has no document of it."""
    document = documents.by_name.get(("Cluster", cluster))
    facts: ClusterSpec | None = document.spec if document else None
    return facts


def check(documents: Documents, classes: Iterable[NodeClass]) -> Iterator[Diagnostic]:
    """Documents of unknown clusters (CP236), and fields without effect on a platform (CP230)."""
    nodes = {document.spec.cluster for document in documents.of_kind("Nodes")}
    with_pools = {node_class.cluster for node_class in classes if node_class.platform.has_pools}
    planned = {node_class.cluster for node_class in classes}
    for document in documents.of_kind("Cluster"):
        if document.name not in nodes and not documents.may_define("Nodes"):
            place = document.source.value_at(("metadata", "name"))
            hint = did_you_mean(document.name, nodes) or "remove the document, or add Nodes"
            yield diagnose("CP236", place, cluster=document.name, hint=hint)
        elif document.name in planned - with_pools:
            yield from _without_effect(document)


def _without_effect(document: Document) -> Iterator[Diagnostic]:
    spec: ClusterSpec = document.spec
    for key, name in attributes(ClusterSpec).items():
        if name in spec.model_fields_set and key not in _FOR_ALL:
            place = document.source.key_at(("spec", key))
            yield diagnose("CP230", place, field=f"spec.{key}", platform="kubernetes")
