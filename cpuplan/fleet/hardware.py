"""Hardware documents: the Topology that one describes, or what is wrong with it; the catalogue.

The files that the kubelet reads are the facts that `kubelet.machineinfo` needs.

Entries of the catalogue ship with cpuplan. A project never reads them: a release that corrects an
entry must not change the plans of projects that copied it before.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from cpuplan.base.cpuset import EMPTY, MAX_CPU, CpuSet, cpus_text, union
from cpuplan.base.program import resource
from cpuplan.base.text import quantity_bytes
from cpuplan.base.topology import (
    MAX_NUMA_NODE,
    UNKNOWN,
    Cpu,
    KubeletFacts,
    NumaNodeFacts,
    SharedCache,
    Topology,
)
from cpuplan.diagnostics.source import Field, Source
from cpuplan.language.model.inventory import (
    Cache,
    Distances,
    Group,
    HardwareSpec,
    KubeletFiles,
    Layout,
    LinkedNode,
    Regular,
)
from cpuplan.language.read import documents, yaml
from cpuplan.language.read.documents import Document


def read_catalog() -> list[Document]:
    """All entries, ascending by name."""
    sources: list[Source] = []
    for path in sorted(_folder().glob("*.yaml")):
        of_file, _ = yaml.decode(path.name, path.read_bytes())
        sources += of_file
    return documents.from_sources(sources)[0].of_kind("Hardware")


def find_in_catalog(name: str) -> Document | None:
    """The entry of this name."""
    return next((entry for entry in read_catalog() if entry.name == name), None)


def catalog_text(entry: Document) -> str:
    """The entry as a file: the comments of its family, which name the sources, and its text."""
    chunks = (_folder() / entry.source.path).read_text().split("---\n")
    first = chunks[0].splitlines(keepends=True)
    comments = sum(1 for line in first if line.startswith("#"))
    head, chunks[0] = "".join(first[:comments]), "".join(first[comments:])
    own = next(chunk for chunk in chunks if f"\n  name: {entry.name}\n" in chunk)
    return head.replace("../../schemas/", "../schemas/") + own


def _folder() -> Path:
    return resource("inventories", "catalog")


#: The level whose caches are the "uncore caches" of the kubelet and the CCXs of AMD.
UNCORE_LEVEL = 3
#: Caches of one kind: level, the CPUs of each ascending by lowest CPU, and their ids where the
#: document has them.
CacheLabels: TypeAlias = tuple[int, Sequence[CpuSet], Sequence[int] | None]


def kubelet_facts(
    architecture: str,
    online: CpuSet,
    caches: Iterable[CacheLabels],
    files: KubeletFiles | None = None,
) -> KubeletFacts:
    """The facts of a machine. Cache ids that the document lacks are as usual on the architecture.

    x86 kernels have an id for every cache since Linux 4.11, from CPUID; other architectures rarely
    have one (drivers/base/cacheinfo.c). On s390x cAdvisor does not read it and uses 0.
    """
    files = files or KubeletFiles.model_construct()
    shared = []
    unread = files.unread_caches or EMPTY
    for level, domains, ids in caches:
        for number, cpus in enumerate(domains):
            members = cpus & online
            if not members:
                continue
            identity = ids[number] if ids is not None else _usual_id(architecture, members)
            shared.append(SharedCache(level, members, identity))
            if identity is None:
                unread |= members
    drawer = {cpu: group.id for group in files.drawers for cpu in group.cpus}
    book = {cpu: group.id for group in files.books for cpu in group.cpus}
    return KubeletFacts(
        caches=tuple(sorted(shared, key=lambda cache: (cache.level, cache.cpus.first))),
        unread_caches=unread & online,
        unlabelled=(files.unlabelled or EMPTY) & online,
        numa_nodes={group.id: group.cpus & online for group in files.numa_nodes} or None,
        no_numa_nodes=files.no_numa_nodes,
        sockets=files.sockets,
        places={
            cpu: (book.get(cpu, 0), drawer.get(cpu, 0))
            for cpu in sorted(book.keys() | drawer.keys())
        },
    )


def _usual_id(architecture: str, cpus: CpuSet) -> int | None:
    if architecture == "s390x":
        return 0
    return cpus.first if architecture == "x86_64" else None


def kubelet_groups(
    files: KubeletFiles | None,
) -> Iterator[tuple[str, str, list[tuple[int | None, CpuSet]]]]:
    """(key, noun, label and CPUs of each) of the groups that must divide the machine's CPUs."""
    if files is None:
        return
    kinds: tuple[tuple[str, str, tuple[Group | LinkedNode, ...]], ...] = (
        ("numaNodes", "NUMA nodes", files.numa_nodes),
        ("books", "books", files.books),
        ("drawers", "drawers", files.drawers),
    )
    for key, what, members in kinds:
        yield key, what, [(None if key == "books" else group.id, group.cpus) for group in members]


