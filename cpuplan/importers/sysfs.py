"""/sys/devices/system: CPUs, their topology and caches, NUMA nodes, as the kernel of a Tree tells them.

What each file means and how dumps differ from it is in Documentation/ABI/{stable,testing}/sysfs-devices-system-cpu and
Documentation/admin-guide/cputopology.rst. Lists are preferred to masks, old names are tried after the new ones.
"""

import re
from collections.abc import Iterable, Iterator

from cpuplan.cpuset import EMPTY, MAX_CPU, CpuSet, CpuSetError
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.importers.archive import too_large
from cpuplan.importers.base import CacheFacts, NumaFacts, Tree

CPUS = "sys/devices/system/cpu"
_CAPACITY = "cpu_capacity"
_MIDR = "regs/identification/midr_el1"
NODES = "sys/devices/system/node"
#: Bytes of one file: the list of 8,192 CPUs of which every second is named has 20 KiB, their mask has 2.
MAX_VALUE = 64 * 1024
#: Bytes of all, where a file counts _LEAST at least: 8,192 CPUs that have masks only come to 50 MiB.
MAX_VALUES = 64 * 1024 * 1024
_LEAST = 128
MAX_NODE = 1023  # the kernel's NODES_SHIFT is at most 10
_MAX_COMPLAINTS = 20  # of a made-up tree, these are enough to see that it is one
_NUMBER = re.compile(r"-?(?:(0x)[0-9a-f]{1,16}|[0-9]{1,18})")
_DISTANCE = re.compile(r"[0-9]{1,3}")  # the kernel's are bytes (ACPI, "System Locality Information Table")
_DECIMAL = re.compile(r"0|[1-9][0-9]{0,8}")
_SIZE = re.compile(r"([0-9]{1,9})([KMG]?)")
_UNITS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3}
#: PMUs of hybrid CPUs (arch/x86/events/intel/core.c) and what their cores are called here.
_HYBRID_PMUS = (("cpu_core", "performance"), ("cpu_atom", "efficient"), ("cpu_lowpower", "lowPower"))


class Reader:
    """Reads values out of a tree. Texts repeat (siblings, masks, caches), so each is parsed once.

    Raises ArchiveError for a tree that holds more than any machine has.
    """

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.diagnostics: list[Diagnostic] = []
        self._left = MAX_VALUES
        self._sets: dict[str, CpuSet | None] = {}
        self._complained: set[str] = set()

    def text(self, path: str) -> str | None:
        """The text of a file that holds a value or a few; None for a missing one."""
        text = self.tree.read(path, MAX_VALUE)
        if text is not None:
            self._left -= max(len(text), _LEAST)
            if self._left < 0:
                raise too_large(self.tree.name, MAX_VALUES, "bytes in the files of its values")
        return text

    def numbered(self, folder: str, prefix: str, most: int) -> Iterator[int]:
        """The numbers of what is called `<prefix><number>` in a folder, ascending, up to `most`."""
        for number in numbered(self.tree.names(folder), prefix):
            if number <= most:
                yield number
            else:
                self.tree.refused.add(f"a number above {most:,}", f"{folder}/{prefix}{number}")

    def number(self, path: str) -> int | None:
        """A number; None for a missing or empty file."""
        text = self.text(path)
        if text is None or not text.strip():
            return None
        match = _NUMBER.fullmatch(text.strip())
        if not match:
            self.complain(path, text, "it is no number")
            return None
        return int(match[0], 16 if match[1] else 10)

    def list(self, path: str) -> CpuSet | None:
        """A CPU list; None for a missing file."""
        text = self.text(path)
        if text is None:
            return None
        if text not in self._sets:
            try:
                self._sets[text] = CpuSet.parse_kernel(text)
            except CpuSetError as error:
                self.complain(path, text, f"{error.item[:40]!r} {error.problem}")
                self._sets[text] = None
        return self._sets[text]

    def set(self, *paths: str) -> CpuSet | None:
        """The first of the files that is there; a name that does not end in `list` has a mask."""
        for path in paths:
            found = self.list(path) if path.endswith("list") else self._mask(path)
            if found is not None:
                return found
        return None

    def _mask(self, path: str) -> CpuSet | None:
        text = self.text(path)
        if text is None:
            return None
        key = f"mask {text}"
        if key not in self._sets:
            try:
                # Kernels before 2.6.2x on wide machines put no zeros in front, and an Itanium's cache maps are empty.
                self._sets[key] = CpuSet.parse_mask(text) if text.strip() else EMPTY
            except CpuSetError as error:
                self.complain(path, text, error.problem)
                self._sets[key] = None
        return self._sets[key]

    def size(self, path: str) -> int | None:
        """A cache's size, `1280K`, in bytes."""
        text = self.text(path)
        match = _SIZE.fullmatch(text.strip()) if text else None
        if text and text.strip() and not match:
            self.complain(path, text, "it is no size such as 1280K")
        return int(match[1]) * _UNITS[match[2]] if match else None

    def complain(self, path: str, text: str, problem: str) -> None:
        """Note that the file at `path` does not hold what its kind holds; the same is said once."""
        key = re.sub(r"[0-9]+", "N", path) + text
        if key not in self._complained and len(self._complained) < _MAX_COMPLAINTS:
            self._complained.add(key)
            place = f"{self.tree.name}: {path}"
            self.diagnostics.append(diagnose("CP125", path=place, text=text.strip()[:40], problem=problem))


