"""From a topology to boxes: what divides a machine, its memory and devices; a Hardware as a map."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from cpuplan.base.cpuset import EMPTY, CpuSet, cpus_text, union
from cpuplan.base.text import counted, joined, plural, quantity_bytes
from cpuplan.base.topology import UNKNOWN, Topology
from cpuplan.fleet.hardware import UNCORE_LEVEL, cache_domains, numbers
from cpuplan.language.model.inventory import Device, HardwareSpec
from cpuplan.render.map.boxes import (
    Box,
    Core,
    Group,
    Map,
    Mark,
    Table,
    cache_text,
    cache_words,
    counts,
    kind_mark,
    memory_text,
    numa_title,
    type_words,
)
from cpuplan.upstream.kubelet.sysinfo import deviations, unseen_cpus

_CLASSES = ("network", "gpu", "accelerator", "storage", "other")


def device_lines(devices: Iterable[Device]) -> dict[int | None, list[str]]:
    """By NUMA node, with None last: lines such as `network: 31:00.0-3 i40e, 4b:00.0-1 ice`."""
    by_node: dict[int | None, list[Device]] = {}
    for device in sorted(devices, key=_place):
        by_node.setdefault(device.numa_node, []).append(device)
    return {node: list(_device_texts(members)) for node, members in by_node.items()}


def _place(device: Device) -> tuple[bool, int, str]:
    """Devices at no NUMA node last."""
    return device.numa_node is None, device.numa_node or 0, device.address


def _device_texts(devices: Sequence[Device]) -> Iterator[str]:
    for name in _CLASSES:
        members = [device for device in devices if device.device_class == name]
        if members:
            yield f"{name}: {', '.join(_cards(members))}"


def _cards(devices: Iterable[Device]) -> Iterator[str]:
    """The functions of one card that have one driver together, with what drives them."""
    cards: dict[tuple[str, str], list[Device]] = {}
    for device in devices:
        card = device.address.rpartition(".")[0]
        cards.setdefault((card, _description(device)), []).append(device)
    for (card, description), functions in cards.items():
        yield f"{_addresses(card, functions)} {description}".rstrip()


def _description(device: Device) -> str:
    """Its driver, or its ids without one, and how many virtual functions it can have."""
    ids = ":".join(part.removeprefix("0x") for part in (device.vendor, device.device) if part)
    kind = device.driver or (f"[{ids}]" if ids else "")
    functions = f"up to {device.functions} VFs" if device.functions else ""
    return " ".join(filter(None, (device.name, kind, functions)))


def _addresses(card: str, devices: Sequence[Device]) -> str:
    """`31:00.0-3`: domain 0 is left out, as lspci does."""
    functions = [int(device.address[-1]) for device in devices]
    first, last = functions[0], functions[-1]
    numbers = ",".join(map(str, functions))
    if len(functions) > 1 and last - first == len(functions) - 1:
        numbers = f"{first}-{last}"
    return f"{card.removeprefix('0000:')}.{numbers}"


class Part(NamedTuple):
    """Online CPUs that share something, its title, and the offline CPUs of it.

    `absent` is the title of the CPUs that have no such part on a machine where others have one.
    """

    title: str
    cpus: CpuSet
    offline: CpuSet = EMPTY
    numa_node: int | None = None
    absent: str = ""


#: Parts of one kind, that of the lowest CPUs first.
Level = Sequence[Part]
_CACHE = "last-level cache"


class _Cache(NamedTuple):
    """A last-level cache of the document."""

    cpus: CpuSet
    number: int | None
    size: str | None


def outer_levels(spec: HardwareSpec, topology: Topology) -> tuple[list[Level], list[str]]:
    """Sockets and NUMA nodes; and words on what each core has for itself, without borders."""
    return _levels(
        topology, {"socket": _sockets(spec, topology), "NUMA node": _numa_nodes(spec, topology)}
    )


def inner_levels(
    spec: HardwareSpec, topology: Topology, *, caches_by_cpu: bool
) -> tuple[list[Level], list[str]]:
    """Dies and last-level caches, likewise; caches by lowest CPU, or by the kernel's numbers."""
    if caches_by_cpu:
        caches = _caches_by_cpu(topology)
        return _levels(topology, {"die": _dies(topology), _CACHE: caches})
    caches = _caches(spec, topology)
    levels, per_core = _levels(topology, {"die": _dies(topology), _CACHE: caches})
    # `cache_words` says it of caches
    return levels, [words for words in per_core if _CACHE not in words]


