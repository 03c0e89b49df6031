"""A Hardware document as a map, which shows at a glance whether a machine was read correctly."""

from collections.abc import Iterator

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.quantity import to_bytes
from cpuplan.base.text import joined
from cpuplan.base.topology import Topology
from cpuplan.language.model.inventory import HardwareSpec
from cpuplan.render.map.boxes import Map
from cpuplan.render.map.drawing import Drawing, Parts
from cpuplan.render.map.kubelet import kubelet_notes
from cpuplan.render.map.marks import kind_mark
from cpuplan.render.map.memory import distance_notes, distance_table
from cpuplan.render.map.words import cache_words, counts, memory_text

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
        lines=tuple(_lines(spec, drawing)),
        boxes=drawing.boxes(),
        last_cpu=drawing.last_cpu,
        memory=drawing.memory,
        notes=tuple(_notes(drawing)),
        table=distance_table(topology),
        condensed=len(topology.online) >= MANY,
    )


def _lines(spec: HardwareSpec, drawing: Drawing) -> Iterator[str]:
    yield ", ".join(filter(None, (spec.model, spec.vendor, spec.architecture)))
    yield counts(drawing.topology)
    words = [*cache_words(spec), *drawing.per_core]
    sizes = [memory_text(to_bytes(size)) for size in spec.huge_page_sizes]
    if sizes:
        words.append(f"huge pages of {joined(sizes)}")
    if words:
        yield ", ".join(words)


def _notes(drawing: Drawing) -> Iterator[str]:
    """After the boxes are made."""
    if drawing.offline:
        yield f"offline, at an unknown place: {drawing.offline.kernel_list()}"
    yield from drawing.notes()
    yield from distance_notes(drawing.topology)
    yield from kubelet_notes(drawing.topology)