def numbered(names: Iterable[str], prefix: str) -> list[int]:
    """The numbers of the names `<prefix><number>`, ascending."""
    cut = len(prefix)
    return sorted(int(name[cut:]) for name in names if name.startswith(prefix) and _DECIMAL.fullmatch(name[cut:]))


def present_and_online(reader: Reader) -> tuple[CpuSet, CpuSet]:
    """The CPUs that have a folder or are listed as present, and those of them that are online.

    Snapshots of gather-sysinfo have neither `online` nor `present`, only `offline`, which also lists CPUs that could be
    plugged in; so a CPU without a folder counts as present only if `present` names it.
    """
    folders = CpuSet(reader.numbered(CPUS, "cpu", MAX_CPU))
    present = folders | (reader.list(f"{CPUS}/present") or EMPTY)
    online = reader.list(f"{CPUS}/online")
    if online is None:
        online = present - (reader.list(f"{CPUS}/offline") or EMPTY)
        # The file is missing for CPU 0 of x86, and was empty in an old dump: only a 0 says something.
        online -= CpuSet(cpu for cpu in online if (reader.text(f"{CPUS}/cpu{cpu}/online") or "").strip() == "0")
    return present | online, online


def siblings(reader: Reader, online: CpuSet) -> tuple[CpuSet, ...]:
    """The cores, as sets of online CPUs; a CPU whose siblings the kernel does not tell is a core by itself."""
    return _partition(reader, online, ("core_cpus_list", "thread_siblings_list", "core_cpus", "thread_siblings"))


def clusters(reader: Reader, online: CpuSet) -> tuple[CpuSet, ...]:
    """The clusters (of Arm, of Intel's E cores) that the kernel knows; ids of -1 and 65535 mean that it knows none."""
    known = CpuSet(cpu for cpu in online if (reader.number(_topology(cpu, "cluster_id")) or 0) not in (-1, 0xFFFF))
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
        found = reader.set(*(_topology(cpu, name) for name in names)) or EMPTY
        group = (found & rest) | CpuSet((cpu,))
        groups.append(group)
        rest -= group
    return tuple(groups)


def labels(reader: Reader, online: CpuSet, name: str) -> dict[int, int]:
    """A topology id by CPU, where the kernel tells one."""
    found = ((cpu, reader.number(_topology(cpu, name))) for cpu in online)
    return {cpu: number for cpu, number in found if number is not None}


def core_types(reader: Reader, online: CpuSet) -> dict[int, str]:
    """Names of the kinds of cores where they differ.

    Intel's hybrid CPUs have a PMU for each kind. Elsewhere kinds are told apart by the part in MIDR_EL1 and numbered by
    capacity, then part, from the least on: kind0, kind1.
    """
    pmus = ((name, reader.list(f"sys/devices/{pmu}/cpus")) for pmu, name in _HYBRID_PMUS)
    types = {cpu: name for name, cpus in pmus if cpus for cpu in cpus & online}
    if types:
        return types
    if not online or all(reader.text(f"{CPUS}/cpu{online.first}/{name}") is None for name in (_CAPACITY, _MIDR)):
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
    """Kinds by CPU from (capacity, MIDR) by CPU. The parts of one kind may differ a little in capacity (GB10)."""

    def kind_of(capacity: int, midr: int) -> int:
        return midr >> 4 & 0xFFF or capacity

    highest: dict[int, tuple[int, int]] = {}
    for facts in kinds.values():
        kind = kind_of(*facts)
        highest[kind] = max(highest.get(kind, facts), facts)
    if len(highest) < 2:
        return {}
    ranks = {kind: rank for rank, kind in enumerate(sorted(highest, key=lambda kind: highest[kind]))}
    return {cpu: f"kind{min(ranks[kind_of(*facts)], 9)}" for cpu, facts in kinds.items()}


