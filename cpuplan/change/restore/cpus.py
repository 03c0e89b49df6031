"""CPUs that a plan or boot arguments switched off, put back with their cores and caches."""

from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from itertools import chain, product
from typing import NamedTuple

from cpuplan.base.cpuset import EMPTY, CpuSet, cpus_text, union
from cpuplan.base.text import joined, quantity_bytes
from cpuplan.base.topology import Topology
from cpuplan.change.restore import reductions
from cpuplan.change.restore.reductions import Planned
from cpuplan.fleet import hardware
from cpuplan.fleet.hardware import UNCORE_LEVEL
from cpuplan.importers.base import CacheFacts, KubeletFiles, Machine, NumaFacts
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
            fitting.setdefault(_full_places(topology), topology)
    if len(fitting) != 1:
        return None
    return FullMachine(
        next(iter(fitting.values())),
        "the numbering of the others",
        knows_types=not machine.core_types,
    )


def _full_places(topology: Topology) -> Hashable:
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
    nodes = _full_numa_nodes(machine)
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


def _full_numa_nodes(machine: Machine) -> int:
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


def restored_caches(machine: Machine, online: CpuSet, whole: FullMachine) -> Iterator[CacheFacts]:
    """The caches of each level and type, by lowest CPU, as they are with all CPUs online."""
    kinds: dict[tuple[int, str], list[CacheFacts]] = {}
    for cache in machine.caches:
        kinds.setdefault((cache.level, cache.type), []).append(cache)
    for (level, kind), known in kinds.items():
        listed = [cache for cache in whole.caches if (cache.level, cache.type) == (level, kind)]
        yield from _of_kind(known, machine.online, online, listed, whole.topology)


def _of_kind(
    known: list[CacheFacts],
    before: CpuSet,
    online: CpuSet,
    listed: list[CacheFacts],
    topology: Topology,
) -> list[CacheFacts]:
    shown = {cache.cpus for cache in known}
    domains = _domains(known[0].level, shown, before, [cache.cpus for cache in listed], topology)
    ids = _ids(known, domains)
    by_cpus = {cache.cpus: cache for cache in known}
    of_document = {cache.cpus & online: cache for cache in listed}
    caches = []
    for number, cpus in enumerate(sorted(parts(domains, online), key=lambda cpus: cpus.first)):
        mine = by_cpus.get(cpus & before)
        if mine is None:
            identity = ids[number] if ids else None
            mine = _of_others(known, of_document.get(cpus), identity)
        caches.append(mine._replace(cpus=cpus))
    return caches


def _of_others(
    known: Sequence[CacheFacts], listed: CacheFacts | None, identity: int | None
) -> CacheFacts:
    """A cache whose CPUs are all off, from the document and the known caches of its kind."""
    sizes = {cache.size for cache in known}
    size = known[0].size if len(sizes) == 1 else None
    if listed and listed.size:
        size = listed.size
    if listed and listed.id is not None:
        identity = listed.id
    if (size is None and sizes != {None}) or (identity is None and _needs_id(known)):
        raise UnknownError("the sizes and ids of their caches")
    return known[0]._replace(size=size, id=identity)


def _needs_id(known: Sequence[CacheFacts]) -> bool:
    return known[0].level >= UNCORE_LEVEL and all(cache.id is not None for cache in known)


def _domains(
    level: int, known: set[CpuSet], online: CpuSet, listed: Sequence[CpuSet], topology: Topology
) -> Sequence[CpuSet]:
    """The CPUs of each cache of a kind.

    They are as a document lists them, else the only kind of groups of which each has one cache.
    """
    by_cluster = by_label({cpu.cpu: cpu.cluster for cpu in topology.cpus}).values()
    uncore = topology.uncore_caches.values()
    sizes = (topology.cores.values(), by_cluster, dies(topology), topology.numa_nodes.values())
    exact = (listed, uncore) if level == UNCORE_LEVEL else (listed,)
    fitting = [groups for groups in exact if parts(groups, online) == known]
    # one of a lower level may not be everybody's
    if not fitting and (level >= UNCORE_LEVEL or len(known) > 1):
        fitting = [
            groups
            for groups in (*sizes, uncore, topology.sockets.values())
            if parts(groups, online) == known
        ]
    if len(set(map(frozenset, fitting))) != 1:
        raise UnknownError("their caches")
    return list(fitting[0])


