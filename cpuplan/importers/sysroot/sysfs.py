"""/sys: CPUs, NUMA nodes, PCI functions, and what only the kubelet reads, as the kernel has them.

What each file means and how dumps differ from it is in
Documentation/ABI/{stable,testing}/sysfs-devices-system-cpu and
Documentation/admin-guide/cputopology.rst. Lists are preferred to masks, old names are tried after
the new ones.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from cpuplan.base.cpuset import EMPTY, MAX_CPU, CpuSet, CpuSetError
from cpuplan.base.topology import MAX_NUMA_NODE
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.importers.base import (
    CacheFacts,
    DeviceFacts,
    KubeletFiles,
    Machine,
    NumaFacts,
    cache_order,
    distinct,
    in_several,
)
from cpuplan.importers.packed_files import too_large
from cpuplan.importers.trees import Tree

#: Bytes of one file: the list of 8,192 CPUs of which every second is named has 20 KiB, their mask
#: has 2.
MAX_VALUE = 64 * 1024
#: Bytes of all, where a file counts _LEAST at least: 8,192 CPUs that have masks only come to 50
#: MiB.
MAX_VALUES = 64 * 1024 * 1024
_LEAST = 128
_MAX_COMPLAINTS = 20  # of a made-up tree, these are enough to see that it is one
_NUMBER = re.compile(r"-?(?:(0x)[0-9a-f]{1,16}|[0-9]{1,18})")
DECIMAL = re.compile(r"0|[1-9][0-9]{0,8}")
_SIZE = re.compile(r"([0-9]{1,9})([KMG]?)")
_UNITS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3}


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
            self.complain(path, text, "it is not a number")
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
            cpus = self.list(path) if path.endswith("list") else self._mask(path)
            if cpus is not None:
                return cpus
        return None

    def _mask(self, path: str) -> CpuSet | None:
        text = self.text(path)
        if text is None:
            return None
        key = f"mask {text}"
        if key not in self._sets:
            try:
                # Kernels before 2.6.2x on wide machines put no zeros in front, and an Itanium's
                # cache maps are empty.
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
            self.complain(path, text, "it is not a size such as 1280K")
        return int(match[1]) * _UNITS[match[2]] if match else None

    def complain(self, path: str, text: str, problem: str) -> None:
        """Note that the file at `path` does not hold what its kind holds; the same is said once."""
        key = re.sub(r"[0-9]+", "N", path) + text
        if key not in self._complained and len(self._complained) < _MAX_COMPLAINTS:
            self._complained.add(key)
            place = f"{self.tree.name}: {path}"
            self.diagnostics.append(
                diagnose("CP125", path=place, text=text.strip()[:40], problem=problem)
            )


def numbered(names: Iterable[str], prefix: str) -> list[int]:
    """The numbers of the names `<prefix><number>`, ascending."""
    cut = len(prefix)
    return sorted(
        int(name[cut:])
        for name in names
        if name.startswith(prefix) and DECIMAL.fullmatch(name[cut:])
    )


NODES = "sys/devices/system/node"
# the kernel's are bytes (ACPI, "System Locality Information Table")
_DISTANCE = re.compile(r"[0-9]{1,3}")


def numa_nodes(reader: Reader, cpus: CpuSet) -> tuple[NumaFacts, ...]:
    """The NUMA nodes of the kernel; a CPU in several (broken firmware) belongs to the lowest."""
    nodes = []
    rest = cpus
    for number in reader.numbered(NODES, "node", MAX_NUMA_NODE):
        folder = f"{NODES}/node{number}"
        members = reader.set(f"{folder}/cpulist", f"{folder}/cpumap")
        # links are the last resort: dumps often have none, or point all of them at the node itself
        if members is None:
            members = CpuSet(reader.numbered(folder, "cpu", MAX_CPU))
        memory, distances = _memory(reader, folder), _distances(reader, folder)
        pages = _huge_pages(reader, f"{folder}/hugepages")
        nodes.append(NumaFacts(number, members & rest, memory, distances, pages))
        rest -= members
    return tuple(nodes)


def claimed_twice(reader: Reader) -> CpuSet:
    """CPUs that more than one NUMA node lists."""
    listed = []
    for number in reader.numbered(NODES, "node", MAX_NUMA_NODE):
        folder = f"{NODES}/node{number}"
        listed.append(reader.set(f"{folder}/cpulist", f"{folder}/cpumap") or EMPTY)
    return in_several(listed)


def _distances(reader: Reader, folder: str) -> tuple[int, ...]:
    """The node's row of the matrix; () where it is not one."""
    row = (reader.text(f"{folder}/distance") or "").split()
    if len(row) > MAX_NUMA_NODE + 1 or not all(map(_DISTANCE.fullmatch, row)):
        return ()
    return tuple(map(int, row))


