"""Kinds of machines, each one Hardware document: their names, and how those of a model differ."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from cpuplan.base import naming
from cpuplan.base.cpuset import CpuSet, cpus_text
from cpuplan.base.emit import to_yaml
from cpuplan.base.naming import fold_names
from cpuplan.base.text import listed, plural, quantity_text
from cpuplan.importers.base import CacheFacts, DeviceFacts, Imported, Machine, Node, NumaFacts
from cpuplan.importers.documents.hardware import hardware_spec, kubelet_block

#: The kernel keeps a little memory at boot, never the same on two servers of one model.
MEMORY_TOLERANCE = 64
#: Names of one kind that are printed in full.
MOST_NAMES = 3


def same_memory(amount: int | None, other: int | None) -> bool:
    """Whether two amounts in bytes differ by no more than the kernel's share."""
    if amount is None or other is None:
        return amount is other
    return abs(amount - other) <= max(amount, other) // MEMORY_TOLERANCE


def differences(machine: Machine, other: Machine) -> list[str]:
    """What only one of the two machines has; what no document contains is not compared."""
    return [
        *_cpus(machine, other),
        *_groups_of_cpus(machine, other),
        *_cache_sizes(machine, other),
        *_numa_nodes(machine, other),
        *_devices(machine, other),
        *_labels(machine, other),
    ]


def _cpus(a: Machine, b: Machine) -> Iterator[str]:
    """The numbers of CPUs; where these are the same, which are offline."""
    present, others = a.online | a.offline, b.online | b.offline
    if len(present) != len(others):
        yield f"{len(present)} CPUs, not {len(others)}"
    elif present != others:
        yield "other CPU numbers"
    elif a.online != b.online:
        states = {"offline": b.online - a.online, "online": a.online - b.online}
        yield ", ".join(f"{cpus_text(cpus)} {state}" for state, cpus in states.items() if cpus)


def _groups_of_cpus(a: Machine, b: Machine) -> Iterator[str]:
    """The counts of groups; their members only where the counts are the same."""
    both = a.online & b.online
    rows = (
        ("cores", "siblings", a.siblings, b.siblings),
        ("sockets", "CPUs in the sockets", _by_label(a.sockets), _by_label(b.sockets)),
        ("dies", "CPUs in the dies", _by_label(a.dies), _by_label(b.dies)),
        (
            "last-level caches",
            "CPUs in the last-level caches",
            _last_level(a.caches),
            _last_level(b.caches),
        ),
    )
    for nouns, members, mine, theirs in rows:
        if not mine or not theirs:
            if mine or theirs:
                yield f"{nouns} {'are' if mine else 'are not'} known"
        elif _within(mine, both) != _within(theirs, both):
            counts = f"{len(mine)} {nouns}, not {len(theirs)}"
            yield counts if len(mine) != len(theirs) else f"other {members}"


def _within(groups: Iterable[CpuSet], cpus: CpuSet) -> set[CpuSet]:
    return {group & cpus for group in groups if group & cpus}


def _by_label(labels: Mapping[int, int]) -> list[CpuSet]:
    groups: dict[int, list[int]] = {}
    for cpu, label in labels.items():
        groups.setdefault(label, []).append(cpu)
    return [CpuSet(cpus) for cpus in groups.values()]


def _last_level(caches: Iterable[CacheFacts]) -> list[CpuSet]:
    return [cache.cpus for cache in caches if cache.level == 3]


def _cache_sizes(a: Machine, b: Machine) -> Iterator[str]:
    for level in sorted({cache.level for cache in (*a.caches, *b.caches)}, reverse=True):
        sizes, others = _sizes(a.caches, level), _sizes(b.caches, level)
        if sizes != others and sizes and others:
            yield f"level {level} caches of {', '.join(sizes)}, not {', '.join(others)}"


def _sizes(caches: Iterable[CacheFacts], level: int) -> list[str]:
    sizes = {cache.size for cache in caches if cache.level == level and cache.size}
    return [quantity_text(size) for size in sorted(sizes)]


def _numa_nodes(a: Machine, b: Machine) -> Iterator[str]:
    mine = {node.id: node for node in a.numa_nodes}
    theirs = {node.id: node for node in b.numa_nodes}
    if mine.keys() != theirs.keys():
        yield f"NUMA nodes {_numbers(mine)}, not {_numbers(theirs)}"
        return
    both = a.online & b.online
    if any(mine[node].cpus & both != theirs[node].cpus & both for node in mine):
        yield "other CPUs in the NUMA nodes"
    if any(mine[node].distances != theirs[node].distances for node in mine):
        yield "other NUMA distances"
    by_text: dict[str, list[int]] = {}
    for node in sorted(mine):
        memory, other = mine[node].memory, theirs[node].memory
        if not same_memory(memory, other):
            by_text.setdefault(_memory(memory, other), []).append(node)
    for text, nodes in by_text.items():
        if len(nodes) > 1:
            yield f"NUMA nodes {_numbers(nodes)} have {text} each"
        else:
            yield f"NUMA node {nodes[0]} has {text}"


