"""Cluster documents: what they state about a cluster, and whether it has such nodes."""

from collections.abc import Iterable, Iterator, Sequence

from cpuplan.base.text import did_you_mean
from cpuplan.diagnostics import Diagnostic, Label, diagnose
from cpuplan.facts import versions
from cpuplan.language.model import field_paths
from cpuplan.language.model.base import attributes
from cpuplan.language.model.cluster import ClusterSpec
from cpuplan.language.model.intent import Target
from cpuplan.language.read.documents import Document, Documents
from cpuplan.plan import NodeClass

#: Fields that mean something to any API server; all others are for OpenShift.
_FOR_ALL = frozenset({"version", "cgroupMode", "controlPlaneFeatureGates", "nodeResourceTopology"})
#: Fields that only platforms without a runtime of their own need.
_FOR_OTHERS = _FOR_ALL | {"runtime", "containerd"}
#: Fields that hosted clusters have too: their nodes get what NodePools name, and no other objects.
_FOR_HOSTED = _FOR_ALL | {"featureSet", "enabledFeatureGates"}


def of(documents: Documents, cluster: str) -> ClusterSpec | None:
    """The facts about a cluster; None where the project has no document of it."""
    document = documents.by_name.get(("Cluster", cluster))
    facts: ClusterSpec | None = document.spec if document else None
    return facts


def sets_cgroups_v1(target: Target) -> bool:
    """Whether the node tuning operator changes the whole cluster to version 1 of control groups."""
    return versions.ships(target, "cluster.cgroups_v1") and not target.ignore_cgroups_version


def settle(classes: Iterable[NodeClass]) -> None:
    """Give all classes of a cluster the same facts: its document's, and what its targets imply.

    One profile of the cluster is enough for the operator to change control groups on all nodes.
    """
    clusters: dict[str, list[NodeClass]] = {}
    for node_class in classes:
        clusters.setdefault(node_class.cluster, []).append(node_class)
    for members in clusters.values():
        stated = members[0].cluster_facts
        facts = stated.model_copy(update=_implied(stated, [member.target for member in members]))
        for member in members:
            member.cluster_facts = facts


def _implied(stated: ClusterSpec, targets: Sequence[Target]) -> dict[str, str]:
    """The facts that no document states but that follow from the targets of a cluster."""
    facts: dict[str, str] = {}
    feature_sets = [target.feature_set for target in targets if target.feature_set]
    if stated.feature_set is None and feature_sets:
        facts["feature_set"] = feature_sets[0]
    if stated.cgroup_mode is None and any(map(sets_cgroups_v1, targets)):
        facts["cgroup_mode"] = "v1"
    return facts


def check_feature_sets(documents: Documents, classes: Iterable[NodeClass]) -> Iterator[Diagnostic]:
    """CP258: targets that contradict the Cluster document, or each other, about a cluster."""
    first: dict[str, tuple[str, str]] = {}
    for document in documents.of_kind("Cluster"):
        if document.spec.feature_set:
            place = field_paths.of_field("Cluster", document.name, "featureSet")
            first[document.name] = document.spec.feature_set, place
    contradictions = {}
    for node_class in classes:
        chosen = node_class.target.feature_set
        if chosen and node_class.platform.has_pools:
            place = node_class.place(node_class.target_field("featureSet"))
            known = first.setdefault(node_class.cluster, (chosen, place))
            if known[0] != chosen:
                contradictions[node_class.cluster, place] = (chosen, *known)
    for (cluster, place), (chosen, other, other_place) in contradictions.items():
        at = documents.locate(other_place)
        labels = [Label(at, "stated here")] if at else []
        values = {"cluster": cluster, "feature_set": chosen, "other": other}
        yield diagnose("CP258", documents.locate(place), labels=labels, **values)


def check(documents: Documents, classes: Iterable[NodeClass]) -> Iterator[Diagnostic]:
    """Documents of unknown clusters (CP236), and fields without effect on a platform (CP230)."""
    nodes = {document.spec.cluster for document in documents.of_kind("Nodes")}
    classes = list(classes)
    with_pools = {node_class.cluster for node_class in classes if node_class.platform.has_pools}
    hosted = {node_class.cluster for node_class in classes if node_class.target.is_hosted}
    planned = {node_class.cluster for node_class in classes}
    for document in documents.of_kind("Cluster"):
        if document.name not in nodes and not documents.may_define("Nodes"):
            place = document.source.value_at(("metadata", "name"))
            hint = did_you_mean(document.name, nodes) or "remove the document, or add Nodes"
            yield diagnose("CP236", place, cluster=document.name, hint=hint)
        elif document.name in planned - with_pools:
            yield from _without_effect(document, _FOR_OTHERS, "kubernetes")
        elif document.name in hosted:
            yield from _without_effect(document, _FOR_HOSTED, "a hosted cluster")


def _without_effect(
    document: Document, known: frozenset[str], platform: str
) -> Iterator[Diagnostic]:
    spec: ClusterSpec = document.spec
    for key, name in attributes(ClusterSpec).items():
        if name in spec.model_fields_set and key not in known | document.of_objects:
            place = document.source.key_at(("spec", key))
            yield diagnose("CP230", place, field=f"spec.{key}", platform=platform)