def _levels(topology: Topology, levels: Mapping[str, Level]) -> tuple[list[Level], list[str]]:
    cores = set(topology.cores.values())
    shown, per_core = [], []
    for name, parts in levels.items():
        if len(parts) > 1 and cores.issuperset(part.cpus for part in parts):
            per_core.append(f"a {name} for each core")
        elif parts:
            shown.append(parts)
    return shown, per_core


def _sockets(spec: HardwareSpec, topology: Topology) -> Level:
    listed = {group.id: group.cpus for group in spec.topology.sockets} if spec.topology else {}
    parts = []
    for socket, cpus in topology.sockets.items():
        if socket != UNKNOWN:
            offline = listed.get(socket, EMPTY) & topology.offline
            parts.append(Part(f"socket {socket}", cpus, offline, absent="no socket"))
    return parts


def _numa_nodes(spec: HardwareSpec, topology: Topology) -> Level:
    listed = {node.id: node for node in spec.topology.numa_nodes} if spec.topology else {}
    parts = []
    for node, cpus in topology.numa_nodes.items():
        if node == UNKNOWN:
            continue
        title, offline = numa_title(topology, node), EMPTY
        if node in listed:
            offline = (listed[node].cpus or EMPTY) & topology.offline
            sizes = listed[node].huge_pages.items()
            pages = sorted((quantity_bytes(size), count) for size, count in sizes)
            title += "".join(f", {count} pages of {memory_text(size)}" for size, count in pages)
        parts.append(Part(title, cpus, offline, node, absent="no NUMA node"))
    return parts


def _dies(topology: Topology) -> Level:
    """Dies if a socket has several."""
    bits: dict[tuple[int, int], int] = {}
    for cpu in topology.cpus:
        bits[cpu.socket, cpu.die] = bits.get((cpu.socket, cpu.die), 0) | 1 << cpu.cpu
    if len(bits) == len(topology.sockets):
        return []
    return [
        Part(f"die {die}", CpuSet.from_bits(bits[socket, die]), absent="no die")
        for socket, die in sorted(bits)
    ]


def _caches(spec: HardwareSpec, topology: Topology) -> Level:
    """Last-level caches by the kernel's id, if it is known, and by size if sizes differ."""
    listed = list(_listed_caches(spec))
    has_sizes = len({cache.size for cache in listed}) > 1
    parts = []
    for lowest, cpus in topology.uncore_caches.items():
        cache = next((cache for cache in listed if lowest in cache.cpus), _Cache(cpus, None, None))
        title = "L3" if cache.number is None else f"L3 {cache.number}"
        size = f" of {cache_text(cache.size)}" if has_sizes and cache.size else ""
        parts.append(Part(title + size, cpus, absent="no L3"))
    return parts


def _caches_by_cpu(topology: Topology) -> Level:
    return [
        Part(f"cache {cache}", cpus, absent="no cache")
        for cache, cpus in topology.uncore_caches.items()
    ]


def _listed_caches(spec: HardwareSpec) -> Iterator[_Cache]:
    if spec.topology is None:
        return
    for cache in spec.topology.caches:
        if cache.level == UNCORE_LEVEL:
            domains = cache_domains(spec.topology, cache)
            ids: Sequence[int | None] = numbers(cache.ids) if cache.ids else [None] * len(domains)
            for cpus, number in zip(domains, ids, strict=True):
                yield _Cache(cpus, number, cache.size)


#: A table of more NUMA nodes is too large to read.
MOST_NODES = 16
_NONE = "no memory"


class _Memory(NamedTuple):
    """What a NUMA node without CPUs has."""

    size: str  # empty if it is not known
    nearest: str
    devices: tuple[str, ...]


