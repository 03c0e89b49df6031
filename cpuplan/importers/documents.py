"""What was imported as documents: a Hardware document for each kind of machine, a Nodes document
for each cluster.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from cpuplan import API_VERSION, naming
from cpuplan.emit import Flow, to_yaml
from cpuplan.importers.base import DeviceFacts, Imported, Machine, Node, NumaFacts
from cpuplan.importers.differences import differences, same_memory
from cpuplan.importers.layout import hardware_spec

#: The cluster of nodes whose source does not name one.
DEFAULT_CLUSTER = "default"
#: Words of CPU model names that say nothing about which model it is.
_NOISE = re.compile(
    r"\((r|tm)\)|@.*|\b(intel|amd|cpu|processor|genuine|architected|altivec|supported|dual|version)\b|\b\d+-core\b|,"
)
_NO_NAME = re.compile(r"[^a-z0-9]+")


class Kind(NamedTuple):
    """Machines that are one Hardware document; the first one's facts count, with the least
    memory.
    """

    spec: dict[str, Any]
    machine: Machine
    nodes: list[Node]


def kinds_of(imported: Imported) -> dict[str, Kind]:
    """The kinds of machines, by the names of their Hardware documents."""
    return _named(_kinds(imported.nodes))


def hardware_documents(imported: Imported) -> list[dict[str, Any]]:
    """Hardware documents, then Nodes documents, each kind ascending by name. Identical hardware is
    one document.
    """
    return documents_of(kinds_of(imported))


def documents_of(kinds: Mapping[str, Kind]) -> list[dict[str, Any]]:
    """The documents of the kinds of machines and their nodes; see `hardware_documents`."""
    hardware = [document("Hardware", name, kinds[name].spec) for name in sorted(kinds)]
    nodes = ((node, name) for name, kind in kinds.items() for node in kind.nodes)
    return hardware + nodes_documents(sorted(nodes, key=lambda pair: pair[0].name))


def nodes_documents(nodes: Iterable[tuple[Node, str]]) -> list[dict[str, Any]]:
    """A Nodes document for each cluster, of nodes and the names of their hardware."""
    clusters: dict[str, list[tuple[Node, str]]] = {}
    for node, hardware in nodes:
        clusters.setdefault(cluster_of(node), []).append((node, hardware))
    return [
        document("Nodes", cluster, _nodes_spec(cluster, clusters[cluster]))
        for cluster in sorted(clusters)
    ]


def cluster_of(node: Node) -> str:
    """The name of a node's cluster, as documents have it."""
    return _slug(node.cluster or DEFAULT_CLUSTER)


def derived_clusters(nodes: Iterable[Node]) -> Iterator[str]:
    """A sentence for each cluster whose name nobody gave: what it was derived from, and how to have
    another one.
    """
    found: dict[tuple[str, str], int] = {}
    for node in nodes:
        source = node.cluster_from if node.cluster is not None else "nothing"
        key = cluster_of(node), source
        if source:
            found[key] = found.get(key, 0) + 1
    for (cluster, source), number in found.items():
        why = "nothing tells its name" if source == "nothing" else f"so named after {source}"
        yield f"cluster {cluster} ({number} node{'s' * (number > 1)}): {why}; --cluster NAME gives it another name"


def render(imported: Imported, header: str = "") -> dict[str, str]:
    """YAML text by file name. In `header`, which goes above each document, {kind} becomes
    `hardware` or `nodes`.
    """
    return texts_of(hardware_documents(imported), header)


def texts_of(made: Iterable[Mapping[str, Any]], header: str = "") -> dict[str, str]:
    """The documents as YAML, by file name; see `render`."""
    return {file_name(each): text_of(each, header) for each in made}


def file_name(made: Mapping[str, Any]) -> str:
    """Where a document is written first."""
    return f"{made['kind'].lower()}-{made['metadata']['name']}.yaml"