def _numbers(numbers: Iterable[int]) -> str:
    return str(CpuSet(numbers)) or "none"


def _memory(memory: int | None, other: int | None) -> str:
    if memory is None or other is None:
        return "memory of known size" if other is None else "memory of unknown size"
    unit = 1024**3 if abs(memory - other) >= 1024**3 else 1024**2
    amount = quantity_text(round(abs(memory - other) / unit) * unit)
    return f"{amount} {'less' if memory < other else 'more'} memory"


def _devices(a: Machine, b: Machine) -> Iterator[str]:
    mine, theirs = _by_address(a), _by_address(b)
    if missing := sorted(theirs.keys() - mine.keys()):
        yield f"no {_named('device', missing)}"
    if more := sorted(mine.keys() - theirs.keys()):
        yield f"{_named('device', more)} in addition"
    for address in sorted(mine.keys() & theirs.keys()):
        if text := _device(mine[address], theirs[address]):
            yield f"device {address} {text}"


def _by_address(machine: Machine) -> dict[str, DeviceFacts]:
    return {device.address: device for device in machine.devices if not device.physical_function}


def _named(noun: str, names: list[str]) -> str:
    return f"{plural(noun, len(names))} {listed(names, MOST_NAMES)}"


def _device(a: DeviceFacts, b: DeviceFacts) -> str:
    if (a.vendor, a.device, a.pci_class) != (b.vendor, b.device, b.pci_class):
        return f"is {a.vendor}:{a.device}, not {b.vendor}:{b.device}"
    if a.numa_node != b.numa_node:
        return f"on {_numa_node(a.numa_node)}, not {_numa_node(b.numa_node)}"
    if a.total_functions != b.total_functions:
        return f"with {a.total_functions or 0} virtual functions, not {b.total_functions or 0}"
    return ""


def _numa_node(number: int | None) -> str:
    return "no NUMA node" if number is None else f"NUMA node {number}"


def _labels(a: Machine, b: Machine) -> Iterator[str]:
    """What only names CPUs, or changes nothing about where they are."""
    both = a.online & b.online
    # a machine with other CPUs or caches has other ids too, which says nothing more
    same_cpus = a.online | a.offline == b.online | b.offline
    same_caches = same_cpus and len(a.caches) == len(b.caches)
    rows: tuple[tuple[str, bool, Any, Any], ...] = (
        ("architecture", True, a.architecture, b.architecture),
        ("CPU vendor", True, a.vendor, b.vendor),
        ("CPU model number", True, a.model_number, b.model_number),
        ("core types", True, _of(both, a.core_types), _of(both, b.core_types)),
        (
            "clusters",
            True,
            {cpus & both for cpus in a.clusters},
            {cpus & both for cpus in b.clusters},
        ),
        ("huge page sizes", True, a.huge_page_sizes, b.huge_page_sizes),
        ("socket ids", True, _of(both, a.sockets), _of(both, b.sockets)),
        ("die ids", True, _of(both, a.dies), _of(both, b.dies)),
        ("core ids", same_cpus, _of(both, a.core_ids), _of(both, b.core_ids)),
        (
            "cache ids",
            same_caches,
            [cache.id for cache in a.caches],
            [cache.id for cache in b.caches],
        ),
        (
            "files that only the kubelet reads",
            a.online == b.online,
            to_yaml(kubelet_block(a)),
            to_yaml(kubelet_block(b)),
        ),
    )
    if names := [name for name, compared, value, other in rows if compared and value != other]:
        yield "other " + ", ".join(names)


def _of(cpus: CpuSet, labels: Mapping[int, Any]) -> list[Any]:
    return [labels.get(cpu) for cpu in cpus]


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


def _as_much_memory(machine: Machine, other: Machine) -> bool:
    pairs = zip(machine.numa_nodes, other.numa_nodes, strict=True)
    return all(same_memory(a.memory, b.memory) for a, b in pairs)


def _least(machine: Machine, other: Machine) -> Machine:
    """`machine` with the lesser memory of each NUMA node; of what software sets, what both have."""
    nodes: list[NumaFacts] = []
    for a, b in zip(machine.numa_nodes, other.numa_nodes, strict=True):
        memory = None if a.memory is None or b.memory is None else min(a.memory, b.memory)
        pages = a.huge_pages if a.huge_pages == b.huge_pages else {}
        nodes.append(a._replace(memory=memory, huge_pages=pages))
    by_address = {device.address: device for device in other.devices}
    devices = [
        _agreed(device, by_address.get(device.address, device)) for device in machine.devices
    ]
    assumptions = tuple(dict.fromkeys((*machine.assumptions, *other.assumptions)))
    return machine._replace(
        numa_nodes=tuple(nodes), devices=tuple(devices), assumptions=assumptions
    )


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
