"""Which MachineConfigPool each node is in, by its labels (CP239)."""

from collections.abc import Iterable, Iterator, Mapping

from cpuplan.base.text import joined
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.fleet.claims import Claim
from cpuplan.fleet.targets import is_split, target_for
from cpuplan.language.model.cluster import ClusterSpec, LabelSelector
from cpuplan.language.model.roles import node_selector, role
from cpuplan.language.read.documents import Documents
from cpuplan.plan import NodeClass

MASTER, WORKER = "master", "worker"


def check(
    documents: Documents, claimed: Iterable[Claim], classes: Iterable[NodeClass]
) -> Iterator[Diagnostic]:
    """Nodes in two custom pools, or in a pool that decides instead of their own.

    Nodes also have the labels that select them for the pool of their class.
    """
    classes = list(classes)
    pools = _pools(documents, classes)
    pool_of = {
        (node_class.cluster, node): node_class.machine_config_pool
        for node_class in classes
        for node in node_class.nodes
    }
    for claim in claimed:
        cluster, node = claim.group.cluster, min(claim.names)
        own = pool_of.get((cluster, node))
        target = target_for(claim.intent.spec, cluster)
        if not own or not target or cluster not in pools:
            continue
        labels = claim.group.labels
        if not is_split(target[1]):  # of which each part has labels that the inventory may lack
            labels = {**labels, **node_selector(target[1])}
        selecting = {name for name, pool in pools[cluster].items() if pool.selects(labels)}
        if effect := _effect(own, selecting):
            yield diagnose(
                "CP239",
                claim.intent.at("targets", target[0], "pool"),
                node=node,
                cluster=cluster,
                pools=joined(sorted(selecting | {own})),
                effect=effect,
            )


def _effect(own: str, selecting: set[str]) -> str:
    """What comes of the pools that select a node of the pool `own`; empty where `own` decides."""
    custom = sorted((selecting | {own}) - {MASTER, WORKER})
    if MASTER in selecting and own != MASTER:
        return ", and master decides"
    if len(custom) > 1:
        return ", and gets no updates"
    if own == WORKER and custom:
        return f", and {custom[0]} decides"
    return ""


def _pools(
    documents: Documents, classes: Iterable[NodeClass]
) -> Mapping[str, dict[str, LabelSelector]]:
    """The node selectors of each cluster's MachineConfigPools; not those of hosted clusters."""
    pools: dict[str, dict[str, LabelSelector]] = {}
    for node_class in classes:
        if node_class.machine_config_pool and not node_class.target.is_hosted:
            of_cluster = pools.setdefault(node_class.cluster, _built_in())
            selector = LabelSelector.model_construct(match_labels=node_selector(node_class.target))
            of_cluster.setdefault(node_class.machine_config_pool, selector)
    for document in documents.of_kind("Cluster"):
        if document.name in pools:
            spec: ClusterSpec = document.spec
            for pool in spec.machine_config_pools:
                pools[document.name].setdefault(pool.name, pool.node_selector)
    return pools


def _built_in() -> dict[str, LabelSelector]:
    return {
        name: LabelSelector.model_construct(match_labels={role(name): ""})
        for name in (MASTER, WORKER)
    }
