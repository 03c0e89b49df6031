"""The machine as the driver sees it, once when it starts.

Upstream: kubernetes-sigs/dra-driver-cpu pkg/cpuinfo/cpuinfo.go
  @ de98098690f25e59d781c1659b5c3e0b0a210c2a
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import NamedTuple

from cpuplan.upstream.kubelet.cpumanager.topology import CPUTopology
from cpuplan.upstream.kubernetes.bits import bits_of, members
from cpuplan.upstream.nri.system import CacheFiles, CpuFiles, Files

STANDARD, PERFORMANCE, EFFICIENCY = "standard", "p-core", "e-core"
#: A cluster or cache that there is not, and a CPU without sibling.
NONE = -1
#: What the kernel shows for a cluster that there is not.
_NO_CLUSTER = 65535
_SMT_WORDS = {
    "on": True,
    "off": False,
    "forceoff": False,
    "notsupported": False,
    "notimplemented": False,
}


class CpuInfo(NamedTuple):
    """A CPU. `core` is the kernel's core_id, which repeats in other sockets and clusters."""

    cpu: int
    core: int
    socket: int
    numa_node: int
    cluster: int
    cache_l3: int
    sibling: int
    core_type: str

    @property
    def core_key(self) -> tuple[int, int, int]:
        """What tells it from the CPUs of other cores."""
        return self.socket, self.cluster, self.core


class Topology:
    """CPUs by number. `online` has those too of which the driver knows too little to use them."""

    def __init__(self, cpus: Mapping[int, CpuInfo], online: int, smt: str | None) -> None:
        self.cpus, self.online = cpus, online
        known = cpus.values()
        self.num_cpus = len(cpus)
        self.num_cores = len({cpu.core_key for cpu in known})
        self.num_sockets = len({cpu.socket for cpu in known})
        self.num_numa_nodes = len({cpu.numa_node for cpu in known})
        self.num_uncore_caches = len({cpu.cache_l3 for cpu in known} - {NONE})
        smt_state = _SMT_WORDS.get((smt or "").strip().lower())
        self.smt_enabled = self.num_cpus > self.num_cores if smt_state is None else smt_state

    @cached_property
    def all(self) -> int:
        """All CPUs that can be given away, as a set."""
        return bits_of(self.cpus)

    @cached_property
    def packed(self) -> CPUTopology:
        """For the kubelet's packed algorithm, of which the driver has a copy.

        Cores are known by their bare core_id: those of other sockets with equal ids are one with
        them (bug: kubernetes-sigs/dra-driver-cpu#210), while the counts tell them apart.
        """
        return CPUTopology(
            [(c.cpu, c.core, c.socket, c.numa_node, c.cache_l3) for c in self.cpus.values()],
            cores=self.num_cores,
            sockets=self.num_sockets,
            numa_nodes=self.num_numa_nodes,
            uncore_caches=self.num_uncore_caches,
            cpus=self.num_cpus,
        )


def discover(files: Files) -> Topology:
    """The online CPUs that have ids, a node and caches; the driver goes on without the others."""
    caches = files.caches_by_cpu()
    cpus = []
    for entry in sorted(files.cpus):
        if files.online >> entry.cpu & 1 and entry.cpu in caches:
            cpus.extend(_known(files, entry, caches[entry.cpu]))
    return Topology(_with_siblings(cpus), files.online, files.smt)


def _known(files: Files, entry: CpuFiles, caches: Iterable[CacheFiles]) -> list[CpuInfo]:
    ids = (entry.core, entry.package, entry.node)
    core, socket, node = (NONE if given is None else given for given in ids)
    if min(core, socket, node) < 0:
        return []
    cluster = NONE if entry.cluster is None or entry.cluster == _NO_CLUSTER else entry.cluster
    kind = _core_type(files, entry.cpu)
    return [CpuInfo(entry.cpu, core, socket, node, cluster, _cache_l3(caches), NONE, kind)]


def _core_type(files: Files, cpu: int) -> str:
    if files.atom_cpus is None:
        return STANDARD
    return EFFICIENCY if files.atom_cpus >> cpu & 1 else PERFORMANCE


def _cache_l3(caches: Iterable[CacheFiles]) -> int:
    """The id of a CPU's first level 3 cache, or the lowest CPU behind it."""
    cache = next((entry for entry in caches if entry.level == 3), None)
    if cache is None:
        return NONE
    return members(cache.cpus)[0] if cache.id is None else cache.id


def _with_siblings(cpus: Iterable[CpuInfo]) -> dict[int, CpuInfo]:
    """Only cores with exactly two threads have siblings."""
    cores: dict[tuple[int, int, int], list[int]] = {}
    known = {cpu.cpu: cpu for cpu in cpus}
    for cpu in known.values():
        cores.setdefault(cpu.core_key, []).append(cpu.cpu)
    for threads in cores.values():
        if len(threads) == 2:
            first, second = threads
            known[first] = known[first]._replace(sibling=second)
            known[second] = known[second]._replace(sibling=first)
    return known


def repeating_cores(topology: Topology) -> list[int]:
    """The core ids that several cores have: a claim can get CPUs of any of them."""
    keys = {cpu.core_key for cpu in topology.cpus.values()}
    counts = Counter(core for _, _, core in keys)
    return sorted(core for core, count in counts.items() if count > 1)