class Problem(NamedTuple):
    """What is wrong at `field` (below `spec`): a code of `codes.TOPOLOGY` and its values."""

    code: str
    field: Field
    values: dict[str, Any]


def count_ids(field: Field, sequence: str, wanted: int, what: str) -> Iterator[Problem]:
    """A problem if `sequence` has not `wanted` ids, or a run of it goes backwards."""
    count = sum(last - first + 1 for first, last in _runs(sequence))
    if count != wanted or any(last < first for first, last in _runs(sequence)):
        yield Problem("CP306", field, {"count": max(count, 0), "what": what, "wanted": wanted})


def _runs(sequence: str) -> Iterator[tuple[int, int]]:
    for item in sequence.split(","):
        first, _, last = ("-1", "", "") if item == "-1" else item.partition("-")
        yield int(first), int(last or first)


def numbers(sequence: str) -> list[int]:
    """The numbers of `0-2,0-2`, in order."""
    return [number for first, last in _runs(sequence) for number in range(first, last + 1)]


def check_regular(regular: Regular) -> Iterator[Problem]:
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


def number_regular(regular: Regular, offline: CpuSet, architecture: str) -> Topology:
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
        kubelet_facts(architecture, everything - offline, [(UNCORE_LEVEL, domains, None)]),
    )


def _cache_domains(cpus: Iterable[tuple[Any, ...]]) -> list[CpuSet]:
    """The CPUs of each last-level cache, ascending by socket and place in it."""
    members: dict[tuple[str, int, int], list[int]] = {}
    for cpu, _, _, _, _, cache, _, _ in cpus:
        members.setdefault(cache, []).append(cpu)
    return [CpuSet(members[cache]) for cache in sorted(members)]


def _numa_nodes(regular: Regular) -> Iterator[NumaNodeFacts]:
    """Memory and distances of the NUMA nodes, those without CPUs last."""
    places = {(node, socket) for socket, _, node in _core_order(regular)}
    sockets = [socket for _, socket in sorted(places)]
    memory = quantity_bytes(regular.memory_per_numa_node) if regular.memory_per_numa_node else None
    for node, socket in enumerate(sockets):
        yield NumaNodeFacts(node, memory, _distances(regular, node, socket, sockets))
    for node, size in enumerate(regular.memory_only_nodes, start=len(sockets)):
        yield NumaNodeFacts(node, quantity_bytes(size))


def _distances(regular: Regular, node: int, socket: int, sockets: Sequence[int]) -> tuple[int, ...]:
    """The row of `node`, given the socket of each node; empty unless all of it is known."""
    known = regular.distances or Distances.model_construct()
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


