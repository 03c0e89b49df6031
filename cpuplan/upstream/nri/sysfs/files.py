"""The files of /sys that the plugin reads, as values; sets of CPUs are bits."""

from typing import NamedTuple

from cpuplan.upstream.kubelet.bits import members

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
        for cache in sorted(self.caches, key=_number):
            for cpu in members(cache.cpus & self.online):
                folders.setdefault(cpu, []).append(cache)
        return folders


def _number(cache: CacheFiles) -> tuple[int, int]:
    return cache.level, CACHE_TYPES.index(cache.type)
