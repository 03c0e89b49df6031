"""Sources of one node brought together: one fills what another leaves open, both must agree."""

from collections.abc import Iterable, Iterator

from cpuplan.base.cpuset import EMPTY, CpuSet, cpus_text
from cpuplan.base.naming import fold_names
from cpuplan.base.text import quantity_text
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.importers.base import ARCHITECTURES, Machine, Node, NodeObject, NumaFacts, Zone

#: A Node object has the kernel's memory, which is also the sum of the NUMA nodes; a module that was
#: added or removed since is more than this part of it.
_MEMORY_TOLERANCE = 64
_ASK_FOR_ARCHITECTURE = (
    f"other is written: replace it with one of {', '.join(sorted(ARCHITECTURES))}"
)
#: The remark of a format that names the architecture of most machines.
ARCHITECTURE_MISSING = f"the architecture is missing: {_ASK_FOR_ARCHITECTURE}"
_NODE_OBJECT = "its Node object"
_TOPOLOGY = "its NodeResourceTopology"


def merge(first: NodeObject, other: NodeObject) -> NodeObject:
    """Two objects of one node as one; what both have is taken from the first.

    A Node object has all labels: those of another one are not added to them.
    """
    zones = {zone.id: zone for zone in other.zones}
    for zone in first.zones:
        zones[zone.id] = _merge_zones(zone, zones[zone.id]) if zone.id in zones else zone
    both_told = first.told_labels is not None and other.told_labels is not None
    labels = first.labels if both_told else {**other.labels, **first.labels}
    return NodeObject(
        first.name,
        labels,
        first.architecture or other.architecture,
        first.cluster or other.cluster,
        other.cpus if first.cpus is None else first.cpus,
        other.memory if first.memory is None else first.memory,
        first.huge_pages or other.huge_pages,
        tuple(zones[number] for number in sorted(zones)),
        first.core_types or other.core_types,
        {**other.cluster_facts, **first.cluster_facts},
        other.told_labels if first.told_labels is None else first.told_labels,
        first.origin or other.origin,
    )


def _merge_zones(first: Zone, other: Zone) -> Zone:
    return Zone(
        first.id,
        other.cpus if first.cpus is None else first.cpus,
        other.memory if first.memory is None else first.memory,
        first.huge_pages or other.huge_pages,
        first.distances or other.distances,
    )


def fill(node: Node, other: Node, source: str) -> tuple[Node, list[Diagnostic]]:
    """The node with what it leaves open from `other`, a partial view of the same CPUs.

    Groups of CPUs may differ, since tools see a machine in unlike ways: those of `node` count.
    """
    known, two = node.machine, other.machine
    if known.online != two.online:
        claimed = cpus_text(two.online)
        return node, [_contradiction(node.name, source, "online", cpus_text(known.online), claimed)]
    missing = {name: getattr(two, name) for name in Machine._fields if not getattr(known, name)}
    machine = known._replace(**missing)._replace(
        numa_nodes=filled(known.numa_nodes, two.numa_nodes)
    )
    return node._replace(machine=machine, labels={**other.labels, **node.labels}), []


def filled(nodes: tuple[NumaFacts, ...], others: tuple[NumaFacts, ...]) -> tuple[NumaFacts, ...]:
    """NUMA nodes with what is known of others with the same CPUs; distances only if all match.

    A source that lists CPUs has no nodes without them: those of the others are added.
    """
    if not nodes:
        return others
    ids = {node.id for node in nodes}
    empty = (other for other in others if not other.cpus and other.id not in ids)
    nodes = tuple(sorted((*nodes, *empty), key=lambda node: node.id))
    known = {(other.id, other.cpus): other for other in others}
    all_match = known.keys() == {(node.id, node.cpus) for node in nodes}
    return tuple(
        _filled_node(node, known.get((node.id, node.cpus)), with_distances=all_match)
        for node in nodes
    )


def _filled_node(node: NumaFacts, other: NumaFacts | None, *, with_distances: bool) -> NumaFacts:
    if other is None:
        return node
    return node._replace(
        memory=other.memory if node.memory is None else node.memory,
        distances=node.distances or (other.distances if with_distances else ()),
        huge_pages=node.huge_pages or other.huge_pages,
    )


def complete(node: Node, known: NodeObject) -> tuple[Node, list[Diagnostic]]:
    """The node with what its cluster's objects say, and where they contradict the machine.

    The kubelet's architecture is surer than one derived from a CPU. Of zones that contradict,
    nothing is taken.
    """
    diagnostics = list(_zones_that_differ(node, known.zones))
    machine = node.machine if diagnostics else _with_zones(node.machine, known.zones)
    diagnostics += _capacity_that_differs(node.name, machine, known)
    machine = machine._replace(
        architecture=known.architecture or machine.architecture,
        core_types=machine.core_types or _types_of(machine.online, known.core_types),
        huge_page_sizes=machine.huge_page_sizes or tuple(known.huge_pages),
        numa_nodes=_with_capacity(machine, known),
    )
    labels = {**node.labels, **known.labels}
    cluster = known.cluster or node.cluster
    facts = {**node.cluster_facts, **known.cluster_facts}
    node = node._replace(machine=machine, labels=labels, cluster=cluster, cluster_facts=facts)
    return node._replace(told_labels=known.told_labels), diagnostics


def _types_of(online: CpuSet, types: dict[int, str]) -> dict[int, str]:
    return types if set(online) <= types.keys() else {}


