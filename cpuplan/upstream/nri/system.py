"""What the plugins read of /sys, with their mistakes: files in, a machine out.

Upstream: containers/nri-plugins pkg/sysfs/system.go pkg/sysfs/utils.go
  @ 83d986e963ad28ca31790102af6d509c7b7e7d45
"""

from collections.abc import Mapping
from typing import NamedTuple

from cpuplan.upstream.kubernetes.bits import bits_of, members, to_text, union
from cpuplan.upstream.kubernetes.errors import PanicError
from cpuplan.upstream.nri.api import CPU_FOLDER, INDEX, NriError

DATA, INSTRUCTION, UNIFIED = "Data", "Instruction", "Unified"
#: Entries of a CPU's cache folder are numbered by level, then in this order.
CACHE_TYPES = (DATA, INSTRUCTION, UNIFIED)


class CpuFiles(NamedTuple):
    """A CPU's folder; None stands for a file that is absent.

    `base_khz` is cpufreq's base frequency, `epp` its energy_performance_preference.
    """

    cpu: int
    package: int | None
    die: int | None
    cluster: int | None
    core: int | None
    node: int | None
    siblings: int | None
    base_khz: int | None = None
    epp: str | None = None


class CacheFiles(NamedTuple):
    """A cache as the folders of its CPUs show it."""

    level: int
    type: str
    id: int | None
    cpus: int


class NodeFiles(NamedTuple):
    """A NUMA node's folder: `memory` in bytes, `distances` to the nodes in ascending order."""

    node: int
    cpus: int
    memory: int
    distances: tuple[int, ...]


class Files(NamedTuple):
    """A machine; `core_cpus` and `atom_cpus` are the CPU lists of hybrid parts, None if absent.

    `smt` is the word in smt/control.
    """

    cpus: tuple[CpuFiles, ...]
    caches: tuple[CacheFiles, ...]
    nodes: tuple[NodeFiles, ...]
    online: int
    present: int
    isolated: int = 0
    core_cpus: int | None = None
    atom_cpus: int | None = None
    smt: str | None = None

    def caches_by_cpu(self) -> dict[int, list[CacheFiles]]:
        """The entries of the CPUs' cache folders, in the order of their numbers."""
        folders: dict[int, list[CacheFiles]] = {}
        for cache in sorted(self.caches, key=_cache_number):
            for cpu in members(cache.cpus & self.online):
                folders.setdefault(cpu, []).append(cache)
        return folders


def _cache_number(cache: CacheFiles) -> tuple[int, int]:
    return cache.level, CACHE_TYPES.index(cache.type)


P_CORE, E_CORE = "P-core", "E-core"
DRAM, PMEM, HBM = "DRAM", "PMEM", "HBM"
#: The energy preference of a CPU that has none.
EPP_UNKNOWN = 4


class Cache(NamedTuple):
    """A cache; those of one level, type and id are one."""

    level: int
    type: str
    id: int
    cpus: int


class Cpu(NamedTuple):
    """A CPU; an offline one has no threads and no caches."""

    cpu: int
    online: bool
    package: int
    die: int
    cluster: int
    core: int
    node: int
    threads: int
    kind: str
    base_khz: int
    epp: int
    caches: tuple[Cache, ...]

    def caches_of_level(self, level: int) -> list[Cache]:
        return [cache for cache in self.caches if cache.level == level]

    def cache_cpus(self, level: int) -> int:
        """The CPUs behind its caches of a level; its threads if it has no cache at all."""
        if not self.caches:
            return self.threads
        cpus = 0
        for cache in self.caches_of_level(level):
            cpus |= cache.cpus
        return cpus


class Node(NamedTuple):
    """A NUMA node. `package` and `die` are those of the last package that has CPUs on it."""

    node: int
    cpus: int
    memory: int
    memory_type: str
    distances: tuple[int, ...]
    package: int
    die: int


