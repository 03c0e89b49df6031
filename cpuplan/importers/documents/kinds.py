"""Kinds of machines: nodes whose machines are one Hardware document, and the name of it."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from cpuplan.base import naming
from cpuplan.base.emit import to_yaml
from cpuplan.base.name_ranges import fold_names
from cpuplan.base.text import listed
from cpuplan.importers.base import Imported, Node
from cpuplan.importers.documents.differences import MOST_NAMES, differences, same_memory
from cpuplan.importers.documents.layout import hardware_spec
from cpuplan.importers.machine import DeviceFacts, Machine, NumaFacts

#: Words of CPU model names that say nothing about which model it is.
_NOISE = re.compile(
    r"\((r|tm)\)|@.*|\b(intel|amd|cpu|processor|genuine|architected|altivec|supported|dual|version)\b"
    r"|\b\d+-core\b|,"
)
_NO_NAME = re.compile(r"[^a-z0-9]+")


class Kind(NamedTuple):
    """Machines of one Hardware document: the first one's facts, with the least memory of all."""

    spec: dict[str, Any]
    machine: Machine
    nodes: list[Node]


def kinds_of(imported: Imported) -> dict[str, Kind]:
    """The kinds of machines by name; kinds of one name all get a digest of their facts too."""
    by_name: dict[str, list[Kind]] = {}
    for kind in _kinds(imported.nodes):
        by_name.setdefault(_hardware_name(kind.machine), []).append(kind)
    named = {}
    for name, kinds in by_name.items():
        for kind in kinds:
            named[name if len(kinds) == 1 else with_digest(name, kind.spec)] = kind
    return named


def with_digest(name: str, spec: dict[str, Any]) -> str:
    """A name that no other hardware has: with a digest of its facts."""
    digest = hashlib.sha256(to_yaml(spec).encode()).hexdigest()[:8]
    return f"{name[:54]}-{digest}"


def unlike(kinds: Mapping[str, Kind]) -> Iterator[str]:
    """How nodes of one CPU model differ: a sentence for each kind but the most frequent one."""
    models: dict[tuple[str, str], list[Kind]] = {}
    for name in sorted(kinds):
        machine = kinds[name].machine
        if machine.model:
            models.setdefault((machine.architecture, machine.model), []).append(kinds[name])
    for alike in models.values():
        usual = max(alike, key=lambda kind: len(kind.nodes))
        for kind in alike:
            if kind is not usual:
                points = differences(kind.machine, usual.machine) or [
                    "facts that only documents contain"
                ]
                verb = "differs" if len(kind.nodes) == 1 else "differ"
                yield f"{_shown(kind)} {verb} from {_shown(usual)}: {'; '.join(points)}"


def _shown(kind: Kind) -> str:
    return listed(fold_names(node.name for node in kind.nodes), MOST_NAMES)


def _kinds(nodes: Iterable[Node]) -> list[Kind]:
    """Group nodes whose machines are equal except a little memory and what software sets."""
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
    """What distinguishes machines: their document without memory, huge pages, drivers and names."""
    nodes = tuple(node._replace(memory=None, huge_pages={}) for node in machine.numa_nodes)
    devices = tuple(device._replace(driver=None, interfaces=()) for device in machine.devices)
    return to_yaml(hardware_spec(machine._replace(numa_nodes=nodes, devices=devices)))


def _as_much_memory(one: Machine, other: Machine) -> bool:
    pairs = zip(one.numa_nodes, other.numa_nodes, strict=True)
    return all(same_memory(a.memory, b.memory) for a, b in pairs)


def _least(one: Machine, other: Machine) -> Machine:
    """`one` with the lesser memory of each NUMA node; of what software sets, what both agree on."""
    nodes: list[NumaFacts] = []
    for a, b in zip(one.numa_nodes, other.numa_nodes, strict=True):
        memory = None if a.memory is None or b.memory is None else min(a.memory, b.memory)
        pages = a.huge_pages if a.huge_pages == b.huge_pages else {}
        nodes.append(a._replace(memory=memory, huge_pages=pages))
    by_address = {device.address: device for device in other.devices}
    devices = [_agreed(device, by_address.get(device.address, device)) for device in one.devices]
    return one._replace(numa_nodes=tuple(nodes), devices=tuple(devices))


def _agreed(a: DeviceFacts, b: DeviceFacts) -> DeviceFacts:
    driver = a.driver if a.driver == b.driver else None
    interfaces = a.interfaces if a.interfaces == b.interfaces else ()
    return a._replace(driver=driver, interfaces=interfaces)


def _hardware_name(machine: Machine) -> str:
    """`xeon-gold-6330-2s-56c-112t`: model, sockets, cores and threads that are online."""
    words = _NOISE.sub(" ", (machine.model or "").lower())
    model = _NO_NAME.sub("-", words).strip("-") or _name(machine.architecture)
    sockets = len(set(machine.sockets.values())) or 1
    counts = f"{sockets}s-{len(machine.siblings)}c-{len(machine.online)}t"
    return f"{model[:40].strip('-')}-{counts}"


def _name(text: str) -> str:
    return naming.name_from(text, "default", naming.LONGEST_LABEL, dots=False)
