"""CPUs that are off put back into a machine, where the machine as a whole is known."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from cpuplan.base.cpuset import EMPTY, CpuSet
from cpuplan.base.topology import Topology
from cpuplan.change.restore import caches
from cpuplan.change.restore.wholes import UnknownError, Whole, by_label, dies, parts
from cpuplan.importers.machine import KubeletFiles, Machine, NumaFacts


def put_back(machine: Machine, off: CpuSet, whole: Whole) -> Machine:
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
        caches=tuple(caches.restored(machine, online, whole)),
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
    machine: Machine, off: CpuSet, core: dict[int, CpuSet], whole: Whole
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
    machine: Machine, off: CpuSet, core: dict[int, CpuSet], whole: Whole
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
