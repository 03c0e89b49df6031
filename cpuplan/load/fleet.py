"""Documents to classes: which nodes there are, which intent claims each, and which of them are the same."""

import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from typing import NamedTuple, TypeAlias

from cpuplan.cpuset import EMPTY, CpuSet, cpus_text, union
from cpuplan.diagnostics import Diagnostic, Label, diagnose
from cpuplan.document import HOST_PATTERN, expand_names
from cpuplan.intent import IntentSpec, Selector, Target
from cpuplan.inventory import Device, HardwareSpec, NodeGroup, NodesSpec
from cpuplan.load import hardware, targets
from cpuplan.load.documents import Document, Documents
from cpuplan.plan import NodeClass
from cpuplan.pools import Pool
from cpuplan.source import Position
from cpuplan.topology import Topology

#: Characters of the name of a label (Kubernetes, labels and selectors).
MOST_LABEL = 63
_HOST = re.compile(HOST_PATTERN)


class Group(NamedTuple):
    """Nodes of one group of a Nodes document: the same hardware, labels and facts."""

    document: Document
    number: int  # of the group in its document
    cluster: str
    names: tuple[str, ...]
    hardware: str
    labels: dict[str, str]
    offline: CpuSet
    devices: tuple[Device, ...]


class Fleet(NamedTuple):
    """The classes of a project, ascending by cluster and name."""

    classes: tuple[NodeClass, ...]


def build(documents: Documents) -> tuple[Fleet, list[Diagnostic]]:
    """Expand names, check what documents say of each other, match selectors, group into classes."""
    diagnostics: list[Diagnostic] = []
    groups = list(_groups(documents, diagnostics))
    _check_unique(groups, diagnostics)
    topologies = _Topologies(documents, diagnostics)
    for group in groups:
        topologies.of(group)
    claimed = _claim(documents, groups, diagnostics)
    classes = list(_classes(documents, claimed, topologies, diagnostics))
    diagnostics += targets.check(documents, classes)
    return Fleet(tuple(sorted(classes, key=lambda each: (each.cluster, each.name)))), diagnostics


def _groups(documents: Documents, diagnostics: list[Diagnostic]) -> Iterator[Group]:
    known = {document.name for document in documents.of_kind("Hardware")}
    for document in documents.of_kind("Nodes"):
        spec: NodesSpec = document.spec
        for index, group in enumerate(spec.nodes):
            names = _names(document, index, group, diagnostics)
            named = group.hardware or spec.hardware
            if named is None:
                diagnostics.append(diagnose("CP223", document.at("nodes", index, "name"), name=group.name))
            elif named not in known and not documents.may_define("Hardware", named):
                place = document.at("nodes", index, "hardware") if group.hardware else document.at("hardware")
                diagnostics.append(diagnose("CP222", place, hardware=named, hint=_hardware_hint(named, known)))
            labels = {**spec.labels, **group.labels}
            yield Group(
                document, index, spec.cluster, names, named or "", labels, group.offline or EMPTY, group.devices
            )


def _hardware_hint(name: str, known: set[str]) -> str:
    from cpuplan.load import catalog
    from cpuplan.load.mistakes import did_you_mean

    if catalog.find(name):
        return f"`cpuplan catalog {name}` copies it from the catalogue into inventories/"
    return did_you_mean(name, known) if known else "define it in a Hardware document under inventories/"


def _names(document: Document, index: int, group: NodeGroup, diagnostics: list[Diagnostic]) -> tuple[str, ...]:
    place = document.at("nodes", index, "name")
    try:
        names = tuple(expand_names(group.name))
    except ValueError as error:
        diagnostics.append(diagnose("CP228", place, name=group.name, problem=error))
        return ()
    if wrong := next((name for name in names if not _HOST.match(name)), None):
        diagnostics.append(diagnose("CP228", place, name=group.name, problem=f"{wrong!r} is no RFC 1123 name"))
        return ()
    return names


