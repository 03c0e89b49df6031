"""From a topology to boxes: what divides a machine, from the outside in."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from cpuplan.base.cpuset import EMPTY, CpuSet, union
from cpuplan.base.text import counted
from cpuplan.base.topology import Topology
from cpuplan.language.model.inventory import HardwareSpec
from cpuplan.render.map.boxes import Box, Core, Group
from cpuplan.render.map.devices import device_lines
from cpuplan.render.map.levels import Level, Part, inner_levels, outer_levels
from cpuplan.render.map.marks import Mark
from cpuplan.render.map.memory import memory_boxes
from cpuplan.render.map.words import type_words

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
