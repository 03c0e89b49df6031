"""The Topology that a Hardware document describes, or everything that is wrong with it."""

from collections.abc import Iterable, Iterator

from cpuplan.base.cpuset import EMPTY, CpuSet, cpus_text, union
from cpuplan.base.quantity import to_bytes
from cpuplan.base.topology import UNKNOWN, Cpu, NumaNodeFacts, Topology
from cpuplan.diagnostics.source import Field
from cpuplan.fleet import kubelet_files, regular
from cpuplan.fleet.kubelet_files import UNCORE_LEVEL
from cpuplan.fleet.problem import Problem, count_ids, numbers
from cpuplan.language.model.inventory import Cache, HardwareSpec, Layout


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
        problems = list(regular.check(spec.regular))
        topology = None if problems else regular.number(spec.regular, offline, spec.architecture)
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
    for key, what, of_kubelet in kubelet_files.groups(layout.kubelet):
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
            NumaNodeFacts(node.id, to_bytes(node.memory) if node.memory else None, node.distances)
            for node in layout.numa_nodes
        ),
        offline,
        kubelet_files.facts(architecture, online, _shared_caches(layout), layout.kubelet),
    )


def _shared_caches(layout: Layout) -> list[kubelet_files.Caches]:
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