def _check_unique(groups: Iterable[Group], diagnostics: list[Diagnostic]) -> None:
    seen: dict[tuple[str, str], Group] = {}
    for group in groups:
        for name in group.names:
            first = seen.setdefault((group.cluster, name), group)
            if first is not group:
                diagnostics.append(
                    diagnose(
                        "CP224",
                        group.document.at("nodes", group.number, "name"),
                        labels=[Label(first.document.at("nodes", first.number, "name"), "the first one")],
                        node=name,
                        cluster=group.cluster,
                    )
                )
                break


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
        if missing := group.offline - present:
            place = group.document.at("nodes", group.number, "offline")
            shown, known = cpus_text(missing), cpus_text(present)
            self._diagnostics.append(diagnose("CP231", place, cpus=shown, hardware=group.hardware, present=known))
            self._built[group.hardware, group.offline] = None
            return None
        place = group.document.at("nodes", group.number, "offline")
        # What is wrong with the hardware itself is said already, at the hardware.
        return self._build(document, group.offline, place) if base else None

    def _build(self, document: Document, offline: CpuSet, place: Position | None = None) -> Topology | None:
        """Build the machine of `document`; problems are reported at `place`, or in the document itself."""
        key = (document.name, offline)
        if key not in self._built:
            spec: HardwareSpec = document.spec
            self._built[key], problems = hardware.build(spec, offline)
            for problem in problems:
                where = place or document.at(*problem.field)
                self._diagnostics.append(diagnose(problem.code, where, **problem.values))
        return self._built[key]


def selects(selector: Selector, group: Group) -> tuple[str, ...]:
    """The nodes of `group` that fit everything in `selector`; all of them for an empty one."""
    if selector.clusters and group.cluster not in selector.clusters:
        return ()
    if any(group.labels.get(key) != value for key, value in selector.match_labels.items()):
        return ()
    if not selector.nodes:
        return group.names
    wanted = {name for pattern in selector.nodes if "*" not in pattern for name in expand_names(pattern)}
    globs = [pattern for pattern in selector.nodes if "*" in pattern]
    return tuple(name for name in group.names if name in wanted or any(fnmatchcase(name, glob) for glob in globs))


def _claim(
    documents: Documents, groups: list[Group], diagnostics: list[Diagnostic]
) -> list[tuple[Document, Group, tuple[str, ...]]]:
    """(intent, group, names) for all nodes that exactly one intent selects."""
    claims = []
    owner: dict[tuple[str, str], Document] = {}
    for intent in documents.of_kind("Intent"):
        spec: IntentSpec = intent.spec
        found = False
        for group in groups:
            names = _selected(intent, spec.selector, group, diagnostics)
            found = found or bool(names)
            mine = tuple(name for name in names if owner.setdefault((group.cluster, name), intent) is intent)
            if clash := [name for name in names if name not in mine]:
                first = owner[group.cluster, clash[0]]
                diagnostics.append(_claimed_twice(intent, first, group.cluster, clash))
            if mine:
                claims.append((intent, group, mine))
        # Names that could not be read (CP228) may be the ones that are selected.
        if not found and all(group.names for group in groups) and not documents.may_define("Nodes"):
            code = "CP225" if groups or not intent.written_as else "CP233"
            diagnostics.append(diagnose(code, intent.at("selector"), intent=intent.name))
    for group in groups if not documents.may_define("Intent") else ():
        free = [name for name in group.names if (group.cluster, name) not in owner]
        if free:
            diagnostics.append(_unselected(group, free))
    return claims


def _selected(intent: Document, selector: Selector, group: Group, diagnostics: list[Diagnostic]) -> tuple[str, ...]:
    try:
        return selects(selector, group)
    except ValueError as error:
        problem = diagnose("CP228", intent.at("selector", "nodes"), name=", ".join(selector.nodes), problem=error)
        if problem not in diagnostics:
            diagnostics.append(problem)
        return ()


def _claimed_twice(intent: Document, first: Document, cluster: str, names: list[str]) -> Diagnostic:
    return diagnose(
        "CP220",
        intent.at("selector"),
        labels=[Label(first.at("selector"), f"{first.name} selects it here")],
        node=names[0] if len(names) == 1 else f"{names[0]} (and {len(names) - 1} more)",
        cluster=cluster,
        first=first.name,
        second=intent.name,
    )


def _unselected(group: Group, names: list[str]) -> Diagnostic:
    shown = f"node {names[0]}" if len(names) == 1 else f"{len(names)} nodes ({names[0]} to {names[-1]})"
    place = group.document.at("nodes", group.number, "name")
    return diagnose("CP221", place, nodes=shown, cluster=group.cluster, they="it" if len(names) == 1 else "they")


#: What nodes of one class have in common: intent, cluster, hardware, offline CPUs, devices of their own.
_Key: TypeAlias = tuple[str, str, str, CpuSet, tuple[Device, ...]]


