"""Documents to classes of nodes: which intent claims each node, and which nodes are the same."""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import NamedTuple, TypeAlias

from cpuplan.base import naming
from cpuplan.base.cpuset import EMPTY, CpuSet, cpus_text, union
from cpuplan.base.topology import Topology
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Position
from cpuplan.fleet import (
    class_names,
    cluster_facts,
    device_plugins,
    groups,
    hardware,
    targets,
)
from cpuplan.fleet.groups import Claim, Group
from cpuplan.language.model import vocabulary
from cpuplan.language.model.base import to_json
from cpuplan.language.model.intent import IntentSpec, Target
from cpuplan.language.model.inventory import Device, HardwareSpec
from cpuplan.language.model.pools import Pool, partitions_of
from cpuplan.language.read.documents import Document, Documents
from cpuplan.plan import NodeClass
from cpuplan.plan.expected import machine
from cpuplan.upstream.linux.cmdline import arguments
from cpuplan.upstream.linux.kernel_parameters import WITHOUT_BUGS, limiting


class Fleet(NamedTuple):
    """The classes of a project, ascending by cluster and name."""

    classes: tuple[NodeClass, ...]


def build(documents: Documents) -> tuple[Fleet, list[Diagnostic]]:
    """Expand names, check references, match selectors, and group nodes into classes."""
    diagnostics: list[Diagnostic] = []
    node_groups = groups.build_groups(documents, diagnostics)
    topologies = _Topologies(documents, diagnostics)
    for group in node_groups:
        topologies.of(group)
    claimed = groups.build_claims(documents, node_groups, diagnostics)
    classes = list(_classes(documents, claimed, topologies, diagnostics))
    cluster_facts.settle(classes)
    diagnostics += [*targets.check_targets(documents, classes), *targets.check_labels(claimed)]
    diagnostics += class_names.check(documents, classes)
    diagnostics += device_plugins.check(documents)
    diagnostics += cluster_facts.check(documents, classes)
    diagnostics += cluster_facts.check_feature_sets(documents, classes)
    diagnostics += targets.check_memberships(documents, claimed, classes)
    diagnostics += groups.check_waves(documents, classes)
    return Fleet(tuple(sorted(classes, key=lambda node_class: node_class.key))), diagnostics


def classes_by_layout(classes: Sequence[NodeClass]) -> list[list[NodeClass]]:
    """The classes by layout: those of one intent, and so pool, share one layout."""
    groups: dict[tuple[str, ...], list[NodeClass]] = {}
    for node_class in classes:
        key: tuple[str, ...] = (node_class.cluster, node_class.intent)
        if node_class.mixed_hardware != "common":
            key = (*key, node_class.name)
        groups.setdefault(key, []).append(node_class)
    return list(groups.values())


class _Topologies:
    """Topologies by hardware and offline CPUs: built once, problems reported once."""

    def __init__(self, documents: Documents, diagnostics: list[Diagnostic]) -> None:
        self._documents = {document.name: document for document in documents.of_kind("Hardware")}
        self._diagnostics = diagnostics
        self._built: dict[tuple[str, CpuSet], Topology | None] = {}
        for document in self._documents.values():
            self._build(document, EMPTY)

    def of(self, group: Group) -> Topology | None:
        """The machine of a group's nodes; None if its documents are wrong."""
        document = self._documents.get(group.hardware)
        if document is None or not group.offline or (group.hardware, group.offline) in self._built:
            return self._built.get((group.hardware, group.offline))
        base = self._built[group.hardware, EMPTY]
        present = base.online | base.offline if base else group.offline
        missing = group.offline - present
        if missing:
            place = group.document.at("nodes", group.number, "offline")
            shown, known = cpus_text(missing), cpus_text(present)
            self._diagnostics.append(
                diagnose("CP231", place, cpus=shown, hardware=group.hardware, present=known)
            )
            self._built[group.hardware, group.offline] = None
            return None
        place = group.document.at("nodes", group.number, "offline")
        # Problems of the hardware itself are reported already, at the hardware.
        return self._build(document, group.offline, place) if base else None

    def _build(
        self, document: Document, offline: CpuSet, place: Position | None = None
    ) -> Topology | None:
        """Build the machine; problems are reported at `place`, else in the document."""
        key = (document.name, offline)
        if key not in self._built:
            spec: HardwareSpec = document.spec
            self._built[key], problems = hardware.build(spec, offline)
            for problem in problems:
                where = place or document.at(*problem.field)
                self._diagnostics.append(diagnose(problem.code, where, **problem.values))
        return self._built[key]