def _memory(reader: Reader, folder: str) -> int | None:
    """`Node 0 MemTotal: 131484584 kB` in bytes."""
    match = re.search(r"MemTotal:[ \t]*([0-9]{1,15}) kB", reader.text(f"{folder}/meminfo") or "")
    return int(match[1]) * 1024 if match else None


def _huge_pages(reader: Reader, folder: str) -> dict[int, int]:
    """Configured pages by size in kB."""
    pages = {}
    for name in reader.tree.names(folder):
        size = name.removeprefix("hugepages-").removesuffix("kB")
        count = reader.number(f"{folder}/{name}/nr_hugepages") if DECIMAL.fullmatch(size) else None
        if count is not None and count >= 0 and int(size):
            pages[int(size)] = count
    return dict(sorted(pages.items()))


def huge_pages(reader: Reader) -> dict[int, int]:
    """The machine's configured pages by size in kB; needs no NUMA."""
    return _huge_pages(reader, "sys/kernel/mm/hugepages")


_DEVICES = "sys/bus/pci/devices"
PCI_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
#: The end of the link of a network interface.
_INTERFACE = re.compile(rf"/({PCI_ADDRESS.pattern})(?:/virtio[0-9]+)?/net/[^/]+\Z")
_ID = re.compile(r"0x[0-9a-fA-F]{4,8}")
#: Base classes (pci.ids, "List of known device classes"): storage, network, display, processors,
#: wireless, crypto, accelerators, coprocessors. Bridges, system peripherals and performance
#: counters are left out.
PCI_CLASSES = frozenset({0x01, 0x02, 0x03, 0x0B, 0x0D, 0x10, 0x12, 0x40})


def pci_devices(reader: Reader) -> tuple[DeviceFacts, ...]:
    """Functions by address; a virtual one is on the NUMA node of its physical one."""
    tree = reader.tree
    interfaces = _interfaces(tree)
    by_address: dict[str, DeviceFacts] = {}
    for address in filter(PCI_ADDRESS.fullmatch, tree.names(_DEVICES)):
        pci_class = reader.number(f"{_DEVICES}/{address}/class")
        if pci_class is not None and pci_class >> 16 in PCI_CLASSES:
            by_address[address] = _device(reader, address, pci_class, interfaces.get(address, ()))
    for address, device in by_address.items():
        owner = by_address.get(device.physical_function or "")
        if owner and device.numa_node is None:
            by_address[address] = device._replace(numa_node=owner.numa_node)
    return tuple(by_address.values())


def _device(
    reader: Reader, address: str, pci_class: int, interfaces: tuple[str, ...]
) -> DeviceFacts:
    tree, folder = reader.tree, f"{_DEVICES}/{address}"
    node = reader.number(f"{folder}/numa_node")
    return DeviceFacts(
        address=address,
        pci_class=pci_class,
        vendor=_id(reader, f"{folder}/vendor"),
        device=_id(reader, f"{folder}/device"),
        numa_node=None if node is None or node < 0 else node,
        driver=_last(tree.link(f"{folder}/driver")),
        interfaces=interfaces or _interfaces_in(tree, folder),
        total_functions=_count(reader, f"{folder}/sriov_totalvfs"),
        functions=_count(reader, f"{folder}/sriov_numvfs"),
        physical_function=_last(tree.link(f"{folder}/physfn")),
    )


def _interfaces(tree: Tree) -> dict[str, tuple[str, ...]]:
    """Network interfaces by PCI address, from links `../../devices/pci.../0000:31:00.0/net/ens1f0`.

    Snapshots have these links and not the folders that they lead to. A virtio device stands
    between: `0000:00:03.0/virtio0/net/eth0`.
    """
    names: dict[str, tuple[str, ...]] = {}
    for name in tree.names("sys/class/net"):
        match = _INTERFACE.search(tree.link(f"sys/class/net/{name}") or "")
        if match:
            address = match[1]
            names[address] = (*names.get(address, ()), name)
    return names