def _zones_that_differ(node: Node, zones: Iterable[Zone]) -> Iterator[Diagnostic]:
    """Zones with another number of CPUs than their NUMA node; a zone without `cpu` may omit it."""
    online = {numa.id: len(numa.cpus & node.machine.online) for numa in node.machine.numa_nodes}
    for zone in zones:
        count = online.get(zone.id, 0)
        if zone.cpus not in (None, count):
            what = f"CPUs in NUMA node {zone.id}"
            yield _contradiction(node.name, _TOPOLOGY, what, count, zone.cpus)


def _with_zones(machine: Machine, zones: tuple[Zone, ...]) -> Machine:
    """The machine with memory, huge pages and distances of zones; those without CPUs are added."""
    if not zones:
        return machine
    nodes = {node.id: node for node in machine.numa_nodes}
    for zone in zones:
        node = nodes.get(zone.id) or NumaFacts(zone.id, EMPTY, None, (), {})
        memory = zone.memory if node.memory is None else node.memory
        nodes[zone.id] = node._replace(memory=memory, huge_pages=node.huge_pages or zone.huge_pages)
    ascending = [nodes[number] for number in sorted(nodes)]
    costs = {zone.id: zone.distances for zone in zones}
    if all(nodes.keys() <= costs.get(number, {}).keys() for number in nodes):
        ascending = [
            node._replace(distances=node.distances or _row(costs[node.id], sorted(nodes)))
            for node in ascending
        ]
    return machine._replace(numa_nodes=tuple(ascending))


def _row(costs: dict[int, int], numbers: Iterable[int]) -> tuple[int, ...]:
    return tuple(costs[number] for number in numbers)


def _with_capacity(machine: Machine, known: NodeObject) -> tuple[NumaFacts, ...]:
    """Memory and huge pages of a machine with one NUMA node are the whole machine's."""
    if len(machine.numa_nodes) != 1:
        return machine.numa_nodes
    node = machine.numa_nodes[0]
    memory = known.memory if node.memory is None else node.memory
    return (node._replace(memory=memory, huge_pages=node.huge_pages or known.huge_pages),)


def _capacity_that_differs(name: str, machine: Machine, known: NodeObject) -> Iterator[Diagnostic]:
    """Where a Node object's capacity is another: CPUs online, memory, configured huge pages."""
    if known.cpus not in (None, len(machine.online)):
        yield _contradiction(name, _NODE_OBJECT, "CPUs online", len(machine.online), known.cpus)
    memory = _memory_of(machine)
    if memory and known.memory:
        tolerance = max(memory, known.memory) // _MEMORY_TOLERANCE
        if abs(memory - known.memory) > tolerance:
            measured, claimed = quantity_text(memory), quantity_text(known.memory)
            yield _contradiction(name, _NODE_OBJECT, "of memory", measured, claimed)
    for size, count in known.huge_pages.items():
        pages = [node.huge_pages[size] for node in machine.numa_nodes if size in node.huge_pages]
        if pages and sum(pages) != count:
            what = f"huge pages of {quantity_text(size * 1024)}"
            yield _contradiction(name, _NODE_OBJECT, what, sum(pages), count)


def _memory_of(machine: Machine) -> int:
    """The memory of all NUMA nodes; 0 where that of one is not known."""
    parts = [node.memory for node in machine.numa_nodes if node.memory is not None]
    return sum(parts) if len(parts) == len(machine.numa_nodes) else 0


def _contradiction(node: str, source: str, what: str, value: object, claimed: object) -> Diagnostic:
    return diagnose("CP131", node=node, what=what, found=value, source=source, claimed=claimed)


#: What is said where one source lacks it; another source may have it.
_MISSING = {
    "sockets": "sockets are missing: one is assumed",
    "numa_nodes": "NUMA nodes are missing: one is assumed",
}


def assume(machine: Machine) -> Machine:
    """The machine with what a document needs and no source had, and what is assumed of it."""
    assumptions = [text for text in machine.assumptions if text not in _MISSING.values()]
    for field, text in _MISSING.items():
        is_said = any(text[:6].strip() in said and "one is" in said for said in assumptions)
        if not getattr(machine, field) and not is_said:
            assumptions.append(text)
    return machine._replace(
        architecture=machine.architecture or "other", assumptions=tuple(assumptions)
    )


def open_points(machine: Machine) -> tuple[str, ...]:
    """What no source had of a machine, in words; to be asked before `assume`."""
    points = (
        (machine.architecture, f"the architecture ({_ASK_FOR_ARCHITECTURE})"),
        (machine.model or machine.architecture not in ("", "x86_64"), "the CPU model"),
        (machine.sockets, "sockets (one is assumed)"),
        (machine.core_ids, "the kernel's core ids"),
        (machine.caches, "caches"),
        (machine.numa_nodes, "NUMA nodes (one is assumed)"),
        (all(node.memory is not None for node in machine.numa_nodes), "the memory of NUMA nodes"),
        (all(node.distances for node in machine.numa_nodes), "NUMA distances"),
        (machine.huge_page_sizes, "huge page sizes"),
        (machine.devices, "PCI devices"),
        (machine.boot_arguments, "boot arguments"),
    )
    return tuple(words for known, words in points if not known)


def remarks(nodes: Iterable[Node]) -> Iterator[str]:
    """A sentence for all partial nodes of which the same is open."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for node in nodes:
        points = open_points(node.machine) if node.partial else ()
        if points:
            alike.setdefault(points, []).append(node.name)
    for points, names in alike.items():
        shown = ", ".join(fold_names(names))
        yield f"{shown}: missing, and left open: {', '.join(points)}"
