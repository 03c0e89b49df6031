"""What targets say about whole clusters, and what hosted clusters share on their hosting cluster.

CP200, CP230, CP251 and CP577.
"""

from collections.abc import Iterable, Iterator, Mapping

from cpuplan import platforms
from cpuplan.diagnostics import Diagnostic, Label, diagnose
from cpuplan.diagnostics.source import Locate, Position
from cpuplan.language.model.base import attributes, has_key
from cpuplan.language.model.intent import IntentSpec, Target
from cpuplan.language.read.documents import Document
from cpuplan.plan import NodeClass

#: Keys of a target that say something about its cluster as a whole, and those of hosted clusters.
_OF_ALL = ("controlPlaneTopology", "cpuPartitioning")
_OF_HOSTED = ("hostingCluster", "hostingNamespace")
#: Keys by which objects of pools find each other; a NodePool names its ConfigMap.
_OF_POOLS = ("machineConfigLabel", "machineConfigPoolSelector")
#: The folder, in that of a hosted cluster, of what belongs into the cluster that hosts it.
HOST = "hosting"
#: What tells objects of two clusters apart that are in one namespace.
_HINTS = {
    "NodePool": "the `pool` that each cluster has",
    "ConfigMap": "an intent for each cluster",
}


def application(cluster: str) -> str:
    """What tells the Application for the hosting cluster from that of the hosted `cluster`."""
    return f"{cluster}-{HOST}"


def check_target(intent: Document, index: int) -> Iterator[Diagnostic]:
    """CP230: keys that only a hosted cluster has in a target for another, and the opposite."""
    spec: IntentSpec = intent.spec
    target = spec.targets[index]
    unread, platform = _OF_HOSTED, "a cluster with its own control plane"
    if target.is_hosted:
        unread, platform = _OF_POOLS, "a hosted cluster, whose nodes are in NodePools"
    for key in unread:
        if has_key(target, key):
            yield diagnose(
                "CP230",
                intent.source.key_at(("spec", "targets", index, key)),
                field=f"spec.targets.{index}.{key}",
                platform=platform,
            )


def check(classes: Iterable[NodeClass], locate: Locate) -> Iterator[Diagnostic]:
    """CP200, CP251 and CP577, for the classes of all clusters."""
    first_of: dict[str, NodeClass] = {}
    owners: dict[tuple[str, ...], NodeClass] = {}
    in_pools = [node_class for node_class in classes if node_class.platform.has_pools]
    with_host = [node_class for node_class in classes if _has_templates(node_class.target)]
    for node_class in sorted(in_pools + with_host, key=lambda node_class: node_class.key):
        first = first_of.setdefault(node_class.cluster, node_class)
        yield from _contradictions(first, node_class, locate)
        if node_class.target.is_hosted:
            yield from _taken(node_class, owners, locate)
    yield from _one_application(first_of, classes, locate)


def _one_application(
    hosts: Mapping[str, NodeClass], classes: Iterable[NodeClass], locate: Locate
) -> Iterator[Diagnostic]:
    """CP577: a cluster with the name of what another one has in its hosting cluster."""
    hosted = {
        application(cluster): node_class
        for cluster, node_class in hosts.items()
        if node_class.target.is_hosted or _has_templates(node_class.target)
    }
    clusters = {node_class.cluster: node_class for node_class in classes}
    for cluster in sorted(hosted.keys() & clusters.keys()):
        other = hosted[cluster]
        yield diagnose(
            "CP577",
            _place(clusters[cluster], "platform", locate),
            labels=[Label(_place(other, "platform", locate), f"hosted cluster {other.cluster}")],
            cluster=cluster,
            hosted=other.cluster,
        )


def _contradictions(first: NodeClass, second: NodeClass, locate: Locate) -> Iterator[Diagnostic]:
    """CP200: two targets that say different things about their cluster."""
    are_hosted = first.target.is_hosted and second.target.is_hosted
    have_templates = _has_templates(first.target) and _has_templates(second.target)
    for key in (*_OF_ALL, *_OF_HOSTED) if are_hosted or have_templates else _OF_ALL:
        mine, other = _value(second.target, key), _value(first.target, key)
        if mine != other:
            yield diagnose(
                "CP200",
                _place(second, key, locate),
                labels=[Label(_place(first, key, locate), f"intent {first.intent}")],
                cluster=second.cluster,
                key=key,
                mine=mine,
                intent=second.intent,
                other=other,
                first=first.intent,
            )


def _has_templates(target: Target) -> bool:
    """Whether Cluster API makes the nodes from objects in a cluster that manages theirs."""
    return not platforms.of(target).has_pools and "clusterApi" in target.delivery


def _value(target: Target, key: str) -> str:
    """A value as YAML has it."""
    value = getattr(target, attributes(Target)[key])
    return str(value).lower() if isinstance(value, bool) else str(value)


def _place(node_class: NodeClass, key: str, locate: Locate) -> Position:
    """The key in its target; the target's pool where only the default says so."""
    field = key if has_key(node_class.target, key) else "pool"
    place = locate(node_class.place(node_class.target_field(field)))
    assert place is not None  # noqa: S101 - classes come from documents
    return place


def _taken(
    node_class: NodeClass, owners: dict[tuple[str, ...], NodeClass], locate: Locate
) -> Iterator[Diagnostic]:
    """CP251: a ConfigMap or NodePool that another hosted cluster has on the same hosting cluster.

    A NodePool is of one cluster, and it reads ConfigMaps of its own namespace.
    """
    target = node_class.target
    objects = {"NodePool": target.pool or "", "ConfigMap": node_class.profile}
    keys = {
        kind: (target.hosting_cluster, target.hosting_namespace, kind, name)
        for kind, name in objects.items()
    }
    for kind, key in keys.items():
        owner = owners.setdefault(key, node_class)
        if owner.cluster != node_class.cluster:
            yield diagnose(
                "CP251",
                _place(node_class, "pool", locate),
                kind=kind,
                name=objects[kind],
                namespace=target.hosting_namespace,
                host=target.hosting_cluster,
                cluster=node_class.cluster,
                other=owner.cluster,
                hint=f"write {_HINTS[kind]}, or the hostingNamespace and hostingCluster that each "
                "has, in a target for each cluster",
            )
            return
