"""/sys/devices/system/cpu: CPUs, their topology and caches, as the kernel of a Tree reports them.

What each file means and how dumps differ from it is in
Documentation/ABI/{stable,testing}/sysfs-devices-system-cpu and
Documentation/admin-guide/cputopology.rst. Lists are preferred to masks, old names are tried after
the new ones.
"""

from collections.abc import Iterable, Mapping, Sequence

from cpuplan.base.cpuset import EMPTY, MAX_CPU, CpuSet
from cpuplan.importers.machine import CacheFacts, cache_order, distinct
from cpuplan.importers.sysroot.values import Reader

CPUS = "sys/devices/system/cpu"
_CAPACITY = "cpu_capacity"
_MIDR = "regs/identification/midr_el1"
#: PMUs of hybrid CPUs (arch/x86/events/intel/core.c) and what their cores are called here.
_HYBRID_PMUS = (
    ("cpu_core", "performance"),
    ("cpu_atom", "efficient"),
    ("cpu_lowpower", "lowPower"),
)


def present_and_online(reader: Reader) -> tuple[CpuSet, CpuSet]:
    """The CPUs that have a folder or are listed as present, and those of them that are online.

    Snapshots of gather-sysinfo have neither `online` nor `present`, only `offline`, which also
    lists CPUs that could be plugged in; so a CPU without a folder counts as present only if
    `present` names it.
    """
    folders = CpuSet(reader.numbered(CPUS, "cpu", MAX_CPU))
    present = folders | (reader.list(f"{CPUS}/present") or EMPTY)
    online = reader.list(f"{CPUS}/online")
    if online is None:
        online = present - (reader.list(f"{CPUS}/offline") or EMPTY)
        # The file is missing for CPU 0 of x86, and was empty in an old dump: only a 0 says
        # something.
        online -= CpuSet(
            cpu for cpu in online if (reader.text(f"{CPUS}/cpu{cpu}/online") or "").strip() == "0"
        )
    return present | online, online


#: The CPUs of a core, by the names that kernels had for them.
_SIBLINGS = ("core_cpus_list", "thread_siblings_list", "core_cpus", "thread_siblings")


def siblings(reader: Reader, online: CpuSet) -> tuple[CpuSet, ...]:
    """The cores, as sets of online CPUs; a CPU without known siblings is a core by itself."""
    return _partition(reader, online, _SIBLINGS)


def tells_siblings(reader: Reader, cpu: int) -> bool:
    """Whether the tree has a file with a CPU's siblings."""
    return any(reader.text(_topology(cpu, name)) is not None for name in _SIBLINGS)


def clusters(reader: Reader, online: CpuSet) -> tuple[CpuSet, ...]:
    """The clusters (of Arm, of Intel's E cores); ids of -1 and 65535 mean that none is known."""
    known = CpuSet(
        cpu
        for cpu in online
        if (reader.number(_topology(cpu, "cluster_id")) or 0) not in (-1, 0xFFFF)
    )
    names = ("cluster_cpus_list", "cluster_cpus")
    if not known or reader.set(*(_topology(known.first, name) for name in names)) is None:
        return ()
    return _partition(reader, known, names)


def _topology(cpu: int, name: str) -> str:
    return f"{CPUS}/cpu{cpu}/topology/{name}"


def _partition(reader: Reader, online: CpuSet, names: tuple[str, ...]) -> tuple[CpuSet, ...]:
    """Groups of CPUs, reading the file of one CPU of each."""
    groups = []
    rest = online
    for cpu in online:
        if cpu not in rest:
            continue
        shared = reader.set(*(_topology(cpu, name) for name in names)) or EMPTY
        group = (shared & rest) | CpuSet((cpu,))
        groups.append(group)
        rest -= group
    return tuple(groups)


def labels(reader: Reader, online: CpuSet, name: str) -> dict[int, int]:
    """A topology id by CPU, if the kernel reports one."""
    numbers = ((cpu, reader.number(_topology(cpu, name))) for cpu in online)
    return {cpu: number for cpu, number in numbers if number is not None}


