"""The full machine when some CPUs are off: from the inventory, or from the CPU numbering."""

from collections.abc import Collection, Hashable, Iterable, Iterator
from itertools import product
from typing import NamedTuple

from cpuplan.base.cpuset import EMPTY, CpuSet
from cpuplan.base.text import quantity_bytes
from cpuplan.base.topology import Topology
from cpuplan.change.restore import reductions
from cpuplan.fleet import hardware
from cpuplan.importers.base import CacheFacts, Machine
from cpuplan.language.model.inventory import HardwareSpec, Numbering, Regular

_L3 = 3


class UnknownError(Exception):
    """A fact of a CPU that is off is unknown; the text names it, as a noun."""


class FullMachine(NamedTuple):
    """A machine with all its CPUs: their groups, and the caches if a document lists them."""

    topology: Topology
    source: str  # where it comes from, for people
    caches: tuple[CacheFacts, ...] = ()
    knows_types: bool = True  # of cores


def of_inventory(name: str, spec: HardwareSpec | None) -> FullMachine | None:
    """The machine of a Hardware document; None if there is none, or it is wrong."""
    topology = hardware.build(spec)[0] if spec else None
    if spec is None or topology is None:
        return None
    return FullMachine(topology, f"Hardware {name}", tuple(_caches(spec)))


def _caches(spec: HardwareSpec) -> Iterator[CacheFacts]:
    for cache in spec.topology.caches if spec.topology else ():
        assert spec.topology is not None  # noqa: S101 - it has caches
        size = quantity_bytes(cache.size) if cache.size else None
        domains = hardware.cache_domains(spec.topology, cache)
        ids: Iterable[int | None] = (
            hardware.numbers(cache.ids) if cache.ids else [None] * len(domains)
        )
        for cpus, identity in zip(domains, ids, strict=True):
            yield CacheFacts(cache.level, cache.type, size, identity, cpus)


def agrees(topology: Topology, machine: Machine) -> bool:
    """Whether the CPUs that are online are grouped as in `topology`."""
    online = machine.online
    if not online <= topology.online:
        return False
    for mine, theirs in (
        (machine.siblings, topology.cores.values()),
        (by_label(machine.sockets).values(), topology.sockets.values()),
        ((node.cpus for node in machine.numa_nodes), topology.numa_nodes.values()),
        (
            (cache.cpus for cache in machine.caches if cache.level == _L3),
            topology.uncore_caches.values(),
        ),
    ):
        known = parts(mine, online)
        if known and parts(theirs, online) != known:
            return False
    nodes = {cpu: node.id for node in machine.numa_nodes for cpu in node.cpus & online}
    nodes |= {
        cpu: node for node, cpus in machine.marks.linked.items() for cpu in cpus & topology.online
    }
    return all(topology[cpu].numa_node == node for cpu, node in nodes.items())


def parts(groups: Iterable[CpuSet], cpus: CpuSet) -> set[CpuSet]:
    """What the groups have of `cpus`, empty ones left out."""
    return {group & cpus for group in groups if group & cpus}


def by_label(labels: dict[int, int]) -> dict[int, CpuSet]:
    """CPUs by label."""
    bits: dict[int, int] = {}
    for cpu, label in labels.items():
        bits[label] = bits.get(label, 0) | 1 << cpu
    return {label: CpuSet.from_bits(cpus) for label, cpus in bits.items()}


def dies(topology: Topology) -> list[CpuSet]:
    """The dies of each socket."""
    return [
        die & socket
        for die in topology.dies.values()
        for socket in topology.sockets.values()
        if die & socket
    ]


def by_numbering(machine: Machine) -> FullMachine | None:
    """The one machine of equal sockets, numbered as firmware does, that fits the online CPUs.

    None if no such machine fits, or machines that differ in where the other CPUs are: nothing is
    guessed.
    """
    fitting: dict[Hashable, Topology] = {}
    for candidate in _candidates(machine):
        topology = hardware.number_regular(candidate, EMPTY, machine.architecture)
        if agrees(topology, machine) and _fits_smt(topology, machine):
            fitting.setdefault(_places(topology), topology)
    if len(fitting) != 1:
        return None
    return FullMachine(
        next(iter(fitting.values())),
        "the numbering of the others",
        knows_types=not machine.core_types,
    )


def _places(topology: Topology) -> Hashable:
    return tuple((cpu.core, cpu.socket, cpu.numa_node, cpu.uncore_cache) for cpu in topology.cpus)


def _fits_smt(topology: Topology, machine: Machine) -> bool:
    """With SMT off, just the first thread of each core is online."""
    if not _is_smt_off(machine):
        return True
    return all(
        siblings & machine.online <= CpuSet((core,)) for core, siblings in topology.cores.items()
    )


def _is_smt_off(machine: Machine) -> bool:
    return machine.marks.smt_off or bool(reductions.one_thread(machine.boot_arguments or ""))


def _candidates(machine: Machine) -> Iterator[Regular]:
    """Machines with as many CPUs and sockets, in all possible forms."""
    present = machine.online | machine.offline
    sockets = len(set(machine.sockets.values())) or 1
    if not present or present.last != len(present) - 1 or len(present) % sockets:
        return
    nodes = _numa_nodes(machine)
    per_socket = len(present) // sockets
    for threads in _threads(machine):
        cores = per_socket // threads
        if per_socket % threads or nodes % sockets or nodes // sockets > cores:
            continue
        caches = _cache_counts(machine, cores)
        for of_threads, of_cores, count in product(
            ("separate", "adjacent"), ("blocks", "interleaved"), caches
        ):
            yield Regular.model_construct(
                sockets=sockets,
                cores_per_socket=cores,
                threads_per_core=threads,
                numa_nodes_per_socket=nodes // sockets,
                caches_per_socket=count,
                numbering=Numbering.model_construct(threads=of_threads, cores=of_cores),
            )


def _numa_nodes(machine: Machine) -> int:
    """How many have CPUs, online or linked; one where there are none."""
    return (
        len({node.id for node in machine.numa_nodes if node.cpus} | machine.marks.linked.keys())
        or 1
    )


def _threads(machine: Machine) -> Collection[int]:
    """Threads that cores can have: as many as a whole one has."""
    most = max(map(len, machine.siblings))
    if _is_smt_off(machine):
        return (2, 4, 8)
    return (most,) if most > 1 else (1, 2)


def _cache_counts(machine: Machine, cores: int) -> Collection[int]:
    if not any(cache.level == _L3 for cache in machine.caches):
        return (0,)
    return [count for count in range(1, cores + 1) if cores % count == 0]