#: What nodes of one class have in common: intent, cluster, hardware, offline CPUs, their devices.
_Key: TypeAlias = tuple[str, str, str, CpuSet, tuple[Device, ...]]


def _devices_that_matter(spec: IntentSpec, group: Group) -> tuple[Device, ...]:
    """The devices that only these nodes have, if some pool or QoS set is placed by devices."""
    sets = [*_pools(spec), spec.qos.best_effort, spec.qos.other]
    by_devices = any(placed is not None and (placed.near or placed.per_device) for placed in sets)
    return group.devices if by_devices else ()


def _pools(spec: IntentSpec) -> list[Pool]:
    """The pools of the intent, and their partitions."""
    pools = spec.pools
    own = (pools.reserved, pools.shared, pools.isolated, pools.isolcpus, pools.offlined)
    return [pool for pool in (*own, *partitions_of(pools).values()) if pool is not None]


def _digest(devices: tuple[Device, ...]) -> str:
    text = "".join(map(to_json, devices))
    return sha256(text.encode()).hexdigest()[:8]


def _never_up(spec: IntentSpec, topology: Topology) -> CpuSet:
    """The threads that nosmt and its like keep offline, except those that a pool lists.

    The kernel boots the first thread of each core (kernel/cpu.c, cpu_bootable). The components
    report CPU lists that contain such CPUs, and mitigations, which depend on the CPU.
    """
    given = arguments(" ".join(spec.kernel.extra_arguments))
    if not any(limit.is_one_thread for _, limit in limiting(given, WITHOUT_BUGS)):
        return EMPTY
    listed = union(pool.cpus for pool in _pools(spec) if pool.cpus)
    return topology.online - CpuSet(topology.cores) - listed


def _unlabelled(
    intent: Document, index: int, target: Target, alike: list[Claim]
) -> Iterator[Diagnostic]:
    """Nodes that the inventory does not show in the pool of their class, and invalid labels."""
    pool = target.pool or ""
    place = intent.at("targets", index, "mixedHardware")
    if len(pool) > naming.LONGEST_LABEL:
        problem = (
            f"{pool} would have a name of {len(pool)} characters; the limit of labels is "
            f"{naming.LONGEST_LABEL}"
        )
        yield diagnose("CP288", place, problem=problem)
        return
    label = vocabulary.role(pool)
    names = sorted(
        name for claim in alike if label not in claim.group.labels for name in claim.names
    )
    if names:
        nodes = (
            f"node {names[0]} has"
            if len(names) == 1
            else f"{len(names)} nodes ({names[0]} to {names[-1]}) have"
        )
        cluster = alike[0].group.cluster
        yield diagnose(
            "CP289", place, nodes=nodes, node=names[0], cluster=cluster, pool=pool, key=label
        )


