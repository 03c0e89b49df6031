"""Targets of intents: what they support, what hosted ones share, and the pools of their nodes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from cpuplan.base.text import joined, nearest
from cpuplan.diagnostics import Diagnostic, Label, diagnose
from cpuplan.diagnostics.source import Locate, Position
from cpuplan.facts import platforms
from cpuplan.fleet.groups import Claim
from cpuplan.language.model.base import attributes, has_key
from cpuplan.language.model.cluster import ClusterSpec, LabelSelector
from cpuplan.language.model.intent import IntentSpec, Target
from cpuplan.language.model.vocabulary import NODE_ROLE, node_selector, role
from cpuplan.language.read.documents import Document, Documents
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


def check_hosting(classes: Iterable[NodeClass], locate: Locate) -> Iterator[Diagnostic]:
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


#: Keys of a target that only the machine config operator reads.
_POOL_KEYS = (
    "pool",
    "mixedHardware",
    "nodeSelector",
    "machineConfigLabel",
    "machineConfigPoolSelector",
    "mode",
    "ociRuntime",
    "tuned",
    "featureSet",
    "cpuPartitioning",
    "pinnedPools",
    "controlPlaneTopology",
    "hostingCluster",
    "hostingNamespace",
    "ignoreCgroupsVersion",
    "profile",
)
#: Keys of a target that nothing reads where an operator writes the nodes' files.
_TREE_KEYS = ("delivery", "osFamily", "kubeletUnit")
#: Keys of a target that say where Cluster API has its objects.
_MANAGEMENT_KEYS = ("hostingCluster", "hostingNamespace")
#: Keys of `kernel` that choose a kernel, which only the machine config operator installs.
_KERNEL_KEYS = ("realTime", "pageSize")


def target_for(spec: IntentSpec, cluster: str) -> tuple[int, Target] | None:
    """The first target that is for `cluster`, with its index."""
    for index, target in enumerate(spec.targets):
        if not target.clusters or cluster in target.clusters:
            return index, target
    return None


def check_targets(documents: Documents, classes: Iterable[NodeClass]) -> list[Diagnostic]:
    """Incomplete targets, fields without effect, and pools of different nodes.

    CP227, CP229 and CP230; and what they say about whole clusters.
    """
    diagnostics: list[Diagnostic] = []
    for intent in documents.of_kind("Intent"):
        diagnostics += _check_targets(intent)
    classes = list(classes)
    diagnostics += check_hosting(classes, documents.locate)
    return diagnostics + list(_check_pools(documents, classes))


def check_labels(claimed: Iterable[Claim]) -> Iterator[Diagnostic]:
    """CP291: nodes whose labels in the inventory do not match the selector of their pool."""
    outside: dict[tuple[str, int, str], list[Claim]] = {}
    for claim in claimed:
        indexed_target = target_for(claim.intent.spec, claim.group.cluster)
        # The inventory of nodes without a role may lack labels; split pools have CP289, and
        # NodePools other labels.
        if (
            indexed_target
            and _needs_labels(indexed_target[1])
            and any(label.startswith(NODE_ROLE) for label in claim.group.labels)
        ):
            index, target = indexed_target
            if not node_selector(target).items() <= claim.group.labels.items():
                outside.setdefault((claim.intent.name, index, claim.group.cluster), []).append(
                    claim
                )
    for (_, index, cluster), claims in outside.items():
        yield _outside(claims, index, cluster)


def _needs_labels(target: Target) -> bool:
    has_pool = platforms.of(target).has_pools and target.pool is not None
    return has_pool and not is_split(target) and not target.is_hosted


def _outside(claims: Sequence[Claim], index: int, cluster: str) -> Diagnostic:
    intent = claims[0].intent
    target: Target = intent.spec.targets[index]
    names = sorted(name for claim in claims for name in claim.names)
    roles = {
        label.removeprefix(NODE_ROLE)
        for claim in claims
        for label in claim.group.labels
        if label.startswith(NODE_ROLE)
    }
    near = nearest(target.pool or "", roles - {target.pool})
    labels = " ".join(f"{key}={value}" for key, value in node_selector(target).items())
    return diagnose(
        "CP291",
        intent.at("targets", index, "pool"),
        nodes=f"node {names[0]} has"
        if len(names) == 1
        else f"{len(names)} nodes ({names[0]} to {names[-1]}) have",
        wanted=labels,
        pool=target.pool,
        cluster=cluster,
        hint=f"did you mean {near!r}? Otherwise " if near else "",
        node=names[0],
    )


def _check_targets(intent: Document) -> Iterator[Diagnostic]:
    for index, target in enumerate(intent.spec.targets):
        if platforms.of(target).has_pools:
            yield from _check_pool(intent, index, target)
            yield from check_target(intent, index)
    yield from _unused(intent)
    yield from _without_effect(intent)


def _unused(intent: Document) -> Iterator[Diagnostic]:
    """CP734: targets for clusters that all have a target before."""
    taken: dict[str, int] = {}
    for index, target in enumerate(intent.spec.targets):
        wanted = target.clusters or ("",)
        earlier = [taken.get(cluster, taken.get("", -1)) for cluster in wanted]
        if min(earlier) >= 0:
            yield diagnose(
                "CP734",
                intent.at("targets", index),
                target=f"spec.targets.{index}",
                former=" and ".join(f"spec.targets.{former}" for former in sorted({*earlier})),
                clusters=", ".join(target.clusters) if target.clusters else "all clusters",
            )
        for cluster in wanted:
            taken.setdefault(cluster, index)


def _check_pool(intent: Document, index: int, target: Target) -> Iterator[Diagnostic]:
    """A target that names its pool badly, or not at all."""
    if target.pool is None:
        yield diagnose("CP229", intent.at("targets", index))
    problem = _unsplittable(target) if target.mixed_hardware == "split" else ""
    if problem:
        yield diagnose("CP288", intent.at("targets", index, "mixedHardware"), problem=problem)
    if target.is_hosted and not target.is_profile:
        yield diagnose("CP287", intent.at("targets", index, "mode"), mode=target.mode)


def _without_effect(intent: Document) -> Iterator[Diagnostic]:
    """CP230: keys of a target for other platforms, and of the rest for none of the targets'."""
    spec: IntentSpec = intent.spec
    for index, target in enumerate(spec.targets):
        for key in _unread(target):
            if has_key(target, key):
                yield _no_effect(intent, target, ("targets", index, key))
        yield from _of_no_runtime(intent, index, target)
    with_pools = {platforms.of(target).has_pools for target in spec.targets}
    if with_pools == {True} and has_key(spec.isolation, "systemServices"):
        yield _no_effect(intent, spec.targets[0], ("isolation", "systemServices"))
    if with_pools == {False}:
        for key in _KERNEL_KEYS:
            if has_key(spec.kernel, key):
                yield _no_effect(intent, spec.targets[0], ("kernel", key))