def _ids(known: Sequence[CacheFacts], domains: Sequence[CpuSet]) -> list[int] | None:
    """The ids of all caches by lowest CPU, if the known ids are evenly spaced in that order."""
    order = sorted(domains, key=lambda cpus: cpus.first)
    places = {
        at: cache.id for at, cpus in enumerate(order) for cache in known if cache.cpus <= cpus
    }
    numbered = sorted((at, number) for at, number in places.items() if number is not None)
    if len(numbered) < 2 or len(numbered) < len(known):
        return None
    (first, start), (second, after) = numbered[:2]
    step, rest = divmod(after - start, second - first)
    if rest or any(number != start + step * (at - first) for at, number in numbered):
        return None
    return [start + step * (at - first) for at in range(len(order))]


def put_back(machine: Machine, off: CpuSet, whole: FullMachine) -> Machine:
    """The machine with the CPUs `off`, which `whole` has, online. Raises UnknownError."""
    topology = whole.topology
    online = machine.online | off
    siblings = tuple(sorted(parts(topology.cores.values(), online), key=lambda cpus: cpus.first))
    core = {cpu: cpus for cpus in siblings for cpu in cpus}
    sockets = _labelled(
        machine.sockets, off, topology.sockets.values(), {c.cpu: c.socket for c in topology.cpus}
    )
    numa_nodes = tuple(_numa_nodes(machine.numa_nodes, off, topology))
    restored = machine._replace(
        online=online,
        offline=machine.offline - off,
        siblings=siblings,
        sockets=sockets,
        dies=_die_labels(machine, off, topology),
        core_ids=_core_ids(machine, off, core, whole),
        core_types=_core_types(machine, off, core, whole),
        clusters=_clusters(machine, online, siblings, topology),
        numa_nodes=numa_nodes,
        caches=tuple(restored_caches(machine, online, whole)),
    )
    if machine.kubelet is None:
        return restored
    return restored._replace(kubelet=_kubelet(machine.kubelet, machine, restored, off, topology))


def _die_labels(machine: Machine, off: CpuSet, topology: Topology) -> dict[int, int]:
    own, sockets = (by_label(labels).values() for labels in (machine.dies, machine.sockets))
    known = {die & socket for die in own for socket in sockets or (machine.online,) if die & socket}
    if len(known) > len(sockets) and parts(dies(topology), machine.online) != known:
        raise UnknownError("their dies")
    return _labelled(machine.dies, off, dies(topology), {cpu.cpu: cpu.die for cpu in topology.cpus})


def _labelled(
    known: dict[int, int], off: CpuSet, groups: Iterable[CpuSet], own: dict[int, int]
) -> dict[int, int]:
    """Labels that include CPUs which are off: the label of their group, else that of the whole."""
    if not known:
        return known
    labels = dict(known)
    for cpus in groups:
        label = next((known[cpu] for cpu in cpus if cpu in known), None)
        labels |= {cpu: own[cpu] if label is None else label for cpu in cpus & off}
    return labels


def _core_ids(
    machine: Machine, off: CpuSet, core: dict[int, CpuSet], whole: FullMachine
) -> dict[int, int]:
    """core_id of CPUs that are off.

    That of the whole, if the whole agrees with the known ones; else that of their siblings, if
    siblings share it; else that of the CPU at the same place of another socket.
    """
    known, topology = machine.core_ids, whole.topology
    if not known:
        return known
    if all(topology[cpu].core_id == number for cpu, number in known.items()):
        return known | {cpu: topology[cpu].core_id for cpu in off}
    shared = all(len(_known_ids(known, siblings)) < 2 for siblings in machine.siblings)
    core_ids = dict(known)
    for cpu in off:
        of_siblings = _known_ids(known, core[cpu]) if shared else set()
        mine = of_siblings.pop() if of_siblings else _of_another_socket(cpu, known, topology)
        if mine is None:
            raise UnknownError("the kernel's ids of their cores")
        core_ids[cpu] = mine
    return core_ids


