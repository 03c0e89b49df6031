"""NodeResourceTopology objects (topology.node.k8s.io v1alpha1, v1alpha2) of three writers.

The resource topology exporter and nfd-topology-updater write zones: how many CPUs, memory, huge
pages and distances of NUMA nodes. koordlet adds an annotation that lists CPU by CPU what `lscpu -e`
prints, and drops the distances. One object may have been written by several of them.
"""

from collections.abc import Iterable
from typing import Any

from cpuplan.base.cpuset import MAX_CPU, CpuSet, CpuSetError
from cpuplan.base.topology import MAX_NUMA_NODE
from cpuplan.importers.base import NodeObject, Zone
from cpuplan.importers.data import Complaints, DataError, clip, items, mapping, number, parse
from cpuplan.importers.machine import MAX_COUNT, Machine, NumaFacts, bare_machine
from cpuplan.importers.objects.node_object import huge_pages, size

CPU_TOPOLOGY = "node.koordinator.sh/cpu-topology"
_MAX_NUMBER = 65535
_MAX_DISTANCE = 255
#: Attributes of nfd-topology-updater on hybrid CPUs, named after the kernel's PMUs.
_CORE_TYPES = {"cpu_core": "performance", "cpu_atom": "efficient", "cpu_lowpower": "lowPower"}


def read(
    name: str, data: dict[str, Any], complaints: Complaints
) -> tuple[Machine | None, NodeObject]:
    """The machine, where the object has CPU numbers, and its zones."""
    zones = _zones(name, items(data.get("zones")), complaints)
    types = _core_types(name, items(data.get("attributes")), complaints)
    node = NodeObject(name, {}, zones=zones, core_types=types)
    text = mapping(mapping(data.get("metadata")).get("annotations")).get(CPU_TOPOLOGY)
    return (None if text is None else _machine(name, text, complaints)), node


def _zones(name: str, rows: Iterable[dict[str, Any]], complaints: Complaints) -> tuple[Zone, ...]:
    """The zones of type Node, ascending by id; of two with one name the first counts."""
    zones: dict[int, Zone] = {}
    for row in rows:
        if row.get("type") != "Node":
            continue
        node = _zone_id(row.get("name"))
        if node is None:
            problem = "the name of a zone must be `node-` and a number"
            complaints.add(f"{name}, zones", row.get("name"), problem)
        else:
            zones.setdefault(node, _zone(node, row))
    return tuple(zones[node] for node in sorted(zones))


def _zone(node: int, row: dict[str, Any]) -> Zone:
    resources = {
        str(item.get("name")): item.get("capacity") for item in items(row.get("resources"))
    }
    distances = {}
    for cost in items(row.get("costs")):
        other, distance = _zone_id(cost.get("name")), number(cost.get("value"), 0, _MAX_DISTANCE)
        if other is not None and distance is not None:
            distances[other] = distance
    return Zone(
        id=node,
        cpus=number(resources.get("cpu"), 0, MAX_COUNT),
        memory=size(resources["memory"]) if "memory" in resources else None,
        huge_pages=huge_pages(resources),
        distances=distances,
    )


def _zone_id(name: object) -> int | None:
    """The NUMA node of `node-0`."""
    prefix, _, digits = name.partition("-") if isinstance(name, str) else ("", "", "")
    return number(digits, 0, MAX_NUMA_NODE) if prefix == "node" else None


def _core_types(
    name: str, attributes: Iterable[dict[str, Any]], complaints: Complaints
) -> dict[int, str]:
    types = {}
    for attribute in attributes:
        kind = _CORE_TYPES.get(str(attribute.get("name")))
        if kind is None:
            continue
        value = attribute.get("value")
        try:
            types.update(dict.fromkeys(CpuSet.parse_kernel(str(value)), kind))
        except CpuSetError as error:
            complaints.add(f"{name}, attributes", value, f"{error.item!r} {error.problem}")
    return types


def _machine(name: str, text: object, complaints: Complaints) -> Machine | None:
    """The machine by the rows `{"id", "core", "socket", "node"}` of the annotation.

    Core and socket are lscpu's logical numbers, not the kernel's ids, and a core is a pair of both,
    as koord-scheduler has it. A row that cannot be used is left out.
    """
    place = f"{name}, annotation {CPU_TOPOLOGY}"
    try:
        documents = parse(text) if isinstance(text, str) else []
    except DataError as error:
        complaints.add(place, clip(text), str(error))
        return None
    cores: dict[tuple[int, int], list[int]] = {}
    sockets: dict[int, int] = {}
    nodes: dict[int, list[int]] = {}
    for row in items(mapping(documents[0] if documents else None).get("detail")):
        cpu = number(row.get("id"), 0, MAX_CPU)
        socket = number(row.get("socket"), -1, _MAX_NUMBER)
        core = number(row.get("core"), 0, _MAX_NUMBER)
        if cpu is None or cpu in sockets or socket is None or core is None:
            problem = "a row needs the numbers id, core and socket, and a CPU has only one row"
            complaints.add(place, row.get("id"), problem)
            continue
        sockets[cpu] = socket
        cores.setdefault((socket, core), []).append(cpu)
        node = number(row.get("node"), 0, MAX_NUMA_NODE)
        if node is not None:
            nodes.setdefault(node, []).append(cpu)
    if not cores:
        return None
    numa_nodes = [NumaFacts(node, CpuSet(nodes[node]), None, (), {}) for node in sorted(nodes)]
    return bare_machine(map(CpuSet, cores.values()))._replace(
        sockets=sockets, numa_nodes=tuple(numa_nodes)
    )
