"""A Hardware document's spec to the Topology that it describes, or to everything that is wrong with it."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from cpuplan.cpuset import EMPTY, MAX_CPU, CpuSet, cpus_text, union
from cpuplan.inventory import Cache, HardwareSpec, Layout, Regular
from cpuplan.quantity import to_bytes
from cpuplan.source import Field
from cpuplan.topology import UNKNOWN, Cpu, NumaNodeFacts, Topology

#: The level whose caches are the "uncore caches" of the kubelet and the CCXs of AMD.
UNCORE_LEVEL = 3


class Problem(NamedTuple):
    """What is wrong at `field` (below `spec`): a code of `codes.TOPOLOGY` and the values of its wording."""

    code: str
    field: Field
    values: dict[str, Any]


def build(spec: HardwareSpec, offline: CpuSet = EMPTY) -> tuple[Topology | None, list[Problem]]:
    """The machine with the CPUs of `offline` (those that it has) offline too; or None, and what is wrong with it."""
    if (spec.regular is None) == (spec.topology is None):
        given = "neither `regular` nor `topology`" if spec.regular is None else "both `regular` and `topology`"
        return None, [Problem("CP301", (), {"given": given})]
    if spec.regular is not None:
        problems = list(_regular_problems(spec.regular))
        topology = None if problems else _regular(spec.regular, offline)
    else:
        assert spec.topology is not None  # noqa: S101 - one of the two is there
        problems = list(_layout_problems(spec.topology))
        topology = None if problems else _layout(spec.topology, offline)
    if topology is not None and not topology.online:
        return None, [Problem("CP310", ("topology", "offline") if spec.topology else (), {})]
    return topology, problems


def _regular_problems(regular: Regular) -> Iterator[Problem]:
    cores = regular.cores_per_socket
    for key, count in (("diesPerSocket", regular.dies_per_socket), ("cachesPerSocket", regular.caches_per_socket)):
        if cores % count:
            yield Problem("CP302", ("regular", key), {"cores": cores, "count": count, "what": _WORDS[key]})
    # Sub-NUMA clusters may differ by a core: a Xeon 6980P has 43, 43 and 42 cores in its three.
    if regular.numa_nodes_per_socket > cores:
        values = {"cores": cores, "count": regular.numa_nodes_per_socket, "what": "NUMA nodes"}
        yield Problem("CP302", ("regular", "numaNodesPerSocket"), values)
    count = regular.sockets * cores * regular.threads_per_core
    if count > MAX_CPU + 1:
        yield Problem("CP307", ("regular", "coresPerSocket"), {"count": count, "limit": MAX_CPU + 1})


_WORDS = {"diesPerSocket": "dies", "cachesPerSocket": "caches"}


def _regular(regular: Regular, offline: CpuSet) -> Topology:
    """Number the CPUs as the firmware of such a machine does (Linux takes the order of the ACPI MADT)."""
    per_socket, threads = regular.cores_per_socket, regular.threads_per_core
    total = regular.sockets * per_socket
    adjacent = regular.numbering.threads == "adjacent"
    caches: dict[tuple[int, int], int] = {}
    cpus = []
    for place, (socket, index, node) in enumerate(_core_order(regular)):
        numbers = range(place * threads, (place + 1) * threads) if adjacent else range(place, total * threads, total)
        online = [cpu for cpu in numbers if cpu not in offline]
        cache = (socket, index * regular.caches_per_socket // per_socket)
        die = index * regular.dies_per_socket // per_socket
        if online:
            caches[cache] = min(caches.get(cache, online[0]), online[0])
        cpus += [(cpu, online[0], socket, die, node, cache, index) for cpu in online]
    facts = [
        NumaNodeFacts(node, to_bytes(regular.memory_per_numa_node) if regular.memory_per_numa_node else None)
        for node in range(regular.sockets * regular.numa_nodes_per_socket)
    ]
    everything = CpuSet.from_bits((1 << total * threads) - 1)
    return Topology(
        (
            Cpu(cpu, core, socket, die, node, caches[cache], index, cluster=core)
            for cpu, core, socket, die, node, cache, index in cpus
        ),
        facts,
        offline & everything,
    )


def _core_order(regular: Regular) -> Iterator[tuple[int, int, int]]:
    """(socket, index in the socket, NUMA node) of all cores in the order in which the kernel meets them.

    In blocks, the nodes of a socket have neighbouring ids. Interleaved, socket after socket gets its first node, then
    its second, and CPU c is on node c modulo nodes (Dell with SNC2: even nodes are socket 0's).
    """
    per_socket, nodes = regular.cores_per_socket, regular.numa_nodes_per_socket
    small, larger = divmod(per_socket, nodes)
    starts = [node * small + min(node, larger) for node in range(nodes + 1)]
    if regular.numbering.cores == "blocks":
        for socket in range(regular.sockets):
            for node in range(nodes):
                for index in range(starts[node], starts[node + 1]):
                    yield socket, index, socket * nodes + node
        return
    for nth in range(small + bool(larger)):
        for node in range(nodes):
            for socket in range(regular.sockets):
                if starts[node] + nth < starts[node + 1]:
                    yield socket, starts[node] + nth, node * regular.sockets + socket


def _layout_problems(layout: Layout) -> Iterator[Problem]:
    present = layout.offline or EMPTY
    seen = EMPTY
    for index, cores in enumerate(layout.cores):
        field: Field = ("topology", "cores", index)
        lengths = [len(cpus) for cpus in cores.threads]
        if len(set(lengths)) > 1:
            yield Problem("CP305", (*field, "threads"), {"lengths": ", ".join(map(str, lengths))})
        for nth, cpus in enumerate(cores.threads):
            if cpus & seen:
                yield Problem("CP303", (*field, "threads", nth), {"cpus": cpus_text(cpus & seen), "what": "cores"})
            seen |= cpus
        if len(cores.ids) not in (0, 1, len(cores.threads)):
            values = {"count": len(cores.ids), "what": "lists of threads", "wanted": len(cores.threads)}
            yield Problem("CP306", (*field, "ids"), values)
        for nth, sequence in enumerate(cores.ids):
            yield from _count_ids((*field, "ids", nth), sequence, lengths[0], "cores")
    present |= seen
    for key, what, groups in (
        ("sockets", "sockets", [(group.id, group.cpus) for group in layout.sockets]),
        ("dies", "dies", [(None, group.cpus) for group in layout.dies]),
        ("clusters", "clusters", [(None, cpus) for cpus in layout.clusters]),
        ("numaNodes", "NUMA nodes", [(node.id, node.cpus or EMPTY) for node in layout.numa_nodes]),
    ):
        yield from _group_problems(key, what, groups, present)
    yield from _cache_problems(layout, present)


def _group_problems(
    key: str, what: str, groups: Iterable[tuple[int | None, CpuSet]], present: CpuSet
) -> Iterator[Problem]:
    seen = EMPTY
    ids: set[int] = set()
    for index, (label, cpus) in enumerate(groups):
        field: Field = ("topology", key, index) if key == "clusters" else ("topology", key, index, "cpus")
        yield from _member_problems(field, what, cpus, seen, present)
        seen |= cpus
        if label in ids:
            yield Problem("CP309", ("topology", key, index, "id"), {"what": what, "number": label})
        if label is not None:
            ids.add(label)


def _member_problems(field: Field, what: str, cpus: CpuSet, seen: CpuSet, present: CpuSet) -> Iterator[Problem]:
    if cpus & seen:
        yield Problem("CP303", field, {"cpus": cpus_text(cpus & seen), "what": what})
    if cpus - present:
        yield Problem("CP304", field, {"cpus": cpus_text(cpus - present), "what": what})


def _cache_problems(layout: Layout, present: CpuSet) -> Iterator[Problem]:
    seen: dict[tuple[int, str], CpuSet] = {}
    for index, cache in enumerate(layout.caches):
        field: Field = ("topology", "caches", index)
        if (cache.per is None) == (not cache.cpus):
            given = "both `per` and `cpus`" if cache.per else "neither `per` nor `cpus`"
            yield Problem("CP308", field, {"level": cache.level, "given": given})
            continue
        kind = (cache.level, cache.type)
        before = seen.get(kind, EMPTY)
        domains = cache_domains(layout, cache)
        for nth, cpus in enumerate(domains):
            place = (*field, "cpus", nth) if cache.cpus else (*field, "per")
            yield from _member_problems(place, f"level {cache.level} caches", cpus, before, present)
            before |= cpus
        seen[kind] = before
        if cache.ids is not None:
            yield from _count_ids((*field, "ids"), cache.ids, len(domains), "caches")


def _count_ids(field: Field, sequence: str, wanted: int, what: str) -> Iterator[Problem]:
    count = sum(last - first + 1 for first, last in _runs(sequence))
    if count != wanted or any(last < first for first, last in _runs(sequence)):
        yield Problem("CP306", field, {"count": max(count, 0), "what": what, "wanted": wanted})


def _runs(sequence: str) -> Iterator[tuple[int, int]]:
    for item in sequence.split(","):
        first, _, last = item.partition("-")
        yield int(first), int(last or first)


def numbers(sequence: str) -> list[int]:
    """The numbers of `0-2,0-2`, in order."""
    return [number for first, last in _runs(sequence) for number in range(first, last + 1)]


def cores_of(layout: Layout) -> list[CpuSet]:
    """The siblings of each core, ascending by lowest CPU."""
    found = [CpuSet(siblings) for cores in layout.cores for siblings in zip(*cores.threads, strict=False)]
    return sorted(found, key=lambda siblings: siblings.first)


def cache_domains(layout: Layout, cache: Cache) -> list[CpuSet]:
    """The CPUs of each cache that `cache` stands for, ascending by lowest CPU."""
    everything = union(cores_of(layout)) | (layout.offline or EMPTY)
    domains: Iterable[CpuSet]
    match cache.per:
        case None:
            domains = cache.cpus
        case "core":
            domains = cores_of(layout)
        case "cluster":
            domains = layout.clusters or cores_of(layout)
        case "die" if layout.dies:
            domains = (group.cpus for group in layout.dies)
        case "die" | "socket":
            domains = (group.cpus for group in layout.sockets) if layout.sockets else (everything,)
        case "numaNode":
            domains = (node.cpus or EMPTY for node in layout.numa_nodes) if layout.numa_nodes else (everything,)
    return sorted(filter(None, domains), key=lambda cpus: cpus.first)


def _layout(layout: Layout, offline: CpuSet) -> Topology:
    cores = cores_of(layout)
    offline = (layout.offline or EMPTY) | (offline & union(cores))
    online = union(cores) - offline
    core = _lowest(cores, online)
    socket = _labels((group.id, group.cpus) for group in layout.sockets)
    die = _labels((group.id, group.cpus) for group in layout.dies)
    numa_node = _labels((node.id, node.cpus or EMPTY) for node in layout.numa_nodes)
    cluster = _lowest(layout.clusters, online)
    uncore = [cpus for cache in layout.caches if cache.level == UNCORE_LEVEL for cpus in cache_domains(layout, cache)]
    uncore_cache = _lowest(uncore, online)
    core_id, core_type = _core_labels(layout, socket)
    return Topology(
        (
            Cpu(
                cpu,
                core[cpu],
                socket.get(cpu, UNKNOWN if layout.sockets else 0),
                die.get(cpu, UNKNOWN if layout.dies else 0),
                numa_node.get(cpu, UNKNOWN if layout.numa_nodes else 0),
                uncore_cache.get(cpu, UNKNOWN),
                core_id[cpu],
                core_type[cpu],
                cluster.get(cpu, core[cpu]),
            )
            for cpu in online
        ),
        (
            NumaNodeFacts(node.id, to_bytes(node.memory) if node.memory else None, node.distances)
            for node in layout.numa_nodes
        ),
        offline,
    )


def _lowest(domains: Iterable[CpuSet], online: CpuSet) -> dict[int, int]:
    """For each online CPU of `domains` the lowest online CPU of its domain."""
    return {cpu: members.first for cpus in domains for members in (cpus & online,) for cpu in members}


def _labels(groups: Iterable[tuple[int, CpuSet]]) -> dict[int, int]:
    return {cpu: label for label, cpus in groups for cpu in cpus}


def _core_labels(layout: Layout, socket: dict[int, int]) -> tuple[dict[int, int], dict[int, str]]:
    """core_id and core type by CPU."""
    ids: dict[int, int] = {}
    types: dict[int, str] = {}
    for cores in layout.cores:
        sequences = [numbers(sequence) for sequence in cores.ids]
        for nth, cpus in enumerate(cores.threads):
            types.update(dict.fromkeys(cpus, cores.type or ""))
            if sequences:
                ids.update(zip(cpus, sequences[min(nth, len(sequences) - 1)], strict=True))
    count: dict[int, int] = {}
    for siblings in cores_of(layout):
        package = socket.get(siblings.first, 0)
        for cpu in siblings:
            ids.setdefault(cpu, count.get(package, 0))
        count[package] = count.get(package, 0) + 1
    return ids, types