def build(spec: HardwareSpec, offline: CpuSet = EMPTY) -> tuple[Topology | None, list[Problem]]:
    """The machine, with its CPUs of `offline` offline too; or None, and what is wrong with it."""
    if (spec.regular is None) == (spec.topology is None):
        given = (
            "neither `regular` nor `topology`"
            if spec.regular is None
            else "both `regular` and `topology`"
        )
        return None, [Problem("CP301", (), {"given": given})]
    if spec.regular is not None:
        problems = list(check_regular(spec.regular))
        topology = None if problems else number_regular(spec.regular, offline, spec.architecture)
    else:
        assert spec.topology is not None  # noqa: S101 - one of the two is there
        problems = list(_layout_problems(spec.topology))
        topology = None if problems else _layout(spec.topology, offline, spec.architecture)
    if topology is not None and not topology.online:
        return None, [Problem("CP310", ("topology", "offline") if spec.topology else (), {})]
    return topology, problems


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
                yield Problem(
                    "CP303",
                    (*field, "threads", nth),
                    {"cpus": cpus_text(cpus & seen), "what": "cores"},
                )
            seen |= cpus
        if len(cores.ids) not in (0, 1, len(cores.threads)):
            values = {
                "count": len(cores.ids),
                "what": "lists of threads",
                "wanted": len(cores.threads),
            }
            yield Problem("CP306", (*field, "ids"), values)
        for nth, sequence in enumerate(cores.ids):
            yield from count_ids((*field, "ids", nth), sequence, lengths[0], "cores")
    present |= seen
    for key, what, groups in (
        ("sockets", "sockets", [(group.id, group.cpus) for group in layout.sockets]),
        ("dies", "dies", [(None, group.cpus) for group in layout.dies]),
        ("clusters", "clusters", [(None, cpus) for cpus in layout.clusters]),
        ("numaNodes", "NUMA nodes", [(node.id, node.cpus or EMPTY) for node in layout.numa_nodes]),
    ):
        yield from _group_problems(("topology", key), what, groups, present)
    for key, what, of_kubelet in kubelet_groups(layout.kubelet):
        yield from _group_problems(("topology", "kubelet", key), what, of_kubelet, present)
    yield from _cache_problems(layout, present)


def _group_problems(
    key: Field, what: str, groups: Iterable[tuple[int | None, CpuSet]], present: CpuSet
) -> Iterator[Problem]:
    seen = EMPTY
    ids: set[int] = set()
    for index, (label, cpus) in enumerate(groups):
        field: Field = (*key, index) if key[-1] == "clusters" else (*key, index, "cpus")
        yield from _member_problems(field, what, cpus, seen, present)
        seen |= cpus
        if label in ids:
            yield Problem("CP309", (*key, index, "id"), {"what": what, "number": label})
        if label is not None:
            ids.add(label)


def _member_problems(
    field: Field, what: str, cpus: CpuSet, seen: CpuSet, present: CpuSet
) -> Iterator[Problem]:
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
            yield from count_ids((*field, "ids"), cache.ids, len(domains), "caches")


def cores_of(layout: Layout) -> list[CpuSet]:
    """The siblings of each core, ascending by lowest CPU."""
    all_siblings = [
        CpuSet(siblings) for cores in layout.cores for siblings in zip(*cores.threads, strict=False)
    ]
    return sorted(all_siblings, key=lambda siblings: siblings.first)


def cache_domains(layout: Layout, cache: Cache) -> list[CpuSet]:
    """The CPUs of each cache that `cache` describes, ascending by lowest CPU."""
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
            domains = (
                (node.cpus or EMPTY for node in layout.numa_nodes)
                if layout.numa_nodes
                else (everything,)
            )
    return sorted(filter(None, domains), key=lambda cpus: cpus.first)


def _layout(layout: Layout, offline: CpuSet, architecture: str) -> Topology:
    cores = cores_of(layout)
    offline = (layout.offline or EMPTY) | (offline & union(cores))
    online = union(cores) - offline
    core = _lowest(cores, online)
    socket = _labels((group.id, group.cpus) for group in layout.sockets)
    die = _labels((group.id, group.cpus) for group in layout.dies)
    numa_node = _labels((node.id, node.cpus or EMPTY) for node in layout.numa_nodes)
    cluster = _lowest(layout.clusters, online)
    uncore = [
        cpus
        for cache in layout.caches
        if cache.level == UNCORE_LEVEL
        for cpus in cache_domains(layout, cache)
    ]
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
            NumaNodeFacts(
                node.id, quantity_bytes(node.memory) if node.memory else None, node.distances
            )
            for node in layout.numa_nodes
        ),
        offline,
        kubelet_facts(architecture, online, _shared_caches(layout), layout.kubelet),
    )


def _shared_caches(layout: Layout) -> list[CacheLabels]:
    return [
        (
            cache.level,
            cache_domains(layout, cache),
            None if cache.ids is None else numbers(cache.ids),
        )
        for cache in layout.caches
        if cache.level >= UNCORE_LEVEL
    ]


def _lowest(domains: Iterable[CpuSet], online: CpuSet) -> dict[int, int]:
    """For each online CPU of `domains` the lowest online CPU of its domain."""
    return {
        cpu: members.first for cpus in domains for members in (cpus & online,) for cpu in members
    }


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