def text_of(made: Mapping[str, Any], header: str = "") -> str:
    """A document as YAML; see `render`."""
    return to_yaml(dict(made), header.replace("{kind}", made["kind"].lower()))


def unlike(kinds: Mapping[str, Kind]) -> Iterator[str]:
    """How nodes of one CPU model differ: a sentence for each kind, compared with the kind that most
    nodes are.
    """
    models: dict[tuple[str, str], list[Kind]] = {}
    for name in sorted(kinds):
        machine = kinds[name].machine
        if machine.model:
            models.setdefault((machine.architecture, machine.model), []).append(kinds[name])
    for alike in models.values():
        usual = max(alike, key=lambda kind: len(kind.nodes))
        for kind in alike:
            if kind is not usual:
                found = differences(kind.machine, usual.machine) or ["what only documents tell"]
                verb = "differs" if len(kind.nodes) == 1 else "differ"
                yield f"{_shown(kind)} {verb} from {_shown(usual)}: {'; '.join(found)}"


def _shown(kind: Kind) -> str:
    names = fold_names(node.name for node in kind.nodes)
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def document(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    """A whole document."""
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}


def _kinds(nodes: Iterable[Node]) -> list[Kind]:
    """Group nodes whose machines are equal but for a little memory, and for what is set by
    software.
    """
    kinds: list[Kind] = []
    by_facts: dict[str, list[int]] = {}
    for node in nodes:
        machine = node.machine
        places = by_facts.setdefault(_facts(machine), [])
        for place in places:
            kind = kinds[place]
            if _as_much_memory(kind.machine, machine):
                kind.nodes.append(node)
                kinds[place] = kind._replace(machine=_least(kind.machine, machine))
                break
        else:
            places.append(len(kinds))
            kinds.append(Kind({}, machine, [node]))
    return [kind._replace(spec=hardware_spec(kind.machine)) for kind in kinds]


def _facts(machine: Machine) -> str:
    """Everything that makes machines unlike: all that a document says, less memory, huge pages,
    drivers and names.
    """
    nodes = tuple(node._replace(memory=None, huge_pages={}) for node in machine.numa_nodes)
    devices = tuple(device._replace(driver=None, interfaces=()) for device in machine.devices)
    return to_yaml(hardware_spec(machine._replace(numa_nodes=nodes, devices=devices)))


def _as_much_memory(one: Machine, other: Machine) -> bool:
    return all(
        same_memory(a.memory, b.memory)
        for a, b in zip(one.numa_nodes, other.numa_nodes, strict=True)
    )


def _least(one: Machine, other: Machine) -> Machine:
    """`one` with the lesser memory of each NUMA node; of what software sets, what both agree on."""
    nodes: list[NumaFacts] = []
    for a, b in zip(one.numa_nodes, other.numa_nodes, strict=True):
        memory = None if a.memory is None or b.memory is None else min(a.memory, b.memory)
        pages = a.huge_pages if a.huge_pages == b.huge_pages else {}
        nodes.append(a._replace(memory=memory, huge_pages=pages))
    functions = {device.address: device for device in other.devices}
    devices = tuple(
        _agreed(device, functions.get(device.address, device)) for device in one.devices
    )
    return one._replace(numa_nodes=tuple(nodes), devices=devices)


def _agreed(a: DeviceFacts, b: DeviceFacts) -> DeviceFacts:
    driver = a.driver if a.driver == b.driver else None
    return a._replace(
        driver=driver, interfaces=a.interfaces if a.interfaces == b.interfaces else ()
    )


def _named(kinds: Iterable[Kind]) -> dict[str, Kind]:
    """Kinds by a name made of their facts; where two have one name, all of them get a digest of
    their facts too.
    """
    by_name: dict[str, list[Kind]] = {}
    for kind in kinds:
        by_name.setdefault(_hardware_name(kind.machine), []).append(kind)
    named = {}
    for name, alike in by_name.items():
        for kind in alike:
            named[name if len(alike) == 1 else with_digest(name, kind.spec)] = kind
    return named


