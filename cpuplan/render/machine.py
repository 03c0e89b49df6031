"""A machine as nested boxes of cores: what the terminal map and the picture both draw, here with pools."""

from collections.abc import Iterable
from typing import NamedTuple

from cpuplan.cpuset import CpuSet, union
from cpuplan.plan import NodePlan
from cpuplan.pools import PARTITION, QOS_SETS
from cpuplan.topology import UNKNOWN, Topology

#: Letters of the pools. Offline CPUs are in no pool; `?` marks a CPU that a layout forgot.
LETTERS = {"reserved": "R", "shared": "S", "isolated": "I", "isolcpus": "K", "offlined": "O", "offline": ".", "": "?"}
UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")
#: What cores are where no pools are drawn: their kind, told by a colour and in a title, without a letter.
PLAIN = "plain"
KINDS = (PLAIN, "performance", "efficient", "lowPower", *(f"kind{number}" for number in range(10)), "off")
LETTERS |= dict.fromkeys(KINDS, "")


class Core(NamedTuple):
    """The online siblings of one core, by pool: one part unless the core is split.

    `cluster` is the lowest CPU of its cluster, where clusters are drawn.
    """

    siblings: CpuSet
    parts: tuple[tuple[str, CpuSet], ...]
    cluster: int = UNKNOWN
    told: str = ""  # what the picture tells of it when pointed at; its pools if left out


class Group(NamedTuple):
    """Cores of one kind that share a last-level cache; no title where a box has only one group."""

    title: str
    cores: tuple[Core, ...]

    def by_pool(self) -> dict[str, CpuSet]:
        """The CPUs of the cores by pool, in the order of LETTERS."""
        parts = [part for core in self.cores for part in core.parts]
        names = sorted({name for name, _ in parts})
        names.sort(key=lambda name: [*LETTERS].index(name) if name in LETTERS else len(LETTERS))
        return {name: union(cpus for pool, cpus in parts if pool == name) for name in names}

    @property
    def plain(self) -> bool:
        """Whether its cores are in no pools."""
        return all(pool in KINDS for core in self.cores for pool, _ in core.parts)

    def by_thread(self) -> str:
        """`0-27 + 56-83`: the first threads of the cores, then their second ones; cores of more threads first."""
        texts = []
        for count in sorted({len(core.siblings) for core in self.cores}, reverse=True):
            threads = zip(*(core.siblings for core in self.cores if len(core.siblings) == count), strict=True)
            texts.append(" + ".join(CpuSet(cpus).kernel_list() for cpus in threads))
        return ", ".join(texts)

    def by_cluster(self) -> list[list[Core]]:
        """Runs of cores of one cluster; a run of all cores where none are drawn."""
        runs: list[list[Core]] = []
        for core in self.cores:
            if runs and runs[-1][-1].cluster == core.cluster:
                runs[-1].append(core)
            else:
                runs.append([core])
        return runs


class Box(NamedTuple):
    """A socket or NUMA node: boxes in it, or groups of cores; and sentences on what else it has."""

    title: str
    boxes: tuple["Box", ...] = ()
    groups: tuple[Group, ...] = ()
    notes: tuple[str, ...] = ()


class Entry(NamedTuple):
    """A line of the legend."""

    pool: str
    cpus: CpuSet