def core_types(reader: Reader, online: CpuSet) -> dict[int, str]:
    """Names of the kinds of cores where they differ.

    Intel's hybrid CPUs have a PMU for each kind. Elsewhere kinds are told apart by the part in
    MIDR_EL1 and numbered by capacity, then part, from the least on: kind0, kind1.
    """
    pmus = ((name, reader.list(f"sys/devices/{pmu}/cpus")) for pmu, name in _HYBRID_PMUS)
    types = {cpu: name for name, cpus in pmus if cpus for cpu in cpus & online}
    if types:
        return types
    if not online or all(
        reader.text(f"{CPUS}/cpu{online.first}/{name}") is None for name in (_CAPACITY, _MIDR)
    ):
        return {}
    kinds = {
        cpu: (
            reader.number(f"{CPUS}/cpu{cpu}/{_CAPACITY}") or 0,
            reader.number(f"{CPUS}/cpu{cpu}/{_MIDR}") or 0,
        )
        for cpu in online
    }
    return _kinds(kinds)


def _kinds(kinds: dict[int, tuple[int, int]]) -> dict[int, str]:
    """Kinds by CPU from (capacity, MIDR) by CPU.

    The parts of one kind may differ a little in capacity (GB10).
    """

    def kind_of(capacity: int, midr: int) -> int:
        return midr >> 4 & 0xFFF or capacity

    highest: dict[int, tuple[int, int]] = {}
    for facts in kinds.values():
        kind = kind_of(*facts)
        highest[kind] = max(highest.get(kind, facts), facts)
    if len(highest) < 2:
        return {}
    ranks = {
        kind: rank for rank, kind in enumerate(sorted(highest, key=lambda kind: highest[kind]))
    }
    return {cpu: f"kind{min(ranks[kind_of(*facts)], 9)}" for cpu, facts in kinds.items()}


#: The CPUs of a cache, by the names of their files.
_SHARED = ("shared_cpu_list", "shared_cpu_map")


class _BadListError(Exception):
    """The list of a CPU's cache lacks the CPU: some dumps have the lists of one CPU everywhere."""


def caches(reader: Reader, cpus: CpuSet, cores: Iterable[CpuSet]) -> tuple[CacheFacts, ...]:
    """The caches of level 2 and up, by level, type and lowest CPU.

    Only the files of one CPU of each sharing set are read. Index 3 is not always level 3, so
    `level` decides. A first-level cache is one core's: siblings' are skipped.
    """
    core = {cpu: siblings for siblings in cores for cpu in siblings}
    try:
        facts = _caches(reader, cpus, core, _SHARED)
    except _BadListError:
        facts = _caches(reader, cpus, core, _SHARED[::-1])
    return tuple(distinct(sorted(facts, key=cache_order)))


def _caches(
    reader: Reader, cpus: CpuSet, core: Mapping[int, CpuSet], names: Sequence[str]
) -> list[CacheFacts]:
    """The caches by the files `names`; _BadListError where lists come first and one is bad."""
    known: dict[str, int] = {}  # bits of the CPUs whose cache of an index has been read
    facts = []
    for cpu in cpus:
        folder = f"{CPUS}/cpu{cpu}/cache"
        for index in reader.tree.names(folder):
            if not index.startswith("index") or known.get(index, 0) >> cpu & 1:
                continue
            level = reader.number(f"{folder}/{index}/level")
            if level is None or not 2 <= level <= 9:
                known[index] = known.get(index, 0) | core.get(cpu, EMPTY).bits
                continue
            shared = reader.set(*(f"{folder}/{index}/{name}" for name in names)) or EMPTY
            if shared and cpu not in shared:
                if names == _SHARED:
                    raise _BadListError
                shared = EMPTY
            shared = (shared & cpus) | CpuSet((cpu,))  # an empty map (Itanium): the CPU's own cache
            known[index] = known.get(index, 0) | shared.bits
            facts.append(_cache(reader, f"{folder}/{index}", level, shared))
    return facts


def _cache(reader: Reader, folder: str, level: int, shared: CpuSet) -> CacheFacts:
    kind = (reader.text(f"{folder}/type") or "").strip()
    kind = kind if kind in ("Data", "Instruction") else "Unified"
    size = reader.size(f"{folder}/size")
    return CacheFacts(level, kind, size, reader.number(f"{folder}/id"), shared)