class Package(NamedTuple):
    """A socket: CPUs and nodes of its dies, and its clusters as (die, cluster, CPUs)."""

    package: int
    cpus: int
    die_cpus: dict[int, int]
    die_nodes: dict[int, tuple[int, ...]]
    clusters: tuple[tuple[int, int, int], ...]


class System(NamedTuple):
    """Everything that discovery found; keys ascend."""

    cpus: dict[int, Cpu]
    packages: dict[int, Package]
    nodes: dict[int, Node]
    online: int
    offline: int
    isolated: int
    kinds: dict[str, int]

    @property
    def all_cpus(self) -> int:
        return bits_of(self.cpus)

    def threads_of(self, cpus: int) -> int:
        """The given CPUs with all threads of their cores."""
        return union(self.cpus[cpu].threads for cpu in members(cpus) if cpu in self.cpus)

    def sharing_cache(self, level: int, cpus: int) -> int:
        """All CPUs that share caches of a level with the given ones."""
        known = (self.cpus[cpu] for cpu in members(cpus) if cpu in self.cpus)
        return union(cpu.cache_cpus(level) for cpu in known)

    def single_threads(self, cpus: int) -> int:
        """Of each core the lowest of the given CPUs."""
        single = handled = 0
        for cpu in members(cpus):
            if not handled >> cpu & 1:
                single |= 1 << cpu
                handled |= self.cpus[cpu].threads
        return single


def kinds_of(files: Files, cpus: Mapping[int, Cpu]) -> dict[str, int]:
    """The CPUs of each kind that the machine has; NriError where they do not make sense."""
    kinds = _listed_kinds(files)
    if not kinds:
        kinds[P_CORE] = files.online
    elif len(kinds) == 1:
        kinds = _completed_kinds(kinds, files.online, cpus)
    _check_kinds(kinds, files.online, cpus)
    return kinds


def kind_of(cpu: int, kinds: Mapping[str, int]) -> str:
    """A CPU's kind; one in no list is a performance core."""
    return E_CORE if kinds.get(E_CORE, 0) >> cpu & 1 else P_CORE


def _listed_kinds(files: Files) -> dict[str, int]:
    """The lists of the hybrid PMUs; without that of performance cores all are."""
    performance = files.online if files.core_cpus is None else files.core_cpus
    lists = {P_CORE: performance, E_CORE: files.atom_cpus or 0}
    return {kind: cpus for kind, cpus in lists.items() if cpus}


def _completed_kinds(kinds: dict[str, int], online: int, cpus: Mapping[int, Cpu]) -> dict[str, int]:
    """With one list only, all other CPUs are of the other kind."""
    ((given, listed),) = kinds.items()
    whole = _threads_of(listed, cpus)
    if whole == online:
        return kinds
    other = E_CORE if given == P_CORE else P_CORE
    return {given: whole, other: online & ~whole}


def _check_kinds(kinds: Mapping[str, int], online: int, cpus: Mapping[int, Cpu]) -> None:
    seen = 0
    for kind, listed in kinds.items():
        if missing := _threads_of(listed, cpus) & ~listed:
            raise NriError(f"{kind} CPUs ({to_text(listed)}) miss threads ({to_text(missing)})")
        if common := listed & seen:
            other = next(name for name in kinds if kinds[name] & common)
            raise NriError(
                f"{kind} CPUs ({to_text(listed)}) and {other} CPUs ({to_text(kinds[other])}) "
                f"overlap ({to_text(common)})"
            )
        seen |= listed
    if missing := online & ~seen:
        raise NriError(f"some CPUs ({to_text(missing)}) are neither marked to be of any core type")


def _threads_of(listed: int, cpus: Mapping[int, Cpu]) -> int:
    threads = 0
    for cpu in members(listed):
        if cpu in cpus:
            threads |= cpus[cpu].threads
    return threads


#: A machine without nodes has the memory of /proc/meminfo, which is not known here: enough for all.
_SOME_MEMORY = 1 << 40