def memory_boxes(topology: Topology, devices: dict[int | None, list[str]]) -> tuple[Box, ...]:
    """A box for each run of like NUMA nodes without CPUs; takes their lines out of `devices`."""
    runs: list[tuple[list[int], _Memory]] = []
    for node, facts in topology.numa_facts.items():
        if node in topology.numa_nodes or node == UNKNOWN:
            continue
        size = "" if facts.memory is None else _size(facts.memory)
        memory = _Memory(size, _nearest(topology, node), tuple(devices.pop(node, ())))
        if runs and runs[-1][1] == memory and runs[-1][0][-1] == node - 1:
            runs[-1][0].append(node)
        else:
            runs.append(([node], memory))
    return tuple(Box(", ".join(_titles(*run)), notes=_notes(run[1])) for run in runs)


def _titles(nodes: list[int], memory: _Memory) -> Iterator[str]:
    several = len(nodes) > 1
    yield f"NUMA nodes {nodes[0]}-{nodes[-1]}" if several else f"NUMA node {nodes[0]}"
    if memory.size:
        yield f"{memory.size} each" if several and memory.size != _NONE else memory.size
    yield "no CPUs"


def _size(memory: int) -> str:
    return memory_text(memory) if memory else _NONE


def _notes(memory: _Memory) -> tuple[str, ...]:
    return (memory.nearest, *memory.devices) if memory.nearest else memory.devices


def distance_table(topology: Topology) -> Table | None:
    """The kernel's distances; None for a single node, for many, and if they are not known."""
    distances = _distances(topology)
    if not 1 < len(distances) <= MOST_NODES:
        return None
    heads = tuple(map(str, distances))
    return Table("NUMA distances", heads, tuple(zip(heads, distances.values(), strict=True)))


def distance_notes(topology: Topology) -> Iterator[str]:
    """How often each distance occurs, if a table would be too large."""
    distances = _distances(topology)
    if len(distances) <= MOST_NODES:
        return
    own = set()
    others: Counter[int] = Counter()
    for index, row in enumerate(distances.values()):
        own.add(row[index])
        others.update(row[:index] + row[index + 1 :])
    words = [f"{distance} to itself" for distance in sorted(own)]
    words += [
        f"{distance} between {counted(others[distance], 'pair')}" for distance in sorted(others)
    ]
    yield f"NUMA distances: {', '.join(words)}"


def _distances(topology: Topology) -> dict[int, tuple[int, ...]]:
    """The rows of the matrix by node; none unless it is square."""
    rows = {node: facts.distances for node, facts in topology.numa_facts.items() if node != UNKNOWN}
    return rows if all(len(row) == len(rows) for row in rows.values()) else {}


def _nearest(topology: Topology, node: int) -> str:
    """The nearest NUMA nodes with CPUs of a node without; nothing if distances are not known."""
    rows = _distances(topology)
    if node not in rows:
        return ""
    index = list(rows).index(node)
    distances = {other: rows[other][index] for other in topology.numa_nodes if other in rows}
    if not distances:
        return ""
    least = min(distances.values())
    near = [str(other) for other, distance in distances.items() if distance == least]
    if len(near) == len(distances) > 1:
        return f"distance {least} from all CPUs"
    return f"distance {least} from NUMA {plural('node', len(near))} {', '.join(near)}"


def kubelet_notes(topology: Topology) -> Iterator[str]:
    """A line for each deviation, with the code that explains it."""
    if unseen := unseen_cpus(topology):
        yield f"not seen by the kubelet: {cpus_text(unseen)} (CP362)"
    for deviation in deviations(topology):
        from cpuplan.components.checks import kubelet  # few machines have any

        noun, number = f"{deviation.kind.value}s", deviation.kubelet
        code, *_ = kubelet.DEVIATION_CODES[deviation.kind]
        sentence = kubelet.deviation_text(deviation)
        yield f"{noun} that the kubelet sees: {number}; {sentence} ({code})"


#: The threads of a core by mark.
Parts: TypeAlias = tuple[tuple[Mark, CpuSet], ...]


