"""CPUs that are off put back into a machine, where the machine as a whole is known."""

from collections.abc import Iterable, Iterator, Sequence

from cpuplan.cpuset import EMPTY, CpuSet
from cpuplan.importers.machine import KubeletFiles, Machine, NumaFacts
from cpuplan.model.topology import Topology
from cpuplan.restore import caches
from cpuplan.restore.wholes import UntoldError, Whole, by_label, dies, parts


def put_back(machine: Machine, off: CpuSet, whole: Whole) -> Machine:
    """The machine with the CPUs `off`, which `whole` has, online. Raises UntoldError."""
    topology = whole.topology
    online = machine.online | off
    siblings = tuple(sorted(parts(topology.cores.values(), online), key=lambda cpus: cpus.first))
    core = {cpu: cpus for cpus in siblings for cpu in cpus}
    sockets = _labelled(
        machine.sockets, off, topology.sockets.values(), {c.cpu: c.socket for c in topology.cpus}
    )
    numa_nodes = tuple(_numa_nodes(machine.numa_nodes, off, topology))
    made = machine._replace(
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
        return made
    return made._replace(kubelet=_kubelet(machine.kubelet, machine, made, off, topology))


def _die_labels(machine: Machine, off: CpuSet, topology: Topology) -> dict[int, int]:
    own, sockets = (by_label(labels).values() for labels in (machine.dies, machine.sockets))
    known = {die & socket for die in own for socket in sockets or (machine.online,) if die & socket}
    if len(known) > len(sockets) and parts(dies(topology), machine.online) != known:
        raise UntoldError("their dies")
    return _labelled(machine.dies, off, dies(topology), {cpu.cpu: cpu.die for cpu in topology.cpus})


def _labelled(
    known: dict[int, int], off: CpuSet, groups: Iterable[CpuSet], own: dict[int, int]
) -> dict[int, int]:
    """Labels with those of CPUs that are off: what the rest of their group has, else what the whole
    says.
    """
    if not known:
        return known
    found = dict(known)
    for cpus in groups:
        label = next((known[cpu] for cpu in cpus if cpu in known), None)
        found |= {cpu: own[cpu] if label is None else label for cpu in cpus & off}
    return found


def _core_ids(
    machine: Machine, off: CpuSet, core: dict[int, CpuSet], whole: Whole
) -> dict[int, int]:
    """core_id of CPUs that are off.

    As the whole says, if it says the same of the others; else their siblings', where siblings share
    them; else that of the CPU at the same place of another socket.
    """
    known, topology = machine.core_ids, whole.topology
    if not known:
        return known
    if all(topology[cpu].core_id == number for cpu, number in known.items()):
        return known | {cpu: topology[cpu].core_id for cpu in off}
    shared = all(
        len({known[cpu] for cpu in siblings if cpu in known}) < 2 for siblings in machine.siblings
    )
    found = dict(known)
    for cpu in off:
        mine = (
            next((known[other] for other in core[cpu] if other in known), None) if shared else None
        )
        if mine is None:
            mine = _of_another_socket(cpu, known, topology)
        if mine is None:
            raise UntoldError("the kernel's ids of their cores")
        found[cpu] = mine
    return found


def _of_another_socket(cpu: int, known: dict[int, int], topology: Topology) -> int | None:
    """The core_id at the place of `cpu` in its socket, where all sockets that tell it tell the
    same.
    """
    sockets = [_cores_of(cpus, topology) for cpus in topology.sockets.values()]
    mine = next(cores for cores in sockets if any(cpu in core for core in cores))
    place, thread = next((at, core.index(cpu)) for at, core in enumerate(mine) if cpu in core)
    told = {known.get(cores[place][thread]) for cores in sockets if len(cores) == len(mine)} - {
        None
    }
    return told.pop() if len(told) == 1 else None


def _cores_of(cpus: CpuSet, topology: Topology) -> list[tuple[int, ...]]:
    return [tuple(siblings) for siblings in topology.cores.values() if siblings <= cpus]


def _core_types(
    machine: Machine, off: CpuSet, core: dict[int, CpuSet], whole: Whole
) -> dict[int, str]:
    known = machine.core_types
    if not known:
        return known
    found = dict(known)
    for cpu in off:
        mine = next((known[other] for other in core[cpu] if other in known), None)
        if mine is None and not whole.tells_types:
            raise UntoldError("the kind of their cores")
        found[cpu] = whole.topology[cpu].core_type if mine is None else mine
    return found


def _clusters(
    machine: Machine, online: CpuSet, siblings: Sequence[CpuSet], topology: Topology
) -> tuple[CpuSet, ...]:
    known = set(machine.clusters)
    if not known or known == set(machine.siblings):
        return tuple(siblings) if known else ()
    groups = by_label({cpu.cpu: cpu.cluster for cpu in topology.cpus}).values()
    if not known <= parts(groups, machine.online):
        raise UntoldError("their clusters")
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


def _places(known: dict[int, int], off: CpuSet, told: dict[int, int]) -> dict[int, int]:
    """Books or drawers with those of the CPUs that are off: the only one there is, else what the
    whole says.
    """
    if not known:
        return known
    if len(labels := set(known.values())) == 1:
        return known | dict.fromkeys(off, labels.pop())
    if not set(off) <= told.keys():
        raise UntoldError("their books and drawers")
    return known | {cpu: told[cpu] for cpu in off}