def caches(reader: Reader, cpus: CpuSet, cores: Iterable[CpuSet]) -> tuple[CacheFacts, ...]:
    """The caches of level 2 and up, by level, type and lowest CPU; the files of one CPU of each sharing set are read.

    Index 3 is not always level 3, so `level` decides. A first-level cache is one core's: siblings' are skipped.
    """
    core = {cpu: siblings for siblings in cores for cpu in siblings}
    known: dict[str, int] = {}  # bits of the CPUs whose cache of an index has been read
    found = []
    for cpu in cpus:
        folder = f"{CPUS}/cpu{cpu}/cache"
        for index in reader.tree.names(folder):
            if not index.startswith("index") or known.get(index, 0) >> cpu & 1:
                continue
            level = reader.number(f"{folder}/{index}/level")
            if level is None or not 2 <= level <= 9:
                known[index] = known.get(index, 0) | core.get(cpu, EMPTY).bits
                continue
            shared = reader.set(f"{folder}/{index}/shared_cpu_list", f"{folder}/{index}/shared_cpu_map") or EMPTY
            shared = (shared & cpus) | CpuSet((cpu,))
            known[index] = known.get(index, 0) | shared.bits
            kind = (reader.text(f"{folder}/{index}/type") or "").strip()
            identity = reader.number(f"{folder}/{index}/id")
            kind = kind if kind in ("Data", "Instruction") else "Unified"
            found.append(CacheFacts(level, kind, reader.size(f"{folder}/{index}/size"), identity, shared))
    found.sort(key=lambda cache: (cache.level, cache.type, cache.cpus.first))
    return tuple(distinct(found))


def distinct(found: Iterable[CacheFacts]) -> Iterable[CacheFacts]:
    """Drop what is met again under another index number, and CPUs that a cache of the level and type has already."""
    seen: dict[tuple[int, str], CpuSet] = {}
    for cache in found:
        key = (cache.level, cache.type)
        cpus = cache.cpus - seen.get(key, EMPTY)
        seen[key] = seen.get(key, EMPTY) | cache.cpus
        if cpus:
            yield cache._replace(cpus=cpus)


def numa_nodes(reader: Reader, cpus: CpuSet) -> tuple[NumaFacts, ...]:
    """The NUMA nodes that the kernel lists; a CPU that several claim (broken firmware) belongs to the lowest."""
    nodes = []
    rest = cpus
    for number in reader.numbered(NODES, "node", MAX_NODE):
        folder = f"{NODES}/node{number}"
        members = reader.set(f"{folder}/cpulist", f"{folder}/cpumap")
        if members is None:  # links are the last resort: dumps often have none, or point all of them at the node itself
            members = CpuSet(reader.numbered(folder, "cpu", MAX_CPU))
        row = (reader.text(f"{folder}/distance") or "").split()
        distances = tuple(map(int, row)) if len(row) <= MAX_NODE + 1 and all(map(_DISTANCE.fullmatch, row)) else ()
        pages = _huge_pages(reader, f"{folder}/hugepages")
        nodes.append(NumaFacts(number, members & rest, _memory(reader, folder), distances, pages))
        rest -= members
    return tuple(nodes)


def claimed_twice(reader: Reader) -> CpuSet:
    """CPUs that more than one NUMA node lists."""
    seen = twice = EMPTY
    for number in reader.numbered(NODES, "node", MAX_NODE):
        members = reader.set(f"{NODES}/node{number}/cpulist", f"{NODES}/node{number}/cpumap") or EMPTY
        twice |= seen & members
        seen |= members
    return twice


def _memory(reader: Reader, folder: str) -> int | None:
    """`Node 0 MemTotal: 131484584 kB` in bytes."""
    match = re.search(r"MemTotal:\s*(\d{1,15}) kB", reader.text(f"{folder}/meminfo") or "")
    return int(match[1]) * 1024 if match else None


def _huge_pages(reader: Reader, folder: str) -> dict[int, int]:
    """Configured pages by size in kB."""
    pages = {}
    for name in reader.tree.names(folder):
        size = name.removeprefix("hugepages-").removesuffix("kB")
        count = reader.number(f"{folder}/{name}/nr_hugepages") if _DECIMAL.fullmatch(size) else None
        if count is not None and count >= 0 and int(size):
            pages[int(size)] = count
    return dict(sorted(pages.items()))


def huge_pages(reader: Reader) -> dict[int, int]:
    """The machine's configured pages by size in kB; needs no NUMA."""
    return _huge_pages(reader, "sys/kernel/mm/hugepages")