class Drawing:
    """The boxes of a machine, and its offline CPUs and devices that have no box yet.

    `parts_of` divides the threads of a core by mark. With `caches_by_cpu`, caches are named after
    their lowest CPU, as intents do, otherwise after the kernel's id.
    """

    def __init__(
        self,
        spec: HardwareSpec,
        topology: Topology,
        parts_of: Callable[[CpuSet], Parts],
        *,
        caches_by_cpu: bool,
        offline: Mark,
    ) -> None:
        self.topology = topology
        self.parts_of = parts_of
        self.offline_mark = offline
        self.outer, per_core = outer_levels(spec, topology)
        self.inner, more = inner_levels(spec, topology, caches_by_cpu=caches_by_cpu)
        self.per_core = [*per_core, *more]
        self.is_hybrid = len({cpu.core_type for cpu in topology.cpus}) > 1
        self.last_cpu = (topology.online | topology.offline).last
        # `boxes` and `memory_boxes` take out of these two what they have a place for
        self.offline = topology.offline
        self.devices = device_lines(spec.devices)
        self.memory = memory_boxes(topology, self.devices)

    def boxes(self) -> tuple[Box, ...]:
        """From the outside in: the parts that divide the machine, the coarsest first."""
        everything = self.topology.online
        coarse_first = sorted(self.outer, key=len)
        if any(part.cpus == everything for part in _parts(self.outer)):
            return (self._box(everything, coarse_first, "", ()),)
        boxes = self._boxes(everything, coarse_first, ())
        return boxes or (self._box(everything, (), "machine", ()),)

    def notes(self) -> Iterator[str]:
        """After the boxes are made: the devices that have no place in them."""
        for node, lines in self.devices.items():
            place = "at no NUMA node" if node is None else f"at NUMA node {node}"
            for line in lines:
                yield line.replace(":", f" {place}:", 1)

    def _boxes(
        self, cpus: CpuSet, levels: Sequence[Level], above: tuple[CpuSet, ...]
    ) -> tuple[Box, ...]:
        """A box for each part of the first level that divides `cpus`, and one for the rest."""
        for index, parts in enumerate(levels):
            dividing = [part for part in parts if part.cpus & cpus]
            rest = cpus - union(part.cpus for part in dividing)
            if len(dividing) + bool(rest) > 1:
                below, within = levels[index + 1 :], (*above, cpus)
                boxes = [
                    self._box(part.cpus & cpus, below, f"part of {part.title}", within)
                    for part in dividing
                ]
                if rest:
                    boxes.append(self._box(rest, below, dividing[0].absent, within))
                return tuple(boxes)
        return ()

    def _box(
        self, cpus: CpuSet, levels: Sequence[Level], title: str, above: tuple[CpuSet, ...]
    ) -> Box:
        """The box of `cpus`, named after all that is just these: a socket with one NUMA node."""
        named = [part for part in _parts((*self.outer, *self.inner)) if part.cpus == cpus]
        boxes = self._boxes(cpus, levels, above)
        titles = [part.title for part in named] or [title]
        if not boxes:  # a die or cache of several NUMA nodes, less than a socket
            around = [part for part in _parts(self.inner) if cpus <= part.cpus]
            titles += [f"in {part.title}" for part in around if part.cpus not in (cpus, *above)]
        groups = [] if boxes else list(self._groups(cpus))
        notes = []
        offline = union(part.offline for part in named) & self.offline
        self.offline = self.offline - offline
        if offline and boxes:
            notes.append(f"offline: {offline.kernel_list()}")
        elif offline:
            groups = [group._replace(title=group.title or "online") for group in groups]
            groups.append(self._offline_group(offline))
        for part in named:
            if part.numa_node is not None:
                notes += self.devices.pop(part.numa_node, [])
        return Box(", ".join(titles), boxes, tuple(groups), tuple(notes))

    def _offline_group(self, offline: CpuSet) -> Group:
        """A core for each CPU: which of them are siblings is not known."""
        singles = [CpuSet((cpu,)) for cpu in offline]
        cores = [Core(single, ((self.offline_mark, single),)) for single in singles]
        return Group("offline", tuple(cores))

    def _groups(self, cpus: CpuSet) -> Iterator[Group]:
        """The cores of `cpus` by the dies and caches that divide them, and by kind."""
        threads = {}  # of each core, by the lowest of them in `cpus`
        for siblings in self.topology.cores.values():
            if members := siblings & cpus:
                threads[members.first] = members
        is_uneven = len(set(map(len, threads.values()))) > 1
        dividing = [_by_cpu(parts, cpus) for parts in self.inner if not _has_all(parts, cpus)]
        groups: dict[tuple[tuple[Part, ...], str], list[int]] = {}
        for core, members in threads.items():
            kind = counted(len(members), "thread") if is_uneven else ""
            if self.is_hybrid:
                kind = type_words(self.topology[core].core_type)
            around = tuple(part_of[core] for part_of in dividing)
            groups.setdefault((around, kind), []).append(core)
        for (around, kind), cores in groups.items():
            titles = [*(part.title for part in around), kind]
            yield Group(", ".join(filter(None, titles)), tuple(self._clustered(cores, cpus)))

    def _clustered(self, cores: Sequence[int], cpus: CpuSet) -> Iterator[Core]:
        clusters = {self.topology[core].cluster for core in cores}
        shows_clusters = 1 < len(clusters) < len(cores)
        if shows_clusters:
            cores = sorted(cores, key=lambda core: (self.topology[core].cluster, core))
        for core in cores:
            cpu = self.topology[core]
            siblings = self.topology.siblings(core) & cpus
            hint = f"core id {cpu.core_id}, socket {cpu.socket}, NUMA node {cpu.numa_node}"
            cluster = cpu.cluster if shows_clusters else 0
            yield Core(siblings, self.parts_of(siblings), cluster, hint)