def _interfaces_in(tree: Tree, folder: str) -> tuple[str, ...]:
    """The interfaces of a PCI function and of its virtio devices, by its folder."""
    names = tree.names(f"{folder}/net")
    for name in tree.names(folder):
        if name.startswith("virtio"):
            names += tree.names(f"{folder}/{name}/net")
    return tuple(names)


def _id(reader: Reader, path: str) -> str | None:
    """`0x8086`, as the kernel writes it."""
    text = (reader.text(path) or "").strip()
    if text and not _ID.fullmatch(text):
        reader.complain(path, text, "it is not an id such as 0x8086")
        return None
    return text or None


def _count(reader: Reader, path: str) -> int | None:
    """A number of virtual functions; the field has 16 bits (PCIe, "SR-IOV Extended Capability")."""
    number = reader.number(path)
    return None if number is None else min(max(number, 0), 0xFFFF)


def _last(target: str | None) -> str | None:
    return target.rstrip("/").rpartition("/")[2] if target else None


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


_PHYSICAL_ID = re.compile(r"^physical id\s*:\s*([0-9]+)$", re.MULTILINE)
#: From this level on cAdvisor looks for caches that are shared by some cores of a NUMA node.
_UNCORE_LEVEL = 3


def read_kubelet_files(reader: Reader, machine: Machine, cpuinfo: str) -> KubeletFiles:
    """The files of a machine whose other facts are known; `cpuinfo` is the text of that file."""
    online = machine.online
    on_z = machine.architecture == "s390x"
    books = labels(reader, online, "book_id") if on_z else {}
    drawers = labels(reader, online, "drawer_id") if on_z else {}
    labelled = machine.core_ids.keys() & machine.sockets.keys()
    if on_z:
        labelled &= books.keys() & drawers.keys()
    nodes = list(reader.numbered(NODES, "node", MAX_NUMA_NODE))
    return KubeletFiles(
        numa_links=_links(reader, nodes, online),
        no_numa_nodes=not nodes,
        unlabelled=online - CpuSet(labelled),
        unread_caches=_unread_caches(reader, machine.caches, online, with_ids=not on_z),
        sockets=len(set(_PHYSICAL_ID.findall(cpuinfo)))
        or len({machine.sockets.get(cpu, 0) for cpu in online}),
        books=books,
        drawers=drawers,
    )


def _links(reader: Reader, nodes: Iterable[int], online: CpuSet) -> dict[int, CpuSet] | None:
    """The CPUs linked to each NUMA node; None if no node has a link, as in some dumps."""
    links = {}
    for node in nodes:
        links[node] = CpuSet(reader.numbered(f"{NODES}/node{node}", "cpu", MAX_CPU)) & online
    return links if any(links.values()) else None


def _unread_caches(
    reader: Reader, caches: Iterable[CacheFacts], online: CpuSet, *, with_ids: bool
) -> CpuSet:
    """CPUs with a cache without id or size, or without caches where others have an uncore cache.

    Whether small caches have ids is looked up at one CPU of each uncore cache: a kernel tells all
    or none of a level.
    """
    domains = [cache.cpus for cache in caches if cache.level >= _UNCORE_LEVEL]
    if not domains:
        return EMPTY
    lacking = seen = EMPTY
    for cache in caches:
        seen |= cache.cpus
        if cache.size is None or (with_ids and cache.id is None):
            lacking |= cache.cpus
    for cpus in domains:
        if not cpus <= lacking and not _readable(reader, cpus.first, with_ids=with_ids):
            lacking |= cpus
    return lacking | CpuSet(
        cpu for cpu in online - seen if not reader.tree.names(f"{CPUS}/cpu{cpu}/cache")
    )


def _readable(reader: Reader, cpu: int, *, with_ids: bool) -> bool:
    folder = f"{CPUS}/cpu{cpu}/cache"
    return all(
        reader.size(f"{folder}/{index}/size") is not None
        and not (with_ids and reader.number(f"{folder}/{index}/id") is None)
        for index in reader.tree.names(folder)
        if index.startswith("index")
    )
