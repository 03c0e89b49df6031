"""Discovery: files to a machine (system.go, Discover), and what stops the plugin."""

from cpuplan.upstream.nri.errors import NriError
from cpuplan.upstream.nri.names import CPU_FOLDER
from cpuplan.upstream.nri.sysfs import kinds, nodes, packages
from cpuplan.upstream.nri.sysfs.files import CacheFiles, CpuFiles, Files
from cpuplan.upstream.nri.sysfs.system import EPP_UNKNOWN, P_CORE, Cache, Cpu, Node, Package, System

_EPP = {"performance": 0, "balance_performance": 1, "balance_power": 2, "power": 3}


def discover(files: Files) -> System:
    """The machine that the plugin sees; NriError or PanicError where it does not start."""
    cpus = _cpus(files)
    cores = kinds.of_machine(files, cpus)
    cpus = {cpu: known._replace(kind=kinds.of_cpu(cpu, cores)) for cpu, known in cpus.items()}
    numa = nodes.discover(files)
    sockets = packages.discover(cpus)
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