class Table(NamedTuple):
    """Numbers with a head above each column and one before each row."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, tuple[int, ...]], ...]


class Map(NamedTuple):
    """All that a map or picture shows, from above to below."""

    title: str
    about: str  # what it is a picture of
    lines: tuple[str, ...]
    boxes: tuple[Box, ...]
    last_cpu: int
    memory: tuple[Box, ...] = ()  # NUMA nodes without CPUs
    notes: tuple[str, ...] = ()
    table: Table | None = None
    legend: tuple[Entry, ...] = ()
    splits_cores: bool = False
    condensed: bool = False  # ranges of CPUs instead of cores, where there is little room


def plan_map(plan: NodePlan, node: str) -> Map:
    """The pools of `node` on its machine."""
    nodes = empty_nodes(plan.topology)
    entries = legend(plan)
    return Map(
        title=node,
        about=f"CPU pools of {node}",
        lines=headline(plan),
        boxes=boxes(plan),
        last_cpu=plan.topology.online.last,
        notes=(f"NUMA nodes without CPUs: {', '.join(nodes)}",) if nodes else (),
        legend=tuple(entries),
        splits_cores=any(plan.topology.split_cores(pool.cpus) for pool in plan.pools),
    )


def letter(pool: str) -> str:
    """What marks a CPU of the pool; nothing for sets over the pools, which are in the legend only."""
    over = pool in QOS_SETS or pool.startswith(PARTITION)
    return "" if over else LETTERS.get(pool, pool[:1].upper())


def label(pool: str) -> str:
    """What a legend calls a pool. An owner of CPUs has its letter in its name: `A: web-0 main`."""
    return pool.partition(": ")[2] or pool or "no pool"


def boxes(plan: NodePlan) -> tuple[Box, ...]:
    """The machine from outside in. Sockets hold NUMA nodes, or nodes hold sockets (as in many virtual machines)."""
    topology = plan.topology
    sockets, nodes = topology.sockets, topology.numa_nodes
    in_sockets = [(f"socket {socket}", cpus) for socket, cpus in sockets.items() if socket != UNKNOWN]
    in_nodes = [(numa_title(topology, node), cpus) for node, cpus in nodes.items() if node != UNKNOWN]
    if len(in_sockets) < len(sockets):  # a label that some CPUs lack groups none
        in_sockets = []
    if len(in_nodes) < len(nodes):
        in_nodes = []
    if not in_sockets or not in_nodes:
        whole = in_sockets or in_nodes or [("machine", topology.online)]
        return tuple(_inner(plan, title, cpus) for title, cpus in whole if cpus)
    within = all(any(cpus <= node for _, node in in_nodes) for _, cpus in in_sockets)
    if not within or len(in_sockets) <= len(in_nodes):
        return tuple(_outer(plan, title, cpus, in_nodes) for title, cpus in in_sockets)
    if all(cpus <= topology.siblings(cpus.first) for _, cpus in in_sockets):  # their borders would say nothing
        return tuple(_inner(plan, f"{title}, a socket for each core", cpus) for title, cpus in in_nodes)
    return tuple(_outer(plan, title, cpus, in_sockets) for title, cpus in in_nodes)


def numa_title(topology: Topology, node: int) -> str:
    """`NUMA node 0, 256 GiB`; without the memory where it is not known."""
    size = topology.numa_facts[node].memory
    return f"NUMA node {node}" if size is None else f"NUMA node {node}, {memory_text(size)}"


def type_words(core_type: str) -> str:
    """A core type as people say it: `lowPower` is low power."""
    return "low power" if core_type == "lowPower" else core_type


def empty_nodes(topology: Topology) -> list[str]:
    """The NUMA nodes that have no CPUs (CXL, HBM and GPU memory), as `4 with 96 GiB`."""
    titles = (numa_title(topology, node) for node in topology.numa_facts if node not in topology.numa_nodes)
    return [title.removeprefix("NUMA node ").replace(", ", " with ") for title in titles]


def memory_text(size: int) -> str:
    """Bytes as people say them, to one decimal: `255.6 GiB`."""
    unit = next((unit for unit in range(len(UNITS) - 1, 0, -1) if size >= 1024**unit), 0)
    number = f"{size / 1024**unit:.1f}".removesuffix(".0")
    return f"{number} {UNITS[unit]}"


def legend(plan: NodePlan) -> list[Entry]:
    """The pools that have CPUs, in the plan's order, what is in no pool, then the partitions and QoS sets."""
    entries = [Entry(pool.name, pool.cpus) for pool in plan.pools if pool.cpus]
    rest = plan.topology.online - union(pool.cpus for pool in plan.pools)
    others = [("offline", plan.topology.offline), ("", rest), *((each.name, each.cpus) for each in plan.sets)]
    return [*entries, *(Entry(name, cpus) for name, cpus in others if cpus)]


def headline(plan: NodePlan) -> tuple[str, str]:
    """Where the nodes of a class belong, and their size, in a line each."""
    of = plan.node_class
    return (
        f"cluster {of.cluster}, hardware {of.hardware}, intent {of.intent}, class {of.name}",
        counts(plan.topology),
    )


def counts(topology: Topology) -> str:
    """`112 CPUs, 56 cores, 2 sockets, 2 NUMA nodes, 2 last-level caches`; what is not known is left out."""
    sizes = (
        (len(topology.cpus), "CPU"),
        (len(topology.cores), "core"),
        (len(topology.sockets.keys() - {UNKNOWN}), "socket"),
        (len(topology.numa_facts.keys() - {UNKNOWN}), "NUMA node"),
        (len(topology.uncore_caches), "last-level cache"),
    )
    return ", ".join(counted(count, noun) for count, noun in sizes if count)


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _outer(plan: NodePlan, title: str, cpus: CpuSet, parts: Iterable[tuple[str, CpuSet]]) -> Box:
    inner = tuple(_inner(plan, name, part & cpus) for name, part in parts if part & cpus)
    if len(inner) > 1 and any(cpus <= cache for cache in plan.topology.uncore_caches.values()):
        title += ", one last-level cache"
    return Box(title, inner)


def _inner(plan: NodePlan, title: str, cpus: CpuSet) -> Box:
    topology = plan.topology
    groups: dict[tuple[int, str], list[Core]] = {}
    for siblings in topology.cores.values():
        if here := siblings & cpus:
            first = topology[here.first]
            core = Core(here, tuple(_parts(plan, here)))
            groups.setdefault((first.uncore_cache, first.core_type), []).append(core)
    caches = {cache for cache, _ in groups} - {UNKNOWN}
    if len(caches) > 1 and all(topology.uncore_caches[cache] <= topology.siblings(cache) for cache in caches):
        title += ", a last-level cache for each core"
        groups = _merged(groups)
    elif len(caches) == 1 and topology.uncore_caches[min(caches)] == cpus:
        title += ", one last-level cache"
    several = len({cache for cache, _ in groups}) > 1
    types = len({kind for _, kind in groups}) > 1
    made = []
    for (cache, kind), cores in groups.items():
        cache_name = f"cache {cache}" if cache != UNKNOWN else "no cache"
        words = [cache_name] * several + [type_words(kind)] * types
        made.append(Group(" ".join(words), tuple(cores)))
    return Box(title, groups=tuple(made))


def _merged(groups: dict[tuple[int, str], list[Core]]) -> dict[tuple[int, str], list[Core]]:
    """The groups without their caches, by core type."""
    merged: dict[tuple[int, str], list[Core]] = {}
    for (_, kind), cores in groups.items():
        merged.setdefault((UNKNOWN, kind), []).extend(cores)
    return merged


def _parts(plan: NodePlan, siblings: CpuSet) -> Iterable[tuple[str, CpuSet]]:
    rest = siblings
    for pool in plan.pools:
        if here := rest & pool.cpus:
            yield pool.name, here
            rest = rest - here
    if rest:
        yield "", rest
