"""A Hardware document as boxes of cores: the map that shows at one look whether a machine was read
right.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from cpuplan.cpuset import EMPTY, CpuSet, union
from cpuplan.model.inventory import HardwareSpec
from cpuplan.model.topology import Topology
from cpuplan.quantity import to_bytes
from cpuplan.render.map.boxes import Box, Core, Group, Map, counts, memory_text, type_words
from cpuplan.render.map.devices import device_lines
from cpuplan.render.map.kubelet import kubelet_notes
from cpuplan.render.map.levels import Level, Part, cache_words, inner_levels, outer_levels
from cpuplan.render.map.marks import Mark, kind_mark
from cpuplan.render.map.memory import distance_notes, distance_table, memory_boxes
from cpuplan.text import counted, joined

#: Whose the threads of a core are.
Parts: TypeAlias = tuple[tuple[Mark, CpuSet], ...]
#: So many CPUs are told in ranges on a terminal; a picture shows each.
MANY = 512


def hardware_map(name: str, spec: HardwareSpec, topology: Topology) -> Map:
    """The machine of the Hardware document `name`."""

    def kinds(siblings: CpuSet) -> Parts:
        return ((kind_mark(topology[siblings.first].core_type), siblings),)

    drawing = Drawing(spec, topology, kinds)
    return Map(
        title=name,
        about=f"CPUs of {name}",
        lines=tuple(_lines(spec, drawing)),
        boxes=drawing.boxes(),
        last_cpu=drawing.last_cpu,
        memory=drawing.memory,
        notes=(
            *_nowhere(drawing),
            *drawing.notes(),
            *distance_notes(topology),
            *kubelet_notes(topology),
        ),
        table=distance_table(topology),
        condensed=len(topology.online) >= MANY,
    )


def _lines(spec: HardwareSpec, drawing: "Drawing") -> Iterator[str]:
    yield ", ".join([*filter(None, (spec.model, spec.vendor)), spec.architecture])
    yield counts(drawing.topology)
    sizes = [memory_text(to_bytes(size)) for size in spec.huge_page_sizes]
    pages = [f"huge pages of {joined(sizes)}"] if sizes else []
    if words := [*cache_words(spec), *drawing.per_core, *pages]:
        yield ", ".join(words)


def _nowhere(drawing: "Drawing") -> Iterator[str]:
    if drawing.offline:
        yield f"offline, at an unknown place: {drawing.offline.kernel_list()}"


class Drawing:
    """What is drawn of a machine, and which of its offline CPUs and devices have found their box.

    `parts_of` says whose the threads of a core are. With `caches_by_cpu` caches are called after
    their lowest CPU, as intents do, else as the kernel does.
    """

    def __init__(
        self,
        spec: HardwareSpec,
        topology: Topology,
        parts_of: Callable[[CpuSet], Parts],
        *,
        caches_by_cpu: bool = False,
        offline: Mark = kind_mark("off"),  # noqa: B008 - a tuple
    ) -> None:
        self.topology = topology
        self.parts_of = parts_of
        self.off = offline
        self.outer, per_core = outer_levels(spec, topology)
        self.inner, more = inner_levels(spec, topology, caches_by_cpu=caches_by_cpu)
        self.per_core = [*per_core, *more]
        self.types = len({cpu.core_type for cpu in topology.cpus}) > 1
        self.offline = topology.offline
        self.devices = device_lines(spec.devices)

        self.last_cpu = (topology.online | topology.offline).last
        self.memory = memory_boxes(topology, self.devices)

    def boxes(self) -> tuple[Box, ...]:
        """From the outside in: the parts that divide the machine, the coarsest first."""
        everything = self.topology.online
        coarse_first = sorted(self.outer, key=len)
        if any(part.cpus == everything for parts in self.outer for part in parts):
            return (self._box(everything, coarse_first, ""),)
        return self._boxes(everything, coarse_first) or (self._box(everything, (), "machine"),)

    def notes(self) -> Iterator[str]:
        """After the boxes are made: the devices that have no place in them."""
        for node, lines in self.devices.items():
            place = "at no NUMA node" if node is None else f"at NUMA node {node}"
            for line in lines:
                yield line.replace(":", f" {place}:", 1)

    def _boxes(
        self, cpus: CpuSet, levels: Sequence[Level], above: tuple[CpuSet, ...] = ()
    ) -> tuple[Box, ...]:
        """A box for each part of the first level that divides `cpus`, and one for those that are in
        none of them.
        """
        for index, parts in enumerate(levels):
            here = [(part, part.cpus & cpus) for part in parts if part.cpus & cpus]
            rest = cpus - union(part.cpus for part, _ in here)
            if len(here) + bool(rest) > 1:
                below = levels[index + 1 :]
                within = (*above, cpus)
                found = [
                    self._box(members, below, f"part of {part.title}", within)
                    for part, members in here
                ]
                return (
                    (*found, self._box(rest, below, here[0][0].absent, within))
                    if rest
                    else tuple(found)
                )
        return ()

    def _box(
        self, cpus: CpuSet, levels: Sequence[Level], title: str, above: tuple[CpuSet, ...] = ()
    ) -> Box:
        """The box of `cpus`, called after all that is just these: a socket with one NUMA node is
        both.
        """
        every = [part for parts in (*self.outer, *self.inner) for part in parts]
        called = [part for part in every if part.cpus == cpus]
        boxes = self._boxes(cpus, levels, above)
        titles = [part.title for part in called] or [title]
        if not boxes:  # a die or cache of several NUMA nodes, less than a socket
            inner = [part for parts in self.inner for part in parts]
            titles += [
                f"in {part.title}"
                for part in inner
                if cpus <= part.cpus and part.cpus not in (cpus, *above)
            ]
        offline = union(part.offline for part in called) & self.offline
        self.offline = self.offline - offline
        groups = [] if boxes else list(self._groups(cpus))
        notes = []
        if offline and boxes:
            notes.append(f"offline: {offline.kernel_list()}")
        elif offline:
            groups = [group._replace(title=group.title or "online") for group in groups]
            groups.append(
                Group(
                    "offline", tuple(Core(one, ((self.off, one),)) for one in map(_single, offline))
                )
            )
        for part in called:
            notes += self.devices.pop(part.numa_node, []) if part.numa_node is not None else []
        return Box(", ".join(titles), boxes, tuple(groups), tuple(notes))

    def _groups(self, cpus: CpuSet) -> Iterator[Group]:
        """The cores of `cpus` by the dies and caches that divide them, and by type."""
        parts_of: dict[int, list[Part]] = {core: [] for core in self._cores(cpus)}
        for parts in self.inner:
            if not any(cpus <= part.cpus for part in parts):
                of_core = {cpu: part for part in parts for cpu in part.cpus & cpus}
                for core, found in parts_of.items():
                    found.append(of_core.get(core, Part(parts[0].absent, EMPTY)))
        uneven = (
            not self.types
            and len({len(self.topology.siblings(core) & cpus) for core in parts_of}) > 1
        )
        groups: dict[tuple[tuple[Part, ...], str], list[int]] = {}
        for core, found in parts_of.items():
            kind = type_words(self.topology[core].core_type) if self.types else ""
            if uneven:
                kind = counted(len(self.topology.siblings(core) & cpus), "thread")
            groups.setdefault((tuple(found), kind), []).append(core)
        for (named, kind), cores in groups.items():
            title = ", ".join([*(part.title for part in named), *([kind] if kind else [])])
            yield Group(title, tuple(self._clustered(cores, cpus)))

    def _cores(self, cpus: CpuSet) -> list[int]:
        """The lowest CPU in `cpus` of each core."""
        return [
            here.first for siblings in self.topology.cores.values() if (here := siblings & cpus)
        ]

    def _clustered(self, cores: list[int], cpus: CpuSet) -> Iterator[Core]:
        clusters = {self.topology[core].cluster for core in cores}
        shown = 1 < len(clusters) < len(cores)
        if shown:
            cores = sorted(cores, key=lambda core: (self.topology[core].cluster, core))
        for core in cores:
            cpu = self.topology[core]
            siblings = self.topology.siblings(core) & cpus
            told = f"core id {cpu.core_id}, socket {cpu.socket}, NUMA node {cpu.numa_node}"
            yield Core(siblings, self.parts_of(siblings), cpu.cluster if shown else 0, told)


def _single(cpu: int) -> CpuSet:
    return CpuSet((cpu,))
