"""A machine whose sockets are all alike, numbered as its firmware does."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from cpuplan.base.cpuset import MAX_CPU, CpuSet
from cpuplan.base.quantity import to_bytes
from cpuplan.base.topology import MAX_NUMA_NODE, UNKNOWN, Cpu, NumaNodeFacts, Topology
from cpuplan.fleet import kubelet_files
from cpuplan.fleet.kubelet_files import UNCORE_LEVEL
from cpuplan.fleet.problem import Problem, count_ids, numbers
from cpuplan.language.model.inventory import Distances, Regular


def check(regular: Regular) -> Iterator[Problem]:
    """What is wrong with its numbers."""
    cores = regular.cores_per_socket
    dies, caches, cluster = (
        regular.dies_per_socket,
        regular.caches_per_socket,
        regular.cores_per_cluster,
    )
    for key, rest, parts in (
        ("diesPerSocket", cores % dies, f"{dies} dies"),
        ("cachesPerSocket", cores % (caches or 1), f"{caches} caches"),
        ("coresPerCluster", cores % cluster, f"clusters of {cluster}"),
        # Sub-NUMA clusters may differ by a core: a Xeon 6980P has 43, 43 and 42 cores in its three.
        (
            "numaNodesPerSocket",
            regular.numa_nodes_per_socket > cores,
            f"{regular.numa_nodes_per_socket} NUMA nodes",
        ),
    ):
        if rest:
            yield Problem("CP302", ("regular", key), {"cores": cores, "parts": parts})
    count = regular.sockets * cores * regular.threads_per_core
    if count > MAX_CPU + 1:
        yield Problem(
            "CP307", ("regular", "coresPerSocket"), {"count": count, "limit": MAX_CPU + 1}
        )
    nodes = regular.sockets * regular.numa_nodes_per_socket + len(regular.memory_only_nodes)
    if nodes > MAX_NUMA_NODE + 1:
        yield Problem(
            "CP3150",
            ("regular", "numaNodesPerSocket"),
            {"count": nodes, "limit": MAX_NUMA_NODE + 1},
        )
    if regular.core_ids is not None:
        yield from count_ids(("regular", "coreIds"), regular.core_ids, cores, "cores of a socket")
    if regular.distances and regular.memory_only_nodes:
        yield Problem("CP311", ("regular", "distances"), {"count": len(regular.memory_only_nodes)})


def number(regular: Regular, offline: CpuSet, architecture: str) -> Topology:
    """Number the CPUs as the firmware does, whose order Linux takes from the ACPI MADT."""
    per_socket, threads = regular.cores_per_socket, regular.threads_per_core
    total = regular.sockets * per_socket
    adjacent = regular.numbering.threads == "adjacent"
    core_ids = numbers(regular.core_ids) if regular.core_ids else range(per_socket)
    lowest: dict[tuple[str, int, int], int] = {}  # online CPU of each cache and cluster
    cpus = []
    for place, (socket, index, node) in enumerate(_core_order(regular)):
        threads_of = (
            range(place * threads, (place + 1) * threads)
            if adjacent
            else range(place, total * threads, total)
        )
        online = [cpu for cpu in threads_of if cpu not in offline]
        if not online:
            continue
        cache = ("cache", socket, index * regular.caches_per_socket // per_socket)
        cluster = ("cluster", socket, index // regular.cores_per_cluster)
        for group in (cache, cluster):
            lowest[group] = min(lowest.get(group, online[0]), online[0])
        die = index * regular.dies_per_socket // per_socket
        cpus += [
            (cpu, online[0], socket, die, node, cache, core_ids[index], cluster) for cpu in online
        ]
    everything = CpuSet.from_bits((1 << total * threads) - 1)
    domains = _cache_domains(cpus) if regular.caches_per_socket else []
    if not domains:
        lowest |= {group: UNKNOWN for group in lowest if group[0] == "cache"}
    return Topology(
        (
            Cpu(cpu, core, socket, die, node, lowest[cache], core_id, cluster=lowest[cluster])
            for cpu, core, socket, die, node, cache, core_id, cluster in cpus
        ),
        _numa_nodes(regular),
        offline & everything,
        kubelet_files.facts(architecture, everything - offline, [(UNCORE_LEVEL, domains, None)]),
    )


def _cache_domains(cpus: Iterable[tuple[Any, ...]]) -> list[CpuSet]:
    """The CPUs of each last-level cache, ascending by socket and place in it."""
    members: dict[tuple[str, int, int], list[int]] = {}
    for cpu, _, _, _, _, cache, _, _ in cpus:
        members.setdefault(cache, []).append(cpu)
    return [CpuSet(members[cache]) for cache in sorted(members)]


def _numa_nodes(regular: Regular) -> Iterator[NumaNodeFacts]:
    """Memory and distances of the NUMA nodes, those without CPUs last."""
    sockets = [
        socket for _, socket in sorted({(node, socket) for socket, _, node in _core_order(regular)})
    ]
    memory = to_bytes(regular.memory_per_numa_node) if regular.memory_per_numa_node else None
    for node, socket in enumerate(sockets):
        yield NumaNodeFacts(node, memory, _distances(regular, node, socket, sockets))
    for node, size in enumerate(regular.memory_only_nodes, start=len(sockets)):
        yield NumaNodeFacts(node, to_bytes(size))


def _distances(regular: Regular, node: int, socket: int, sockets: Sequence[int]) -> tuple[int, ...]:
    """The row of `node`, given the socket of each node; empty unless all of it is known."""
    known = regular.distances or Distances()
    row = [known.within_socket if there == socket else known.between_sockets for there in sockets]
    row[node] = 10
    distances = tuple(distance for distance in row if distance is not None)
    return distances if len(distances) == len(row) > 1 else ()


def _core_order(regular: Regular) -> Iterator[tuple[int, int, int]]:
    """(socket, index in the socket, NUMA node) of all cores, in the order of the kernel.

    In blocks, the nodes of a socket have neighbouring ids. Interleaved, socket after socket gets
    its first node, then its second, and CPU c is on node c modulo nodes (Dell with SNC2: even nodes
    are socket 0's).
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