def discover_nodes(files: Files) -> dict[int, Node]:
    """The nodes; PanicError where their ids are not 0 to n-1.

    The list of distances has one entry for each node and is read at the nodes' ids.
    """
    if not files.nodes:
        return {0: Node(0, files.online, _SOME_MEMORY, DRAM, (10,), 0, 0)}
    distances = _symmetric_distances(files.nodes)
    average = _average_dram(files.nodes)
    nodes = {}
    for entry in sorted(files.nodes):
        memory = _memory_type(entry, average)
        vector = distances[entry.node]
        nodes[entry.node] = Node(entry.node, entry.cpus, entry.memory, memory, vector, 0, 0)
    return nodes


def _symmetric_distances(nodes: tuple[NodeFiles, ...]) -> dict[int, tuple[int, ...]]:
    """Distances; where they differ between two nodes, the average is taken for both."""
    vectors = {entry.node: list(entry.distances) for entry in nodes}
    for node, mine in vectors.items():
        for other, theirs in vectors.items():
            if node == other:
                continue
            if other >= len(mine) or node >= len(theirs):
                raise PanicError(INDEX)
            if mine[other] != theirs[node]:
                mine[other] = theirs[node] = (mine[other] + theirs[node]) // 2
    return {node: tuple(vector) for node, vector in vectors.items()}


def _average_dram(nodes: tuple[NodeFiles, ...]) -> int:
    """The average memory of nodes with CPUs."""
    with_cpus = [entry.memory for entry in nodes if entry.cpus]
    return sum(with_cpus) // max(1, len(with_cpus))


def _memory_type(entry: NodeFiles, average: int) -> str:
    """A node without CPUs has special memory: a small one is fast, a large one persistent."""
    if entry.cpus:
        return DRAM
    return HBM if entry.memory < average else PMEM


def discover_packages(cpus: Mapping[int, Cpu]) -> dict[int, Package]:
    """The packages of online CPUs, by id."""
    by_package: dict[int, list[Cpu]] = {}
    for cpu in cpus.values():
        if cpu.online:
            by_package.setdefault(cpu.package, []).append(cpu)
    return {package: _package(package, by_package[package]) for package in sorted(by_package)}


def _package(package: int, cpus: list[Cpu]) -> Package:
    die_cpus: dict[int, int] = {}
    die_nodes: dict[int, set[int]] = {}
    clusters: dict[tuple[int, int], int] = {}
    for cpu in cpus:
        bit = 1 << cpu.cpu
        die_cpus[cpu.die] = die_cpus.get(cpu.die, 0) | bit
        die_nodes.setdefault(cpu.die, set()).add(cpu.node)
        cluster = (cpu.die, cpu.cluster)
        clusters[cluster] = clusters.get(cluster, 0) | bit
    everything = 0
    for on_die in die_cpus.values():
        everything |= on_die
    logical = _logical_clusters(clusters, {cpu.cpu: cpu for cpu in cpus})
    nodes = {die: tuple(sorted(on_die)) for die, on_die in sorted(die_nodes.items())}
    return Package(package, everything, dict(sorted(die_cpus.items())), nodes, logical)


def _logical_clusters(
    clusters: Mapping[tuple[int, int], int], cpus: Mapping[int, Cpu]
) -> tuple[tuple[int, int, int], ...]:
    """Clusters; those of a die that are just a core's threads are joined to one.

    The joint cluster has the id of its lowest CPU.
    """
    logical: dict[tuple[int, int], int] = {}
    cores: dict[int, int] = {}
    for (die, cluster), inside in sorted(clusters.items()):
        first = cpus[members(inside)[0]]
        if inside == first.threads:
            cores[die] = cores.get(die, 0) | inside
        else:
            logical[die, cluster] = inside
    for die, inside in cores.items():
        logical[die, cpus[members(inside)[0]].cluster] = inside
    return tuple((die, cluster, inside) for (die, cluster), inside in sorted(logical.items()))