def _classes(
    documents: Documents,
    claimed: list[Claim],
    topologies: _Topologies,
    diagnostics: list[Diagnostic],
) -> Iterator[NodeClass]:
    members: dict[_Key, list[Claim]] = {}
    for claim in claimed:
        intent, group, _ = claim
        key = (
            intent.name,
            group.cluster,
            group.hardware,
            group.offline,
            _devices_that_matter(intent.spec, group),
        )
        members.setdefault(key, []).append(claim)
    without_target: set[tuple[str, str]] = set()
    for key, alike in members.items():
        intent, group, _ = alike[0]
        indexed_target = targets.target_for(intent.spec, group.cluster)
        if indexed_target is None and (intent.name, group.cluster) not in without_target:
            without_target.add((intent.name, group.cluster))
            place = intent.at("targets")
            diagnostics.append(diagnose("CP226", place, intent=intent.name, cluster=group.cluster))
        topology = _topology(intent.spec, group, topologies)
        if indexed_target and topology:
            hardware = documents.by_name["Hardware", group.hardware]
            node_class = _class(
                documents, alike, hardware, topology, indexed_target, key[-1], diagnostics
            )
            if node_class:
                yield node_class


def _topology(spec: IntentSpec, group: Group, topologies: _Topologies) -> Topology | None:
    """The machine as the intent boots it."""
    topology = topologies.of(group)
    down = _never_up(spec, topology) if topology else EMPTY
    if down:
        return topologies.of(group._replace(offline=group.offline | down))
    return topology


def _inputs(documents: Documents, intent: Document, group: Group) -> str:
    """The digest of the documents of a class; "" where its intent is another object."""

    def spec_of(kind: str, name: str) -> object:
        document = documents.by_name.get((kind, name))
        data = document.source.data if document else None
        return data.get("spec") if isinstance(data, dict) else None

    if intent.written_as:
        return ""
    return machine.inputs_digest(spec_of, intent.name, group.hardware, group.cluster)


def _labels(alike: list[Claim]) -> tuple[dict[str, str], ...]:
    """The labels of the nodes; nodes with the same ones count once."""
    sets = {tuple(sorted(claim.group.labels.items())) for claim in alike}
    return tuple(map(dict, sorted(sets)))


def _device_sets(facts: HardwareSpec, alike: list[Claim]) -> tuple[tuple[Device, ...], ...]:
    """All devices of nodes; nodes with the same ones count once."""
    own = dict.fromkeys(claim.group.devices for claim in alike)
    return tuple((*facts.devices, *devices) for devices in own)


def _class(
    documents: Documents,
    alike: list[Claim],
    hardware: Document,
    topology: Topology,
    indexed_target: tuple[int, Target],
    own: tuple[Device, ...],
    diagnostics: list[Diagnostic],
) -> NodeClass | None:
    """The class of equal nodes; None if its name would be too long."""
    intent, group, _ = alike[0]
    index, target = indexed_target
    spec: IntentSpec = intent.spec
    facts: HardwareSpec = hardware.spec
    stated = cluster_facts.of(documents, group.cluster)
    spec = targets.with_runtime(spec, index, stated)
    target = spec.targets[index]
    suffix = class_names.offline_part(group.offline) + (f"-devices-{_digest(own)}" if own else "")
    if targets.is_split(target):
        spec = targets.split(spec, index, group.hardware + suffix)
        target = spec.targets[index]
        diagnostics += _unlabelled(intent, index, target, alike)
    name = f"{intent.name}-{group.hardware}{suffix}"
    problem = class_names.too_long(name, intent, hardware)
    if problem:
        diagnostics.append(problem)
        return None
    return NodeClass(
        name=name,
        intent=intent.name,
        spec=spec,
        target=target,
        cluster=group.cluster,
        hardware=group.hardware,
        topology=topology,
        nodes=tuple(sorted(node for claim in alike for node in claim.names)),
        cpu_vendor=facts.vendor or "",
        architecture=facts.architecture,
        cpu_model=facts.model or "",
        cpu_model_number=facts.model_number,
        devices=(*facts.devices, *own),
        written_as=intent.written_as,
        inputs=_inputs(documents, intent, group),
        cluster_facts=stated,
        waves=groups.waves_of_class(spec, alike),
        labels=_labels(alike),
        device_sets=_device_sets(facts, alike),
        device_plugins=facts.device_plugins,
    )