def _devices_that_matter(spec: IntentSpec, group: Group) -> tuple[Device, ...]:
    """The devices that only these nodes have, where a pool is to be near some device."""
    said = [*_pools(spec), spec.qos.best_effort, spec.qos.other]
    return group.devices if any(pool is not None and pool.near is not None for pool in said) else ()


def _pools(spec: IntentSpec) -> list[Pool]:
    """The pools that are said, and the partitions of isolated."""
    pools = spec.pools
    said = (pools.reserved, pools.shared, pools.isolated, pools.isolcpus, pools.offlined)
    partitions = pools.isolated.partitions.values() if pools.isolated else ()
    return [pool for pool in (*said, *partitions) if pool is not None]


def _digest(devices: tuple[Device, ...]) -> str:
    import hashlib

    text = "".join(device.model_dump_json(exclude_none=True) for device in devices)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _never_up(spec: IntentSpec, topology: Topology) -> CpuSet:
    """The threads that the argument nosmt keeps down, less those that a pool lists: the kernel boots one of each core.

    (kernel/cpu.c, cpu_bootable.) Of a list that has such CPUs the components say that they would not come up.
    """
    if not any(argument.partition("=")[0] == "nosmt" for argument in spec.kernel.extra_arguments):
        return EMPTY
    listed = union(pool.cpus for pool in _pools(spec) if pool.cpus)
    return topology.online - CpuSet(topology.cores) - listed


def _unlabelled(
    intent: Document, index: int, target: Target, members: list[tuple[Group, tuple[str, ...]]]
) -> Iterator[Diagnostic]:
    """Nodes that are not in the pool of their class yet, as far as the inventory tells; and a name that is no label."""
    pool = target.pool or ""
    place = intent.at("targets", index, "mixedHardware")
    if len(pool) > MOST_LABEL:
        problem = f"{pool} would be a pool's name of {len(pool)} characters, and labels have {MOST_LABEL} at most"
        yield diagnose("CP288", place, problem=problem)
        return
    label = targets.role(pool)
    if names := sorted(name for group, found in members if label not in group.labels for name in found):
        nodes = f"node {names[0]} has" if len(names) == 1 else f"{len(names)} nodes ({names[0]} to {names[-1]}) have"
        cluster = members[0][0].cluster
        yield diagnose("CP289", place, nodes=nodes, node=names[0], cluster=cluster, pool=pool, key=label)


def _classes(
    documents: Documents,
    claims: list[tuple[Document, Group, tuple[str, ...]]],
    topologies: _Topologies,
    diagnostics: list[Diagnostic],
) -> Iterator[NodeClass]:
    merged: dict[_Key, list[str]] = {}
    first: dict[_Key, tuple[Document, Group]] = {}
    members: dict[_Key, list[tuple[Group, tuple[str, ...]]]] = {}
    for intent, group, names in claims:
        key = (intent.name, group.cluster, group.hardware, group.offline, _devices_that_matter(intent.spec, group))
        merged.setdefault(key, []).extend(names)
        members.setdefault(key, []).append((group, names))
        first.setdefault(key, (intent, group))
    without_target: set[tuple[str, str]] = set()
    for key, (intent, group) in first.items():
        spec: IntentSpec = intent.spec
        topology = topologies.of(group)
        if topology and (down := _never_up(spec, topology)):
            topology = topologies.of(group._replace(offline=group.offline | down))
        found = targets.target_for(spec, group.cluster)
        if found is None and (intent.name, group.cluster) not in without_target:
            without_target.add((intent.name, group.cluster))
            place = intent.at("targets")
            diagnostics.append(diagnose("CP226", place, intent=intent.name, cluster=group.cluster))
        if found is None or topology is None:
            continue
        index, target = found
        facts: HardwareSpec = documents.by_name["Hardware", group.hardware].spec
        suffix = f"-offline-{str(group.offline).replace(',', '.')}" if group.offline else ""
        own = key[-1]
        suffix += f"-devices-{_digest(own)}" if own else ""
        if targets.is_split(target):
            spec = targets.split(spec, index, group.hardware + suffix)
            target = spec.targets[index]
            diagnostics += _unlabelled(intent, index, target, members[key])
        yield NodeClass(
            name=f"{intent.name}-{group.hardware}{suffix}",
            intent=intent.name,
            spec=spec,
            target=target,
            cluster=group.cluster,
            hardware=group.hardware,
            topology=topology,
            nodes=tuple(sorted(merged[key])),
            cpu_vendor=facts.vendor or "",
            architecture=facts.architecture,
            cpu_model_number=facts.model_number,
            devices=(*facts.devices, *own),
        )