_EPP = {"performance": 0, "balance_performance": 1, "balance_power": 2, "power": 3}


def discover(files: Files) -> System:
    """The machine that the plugin sees; NriError or PanicError where it does not start."""
    cpus = _cpus(files)
    cores = kinds_of(files, cpus)
    cpus = {cpu: known._replace(kind=kind_of(cpu, cores)) for cpu, known in cpus.items()}
    numa = discover_nodes(files)
    sockets = discover_packages(cpus)
    return System(
        cpus,
        sockets,
        _placed(numa, sockets),
        files.online,
        files.present & ~files.online,
        files.isolated,
        cores,
    )


def _cpus(files: Files) -> dict[int, Cpu]:
    """CPUs in the order of the names of their folders: `cpu10` is read before `cpu2`."""
    caches: dict[tuple[int, str, int], Cache] = {}
    folders = files.caches_by_cpu()
    cpus = {}
    for entry in sorted(files.cpus, key=lambda entry: str(entry.cpu)):
        online = bool(files.online >> entry.cpu & 1)
        known = _online_cpu(entry) if online else _offline_cpu(entry)
        if online:
            own = folders.get(entry.cpu, [])
            known = known._replace(caches=_caches(own, entry.cpu, caches))
        cpus[entry.cpu] = known
    return dict(sorted(cpus.items()))


def _offline_cpu(entry: CpuFiles) -> Cpu:
    frequency, epp = entry.base_khz or 0, _EPP.get(entry.epp or "", EPP_UNKNOWN)
    return Cpu(entry.cpu, False, 0, 0, 0, 0, entry.node or 0, 0, P_CORE, frequency, epp, ())


def _online_cpu(entry: CpuFiles) -> Cpu:
    """A missing die, cluster or node is 0."""
    required = {
        "topology/physical_package_id": entry.package,
        "topology/core_id": entry.core,
        "topology/thread_siblings_list": entry.siblings,
    }
    folder = f"{CPU_FOLDER}/cpu{entry.cpu}"
    for name, value in required.items():
        if value is None:
            raise _undiscovered(entry.cpu, _unread(f"{folder}/{name}"))
    return _offline_cpu(entry)._replace(
        online=True,
        package=entry.package or 0,
        die=entry.die or 0,
        cluster=entry.cluster or 0,
        core=entry.core or 0,
        threads=entry.siblings or 0,
    )


def _caches(
    entries: list[CacheFiles], cpu: int, known: dict[tuple[int, str, int], Cache]
) -> tuple[Cache, ...]:
    """A CPU's caches. Of equal ids the first counts, also in other packages."""
    caches = []
    for index, entry in enumerate(entries):
        if entry.id is None:
            folder = f"{CPU_FOLDER}/cpu{cpu}/cache/index{index}"
            text = f"{folder}: can't read cache id: {_unread(f'{folder}/id')}"
            raise _undiscovered(cpu, text)
        key = (entry.level, entry.type, entry.id)
        caches.append(known.setdefault(key, Cache(*key, entry.cpus)))
    return tuple(caches)


def _undiscovered(cpu: int, text: str) -> NriError:
    return NriError(f"failed to discover cpu for entry {CPU_FOLDER}/cpu{cpu}: {text}")


def _unread(path: str) -> str:
    return f"{path}: failed to read sysfs entry: open {path}: no such file or directory"


def _placed(numa: dict[int, Node], sockets: dict[int, Package]) -> dict[int, Node]:
    """Nodes with their package and die; NriError for a CPU's node that is not there.

    The plugin takes any package of a node that spans several: here it is the last.
    """
    placed = dict(numa)
    for package, socket in sockets.items():
        for die, on_die in sorted(socket.die_nodes.items()):
            for node in on_die:
                if node not in placed:
                    raise NriError(f"NUMA nodes: can't find NUMA node for ID {node}")
                placed[node] = placed[node]._replace(package=package, die=die)
    return placed