def _parts(levels: Sequence[Level]) -> list[Part]:
    return [part for parts in levels for part in parts]


def _has_all(parts: Level, cpus: CpuSet) -> bool:
    """Whether one part of the level has all CPUs, and so divides nothing."""
    return any(cpus <= part.cpus for part in parts)


def _by_cpu(parts: Level, cpus: CpuSet) -> dict[int, Part]:
    """The part that each of `cpus` is in."""
    part_of = dict.fromkeys(cpus, Part(parts[0].absent, EMPTY))
    for part in parts:
        part_of |= dict.fromkeys(part.cpus & cpus, part)
    return part_of


#: So many CPUs are shown in ranges on a terminal; a picture shows each.
MANY = 512


def hardware_map(name: str, spec: HardwareSpec, topology: Topology) -> Map:
    """The machine of the Hardware document `name`."""

    def kinds(siblings: CpuSet) -> Parts:
        return ((kind_mark(topology[siblings.first].core_type), siblings),)

    drawing = Drawing(spec, topology, kinds, caches_by_cpu=False, offline=kind_mark("off"))
    return Map(
        title=name,
        about=f"CPUs of {name}",
        lines=tuple(_hardware_lines(spec, drawing)),
        boxes=drawing.boxes(),
        last_cpu=drawing.last_cpu,
        memory=drawing.memory,
        notes=tuple(_hardware_notes(drawing)),
        table=distance_table(topology),
        condensed=len(topology.online) >= MANY,
    )


def _hardware_lines(spec: HardwareSpec, drawing: Drawing) -> Iterator[str]:
    yield ", ".join(filter(None, (spec.model, spec.vendor, spec.architecture)))
    yield counts(drawing.topology)
    words = [*cache_words(spec), *drawing.per_core]
    sizes = [memory_text(quantity_bytes(size)) for size in spec.huge_page_sizes]
    if sizes:
        words.append(f"huge pages of {joined(sizes)}")
    if words:
        yield ", ".join(words)


def _hardware_notes(drawing: Drawing) -> Iterator[str]:
    """After the boxes are made."""
    if drawing.offline:
        yield f"offline, at an unknown place: {drawing.offline.kernel_list()}"
    yield from drawing.notes()
    yield from distance_notes(drawing.topology)
    yield from kubelet_notes(drawing.topology)