def _known_ids(known: dict[int, int], cpus: CpuSet) -> set[int]:
    return {known[cpu] for cpu in cpus if cpu in known}


def _of_another_socket(cpu: int, known: dict[int, int], topology: Topology) -> int | None:
    """The core_id of the CPU at the same place of the other sockets, if they agree on it."""
    sockets = [_cores_of(cpus, topology) for cpus in topology.sockets.values()]
    mine = next(cores for cores in sockets if cpu in chain.from_iterable(cores))
    place, thread = next((at, core.index(cpu)) for at, core in enumerate(mine) if cpu in core)
    ids = {known.get(cores[place][thread]) for cores in sockets if len(cores) == len(mine)}
    ids.discard(None)
    return ids.pop() if len(ids) == 1 else None


def _cores_of(cpus: CpuSet, topology: Topology) -> list[tuple[int, ...]]:
    return [tuple(siblings) for siblings in topology.cores.values() if siblings <= cpus]


def _core_types(
    machine: Machine, off: CpuSet, core: dict[int, CpuSet], whole: FullMachine
) -> dict[int, str]:
    known = machine.core_types
    if not known:
        return known
    core_types = dict(known)
    for cpu in off:
        mine = next((known[other] for other in core[cpu] if other in known), None)
        if mine is None and not whole.knows_types:
            raise UnknownError("the kind of their cores")
        core_types[cpu] = whole.topology[cpu].core_type if mine is None else mine
    return core_types


def _clusters(
    machine: Machine, online: CpuSet, siblings: Sequence[CpuSet], topology: Topology
) -> tuple[CpuSet, ...]:
    known = set(machine.clusters)
    if not known or known == set(machine.siblings):
        return tuple(siblings) if known else ()
    groups = by_label({cpu.cpu: cpu.cluster for cpu in topology.cpus}).values()
    if not known <= parts(groups, machine.online):
        raise UnknownError("their clusters")
    return tuple(sorted(parts(groups, online), key=lambda cpus: cpus.first))


def _numa_nodes(nodes: Iterable[NumaFacts], off: CpuSet, topology: Topology) -> Iterator[NumaFacts]:
    for node in nodes:
        mine = topology.numa_nodes.get(node.id, EMPTY) & off
        others = off - mine
        yield node._replace(cpus=(node.cpus | mine) - others)


def _kubelet(
    files: KubeletFiles, before: Machine, after: Machine, off: CpuSet, topology: Topology
) -> KubeletFiles:
    """The files that only the kubelet reads, as they are with the CPUs online."""
    links = files.numa_links
    if links is not None:
        nodes = {node.id: node.cpus & off for node in after.numa_nodes}
        links = {number: cpus | nodes.get(number, EMPTY) for number, cpus in links.items()}
    sockets = files.sockets
    if sockets == len(set(before.sockets.values())):
        sockets = len(set(after.sockets.values()))
    unread = files.unread_caches
    if unread and before.online <= unread:
        unread |= off
    places = topology.kubelet.places
    return files._replace(
        numa_links=links,
        sockets=sockets,
        unlabelled=files.unlabelled | (topology.kubelet.unlabelled & off),
        unread_caches=unread,
        books=_places(files.books, off, {cpu: book for cpu, (book, _) in places.items()}),
        drawers=_places(files.drawers, off, {cpu: drawer for cpu, (_, drawer) in places.items()}),
    )


def _places(known: dict[int, int], off: CpuSet, of_whole: dict[int, int]) -> dict[int, int]:
    """Books or drawers that include CPUs which are off: the only one, else that of the whole."""
    if not known:
        return known
    labels = set(known.values())
    if len(labels) == 1:
        return known | dict.fromkeys(off, labels.pop())
    if not set(off) <= of_whole.keys():
        raise UnknownError("their books and drawers")
    return known | {cpu: of_whole[cpu] for cpu in off}


class _Off(NamedTuple):
    """CPUs that are off, and what did it."""

    cpus: CpuSet
    by: str


