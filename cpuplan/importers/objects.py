"""Objects of a cluster: Node and NodeResourceTopology, as `kubectl get -o yaml` prints them.

The resource topology exporter and nfd-topology-updater write zones: how many CPUs, memory, huge
pages and distances of NUMA nodes. koordlet adds an annotation that lists CPU by CPU what `lscpu -e`
prints, and drops the distances. One object may have been written by several of them.

YAML or JSON, one object or many in a file: a stream, a `List`, a `NodeList`, a
`NodeResourceTopologyList`. Objects of other kinds are passed over.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from cpuplan.base.cpuset import MAX_CPU, CpuSet, CpuSetError
from cpuplan.base.naming import is_label, is_subdomain
from cpuplan.base.text import quantity_bytes
from cpuplan.base.topology import MAX_NUMA_NODE
from cpuplan.facts.programs import CONTAINERD
from cpuplan.importers import data
from cpuplan.importers.base import (
    MAX_COUNT,
    MAX_MEMORY,
    Format,
    Imported,
    Machine,
    Node,
    NodeObject,
    NumaFacts,
    Zone,
    bare_machine,
)
from cpuplan.importers.data import Complaints, DataError, clip, items, mapping, number, parse
from cpuplan.importers.packed_files import ArchiveError

#: GOARCH to uname(1).
_ARCHITECTURES = {
    "amd64": "x86_64",
    "arm64": "aarch64",
    "ppc64le": "ppc64le",
    "s390x": "s390x",
    "riscv64": "riscv64",
    "loong64": "loongarch64",
}
#: Labels of these domains are kept by the system; selectors of people use the others.
_SYSTEM_LABEL = re.compile(r"([^/]*\.)?(kubernetes\.io|k8s\.io|openshift\.io)/")
_KEPT_LABEL = re.compile(r"(node-role|node-restriction)\.kubernetes\.io/|kubernetes\.io/arch\Z")
_HUGE_PAGES = re.compile(r"hugepages-([0-9]{1,6}[KMG]i)")


def read_node(data: dict[str, Any], cluster: str | None = None) -> NodeObject | None:
    """The node of `data`; None where it has no usable name."""
    name = object_name(data)
    if name is None:
        return None
    texts = mapping(data["metadata"].get("labels"))
    labels = {str(key): str(value) for key, value in texts.items()}
    status = mapping(data.get("status"))
    info = mapping(status.get("nodeInfo"))
    reported = info.get("architecture")
    architecture = labels.get("kubernetes.io/arch") or reported
    capacity = mapping(status.get("capacity"))
    return NodeObject(
        name,
        kept_labels(labels),
        _ARCHITECTURES.get(str(architecture)),
        cluster,
        number(capacity.get("cpu"), 1, MAX_COUNT),
        size(capacity.get("memory")),
        huge_pages(capacity),
        cluster_facts=_runtime(info),
        told_labels=labels,
    )


_RUNTIME = re.compile(r"(containerd|cri-o)://v?(\d+)\.(\d+)\b.*")
#: Of OpenShift, which has CRI-O on all of its nodes.
_WITH_OPERATOR = "CoreOS"


def _runtime(info: Mapping[str, Any]) -> dict[str, str]:
    """The runtime that a Node reports, and of containerd the newest known release up to its own."""
    match = _RUNTIME.fullmatch(str(info.get("containerRuntimeVersion", "")))
    if match is None or _WITH_OPERATOR in str(info.get("osImage", "")):
        return {}
    if match[1] == "cri-o":
        return {"runtime": "crio"}
    own = int(match[2]), int(match[3])
    known = [name for name in CONTAINERD.names if tuple(map(int, name.split("."))) <= own]
    return {"runtime": "containerd", **({"containerd": known[-1]} if known else {})}


def kept_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """The labels that an inventory has: those that people select nodes by."""
    return {
        key: value
        for key, value in labels.items()
        if is_label(key, value) and (_KEPT_LABEL.match(key) or not _SYSTEM_LABEL.match(key))
    }


def object_name(data: dict[str, Any]) -> str | None:
    """The name of an object that is called as a node is; None where it has no usable one."""
    name = mapping(data.get("metadata")).get("name")
    return name if isinstance(name, str) and is_subdomain(name) else None


def size(value: object) -> int | None:
    """A quantity of memory in bytes; None for any other value."""
    try:
        amount = quantity_bytes(str(value))
    except ValueError:
        return None
    return amount if amount <= MAX_MEMORY else None


def huge_pages(resources: dict[str, Any]) -> dict[int, int]:
    """Pages by size in kB, ascending; the amounts of resources `hugepages-<size>` are bytes."""
    pages = {}
    for key, value in resources.items():
        match = _HUGE_PAGES.fullmatch(key)
        page, amount = quantity_bytes(match[1]) if match else 0, size(value)
        if page and amount is not None:
            pages[page // 1024] = amount // page
    return dict(sorted(pages.items()))


CPU_TOPOLOGY = "node.koordinator.sh/cpu-topology"
_MAX_NUMBER = 65535
_MAX_DISTANCE = 255
#: Attributes of nfd-topology-updater on hybrid CPUs, named after the kernel's PMUs.
_CORE_TYPES = {"cpu_core": "performance", "cpu_atom": "efficient", "cpu_lowpower": "lowPower"}


def read_topology(
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


_NODE = "Node"
_TOPOLOGY = "NodeResourceTopology"
_MAX_LISTS = 4  # a list in a list is odd enough


def read(path: Path) -> Imported:
    """The nodes of which an object lists the CPUs, and what the objects say of nodes."""
    try:
        documents = data.read(path)
    except ArchiveError as error:
        return Imported((), (), (error.diagnostic,))
    complaints = data.Complaints(str(path))
    nodes: list[Node] = []
    objects: list[NodeObject] = []
    for kind, value in _objects(documents):
        name = object_name(value)
        if name is None:
            named = data.mapping(value.get("metadata")).get("name")
            problem = "the name of a node must be an RFC 1123 subdomain"
            complaints.add(f"{kind}, metadata.name", named, problem)
        elif kind == _NODE:
            objects += filter(None, (read_node(value),))
        else:
            machine, node = read_topology(name, value, complaints)
            objects.append(node)
            if machine is not None:
                nodes.append(Node(name, machine, {}, partial=True))
    return Imported(tuple(nodes), tuple(_remarks(path, nodes)), tuple(complaints), tuple(objects))


def _remarks(path: Path, nodes: Iterable[Node]) -> Iterator[str]:
    """What the annotation of koordlet leaves open, and where its cores may not be the kernel's."""
    cores = [core for node in nodes for core in node.machine.siblings]
    if cores:
        yield (
            f"{path}: koordlet does not report offline CPUs, dies, clusters and kinds of cores; "
            "sockets are as in lscpu"
        )
    if any(len(core) > 2 for core in cores):
        yield (
            f"{path}: cores of more than two CPUs: "
            "lscpu may have numbered the cores of each CPU type from 0"
        )


def _objects(
    values: Iterable[Any], kind: str = "", depth: int = 0
) -> Iterator[tuple[str, dict[str, Any]]]:
    """(kind, object) of the kinds that are read; the items of a typed list may leave theirs out."""
    for value in values:
        if not isinstance(value, dict):
            continue
        known = str(value.get("kind") or kind)
        if known in (_NODE, _TOPOLOGY):
            yield known, value
        elif known.endswith("List") and isinstance(value.get("items"), list) and depth < _MAX_LISTS:
            yield from _objects(value["items"], known.removesuffix("List"), depth + 1)


FORMAT = Format(
    name="objects",
    summary="NodeResourceTopology and Node objects",
    text=re.compile(
        r"""(?s:.*?)(^|[{,\s])["']?kind["']?\s*:"""
        r"""\s*["']?(List|(NodeResourceTopology|Node)(List)?)["']?\s*($|[,}])""",
        re.MULTILINE,
    ),
    read=read,
)