def with_digest(name: str, spec: dict[str, Any]) -> str:
    """A name that no other hardware has: with a digest of its facts."""
    return f"{name[:54]}-{_digest(spec)}"


def _digest(spec: dict[str, Any]) -> str:
    import hashlib

    return hashlib.sha256(to_yaml(spec).encode()).hexdigest()[:8]


def _hardware_name(machine: Machine) -> str:
    """`xeon-gold-6330-2s-56c-112t`: model, sockets, cores and threads that are online."""
    model = _NO_NAME.sub("-", _NOISE.sub(" ", (machine.model or "").lower())).strip("-")
    counts = f"{len(set(machine.sockets.values())) or 1}s-{len(machine.siblings)}c-{len(machine.online)}t"
    return f"{(model or _slug(machine.architecture))[:40].strip('-')}-{counts}"


def _slug(text: str) -> str:
    return naming.name_from(text, DEFAULT_CLUSTER, naming.LONGEST_LABEL, dots=False)


def _nodes_spec(cluster: str, nodes: list[tuple[Node, str]]) -> dict[str, Any]:
    """The spec of a Nodes document; what all nodes share stands once, numbered names become
    ranges.
    """
    shared_hardware = nodes[0][1] if len({hardware for _, hardware in nodes}) == 1 else None
    shared_labels = dict(set.intersection(*(set(node.labels.items()) for node, _ in nodes)))
    groups: dict[tuple[str, tuple[tuple[str, str], ...]], list[str]] = {}
    for node, hardware in nodes:
        own = {key: value for key, value in node.labels.items() if key not in shared_labels}
        groups.setdefault((hardware, tuple(sorted(own.items()))), []).append(node.name)
    entries = []
    for (hardware, labels), names in groups.items():
        for name in fold_names(names):
            entry: dict[str, Any] = {"name": name}
            if shared_hardware is None:
                entry["hardware"] = hardware
            if labels:
                entry["labels"] = dict(labels)
            entries.append(entry if labels else Flow(entry))
    spec: dict[str, Any] = {"cluster": cluster}
    if shared_hardware:
        spec["hardware"] = shared_hardware
    if shared_labels:
        spec["labels"] = dict(sorted(shared_labels.items()))
    return {**spec, "nodes": entries}


def fold_names(names: Iterable[str]) -> list[str]:
    """`worker-[0-2]` for worker-0, worker-1, worker-2: the last number of a name's first label
    becomes a range.
    """
    runs: list[tuple[str, str, list[str]]] = []
    parts = sorted(map(_split_name, names), key=lambda part: (part[0], part[2], _order(part[1])))
    for prefix, digits, suffix in parts:
        if (
            runs
            and digits
            and runs[-1][:2] == (prefix, suffix)
            and _follows(runs[-1][2][-1], digits)
        ):
            runs[-1][2].append(digits)
        else:
            runs.append((prefix, suffix, [digits]))
    return [
        f"{prefix}[{digits[0]}-{digits[-1]}]{suffix}"
        if len(digits) > 1
        else f"{prefix}{digits[0]}{suffix}"
        for prefix, suffix, digits in runs
    ]


def _split_name(name: str) -> tuple[str, str, str]:
    match = re.fullmatch(r"([^.]*?)(\d{0,9})((?:[^.\d][^.\d]*)?(?:\..*)?)", name)
    return (match[1], match[2], match[3]) if match else (name, "", "")


def _order(digits: str) -> tuple[int, int]:
    return int(digits or 0), len(digits)


def _follows(last: str, digits: str) -> bool:
    """Whether a range from `last` to `digits` has just these two, zeros included (`expand_names`
    pads to the first).
    """
    return (
        bool(last) and int(digits) == int(last) + 1 and str(int(digits)).zfill(len(last)) == digits
    )