def restore(machine: Machine, planned: Planned) -> tuple[Machine, list[str]]:
    """The machine with the CPUs online that only software switched off, and remarks on them.

    The place of a CPU follows from the inventory, else from the numbering of the others; if it
    follows from neither, the CPU stays offline. CPUs that are offline for another reason are a
    fact.
    """
    whole = _inventory(machine, planned)
    if whole is not None:
        off = list(_switched_off(machine, planned, whole, whole.topology.online - machine.online))
        if off:
            return _put_back(machine, off, whole)
    if not machine.offline:
        return machine, _hidden(machine)
    return _without_inventory(machine, planned)


def _inventory(machine: Machine, planned: Planned) -> FullMachine | None:
    """The inventory's machine, if it has the CPUs that are online where they are."""
    whole = of_inventory(planned.hardware, planned.spec)
    return whole if whole and agrees(whole.topology, machine) else None


def _without_inventory(machine: Machine, planned: Planned) -> tuple[Machine, list[str]]:
    """Restore CPUs whose place only the numbering of the others shows.

    Boot arguments count only where something shows that they belong to a plan.
    """
    own = _units(machine, planned) & machine.offline
    line = (
        machine.marks.grub
        if reductions.limits_cpus(machine.marks.grub)
        else " ".join(planned.arguments)
    )
    whole = by_numbering(machine) if own or reductions.limits_cpus(line) else None
    if whole is not None:
        known = machine._replace(boot_arguments=line)
        off = list(_switched_off(known, planned, whole, machine.offline & whole.topology.online))
        if off:
            return _put_back(machine, off, whole)
    if own:
        return machine, [_left_off(own, _UNIT, "their cores are unknown")]
    return machine, _limited(machine)


_UNIT = "its plan"


def _units(machine: Machine, planned: Planned) -> CpuSet:
    return machine.marks.switched_off | planned.offlined


def _switched_off(
    machine: Machine, planned: Planned, whole: FullMachine, missing: CpuSet
) -> Iterator[_Off]:
    """The CPUs of `missing` that are off by software, by what did it."""
    if own := planned.offline & missing:
        yield _Off(own, "`offline` of its group in the inventory")
    by_units = _units(machine, planned) & (missing - planned.offline)
    if by_units:
        yield _Off(by_units, _UNIT)
    line = " ".join(planned.arguments) if machine.boot_arguments is None else machine.boot_arguments
    for word, cpus in reductions.cpus_off(line, whole.topology):
        if cpus & missing:
            yield _Off(cpus & missing, word)
    second_threads = missing - CpuSet(whole.topology.cores)
    if machine.marks.smt_off and second_threads:
        yield _Off(
            second_threads, reductions.one_thread(line) or "/sys/devices/system/cpu/smt/control"
        )


def _put_back(machine: Machine, off: list[_Off], whole: FullMachine) -> tuple[Machine, list[str]]:
    cpus = union(group.cpus for group in off)
    by = joined(list(dict.fromkeys(group.by for group in off)))
    try:
        restored = put_back(machine, cpus, whole)
    except UnknownError as error:
        return machine, [_left_off(cpus & machine.offline, by, f"{error} are unknown")]
    return restored, [
        f"{cpus_text(cpus)} switched off by {by}: treated as online, as in {whole.source}"
    ]


def _left_off(cpus: CpuSet, by: str, why: str) -> str:
    remedy = "to have them, import again with all CPUs online"
    return f"{cpus_text(cpus)} switched off by {by}, and {why}: written as offline; {remedy}"


def _limited(machine: Machine) -> list[str]:
    """A remark on boot arguments that no known plan contains."""
    words = reductions.limits_cpus(machine.boot_arguments or "")
    if not words:
        return []
    cpus = cpus_text(machine.offline)
    return [
        (
            f"booted with {words}: {cpus} written as offline; to state this in an intent, import "
            "without it first"
        )
    ]


def _hidden(machine: Machine) -> list[str]:
    words = reductions.limits_cpus(machine.boot_arguments or "")
    return [f"booted with {words}, which may hide CPUs that it has"] if words else []