def _of_no_runtime(intent: Document, index: int, target: Target) -> Iterator[Diagnostic]:
    """CP230: containerd where the platform has another runtime, releases of what is not used.

    CP2505 where no runtime is the usual one, CP2506 where the platform can hold no plan.
    """
    platform = platforms.of(target)
    if platform.cannot:
        place = intent.at("targets", index, "platform")
        yield diagnose("CP2506", place, platform=platform.title, problem=platform.cannot)
    if platform.asks_for_runtime and not has_key(target, "runtime"):
        yield diagnose("CP2505", intent.at("targets", index, "platform"), platform=platform.title)
    if target.runtime == "containerd" and not platform.has_runtime_choice:
        yield _no_effect(intent, target, ("targets", index, "runtime"))
    elif target.runtime == "crio" and has_key(target, "containerd"):
        yield _no_effect(intent, target, ("targets", index, "containerd"), "nodes with CRI-O")
    if has_key(target, "nriPlugins") and not target.has_nri_policy:
        where = "nodes without an NRI policy"
        yield _no_effect(intent, target, ("targets", index, "nriPlugins"), where)


def _unread(target: Target) -> Iterator[str]:
    """Keys of a target that its platform and deliveries have no use for."""
    platform = platforms.of(target)
    if not platform.takes_files:
        yield from _TREE_KEYS
    if not platform.has_pools:
        is_managed = platform.takes_files and "clusterApi" in target.delivery
        read = _MANAGEMENT_KEYS if is_managed else ()
        yield from (key for key in _POOL_KEYS if key not in read)


def _unsplittable(target: Target) -> str:
    """Why a target's pool cannot be split; empty if it can."""
    if target.is_hosted:
        return "the nodes of a hosted cluster's NodePool stay in it"
    if target.pool in ("master", "arbiter"):
        return f"nodes of the pool {target.pool} cannot be in another pool"
    labels = {
        "nodeSelector": target.node_selector,
        "machineConfigLabel": target.machine_config_label,
        "machineConfigPoolSelector": target.machine_config_pool_selector,
    }
    given = next((key for key, value in labels.items() if value), "")
    return f"{given} would be the same for each of its parts" if given else ""


def split(spec: IntentSpec, index: int, part: str) -> IntentSpec:
    """The spec whose target has the pool of one class of nodes."""
    target = spec.targets[index]
    own = target.model_copy(update={"pool": f"{target.pool}-{part}"})
    return spec.model_copy(
        update={"targets": (*spec.targets[:index], own, *spec.targets[index + 1 :])}
    )


def is_split(target: Target) -> bool:
    """Whether each class of its nodes gets its own pool."""
    return target.mixed_hardware == "split" and bool(target.pool) and not _unsplittable(target)


def _no_effect(
    intent: Document, target: Target, field: tuple[str | int, ...], on: str = ""
) -> Diagnostic:
    place = intent.source.key_at(("spec", *field))
    name = ".".join(map(str, ("spec", *field)))
    return diagnose("CP230", place, field=name, platform=on or target.platform)


def _layout_facts(node_class: NodeClass) -> tuple[object, ...]:
    """Facts on which CPU lists and boot arguments depend; core ids and devices do not count."""
    cores = tuple(node_class.topology.cores.values())
    nodes = tuple(node_class.topology.numa_nodes.items())
    models = node_class.cpu_vendor, node_class.cpu_model_number
    return node_class.intent, node_class.architecture, models, cores, nodes


def _check_pools(documents: Documents, classes: Iterable[NodeClass]) -> Iterator[Diagnostic]:
    """Classes of one MachineConfigPool must be alike; `backends` compares their files."""
    pools: dict[tuple[str, str], list[NodeClass]] = {}
    for node_class in classes:
        if node_class.machine_config_pool:
            pools.setdefault((node_class.cluster, node_class.machine_config_pool), []).append(
                node_class
            )
    for _, members in sorted(pools.items()):
        splits = [member.target for member in members if member.target.mixed_hardware == "split"]
        if not all(map(is_split, splits)):
            continue  # CP288
        common = (
            len({member.intent for member in members}) == 1
            and members[0].target.mixed_hardware == "common"
        )
        if not common and len({_layout_facts(member) for member in members}) > 1:
            yield unlike(members, documents.locate)


def unlike(classes: Iterable[NodeClass], locate: Locate) -> Diagnostic:
    """CP227 for classes of one cluster and pool."""
    members = sorted(classes, key=lambda node_class: node_class.name)
    first = members[0]
    index, _ = target_for(first.spec, first.cluster) or (0, None)
    shown = ", ".join(
        f"{member.hardware} ({len(member.nodes)}, intent {member.intent})" for member in members
    )
    place = locate(first.place(f"targets.{index}.pool"))
    return diagnose("CP227", place, pool=first.target.pool, cluster=first.cluster, classes=shown)


MASTER, WORKER = "master", "worker"


def check_memberships(
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
