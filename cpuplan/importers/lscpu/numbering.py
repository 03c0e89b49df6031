"""Tables and summaries of lscpu as the facts of a machine, and what they leave open.

Linux numbers CPUs in the order of the firmware's table (ACPI MADT, device tree), and firmwares have
few habits. What follows from counts alone needs none of them; else a habit must fit the NUMA lists,
and no other one may fit as well.
"""

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

from cpuplan.base.cpuset import EMPTY, CpuSet, cpus_text
from cpuplan.importers import join
from cpuplan.importers.base import Machine, NumaFacts, in_several
from cpuplan.importers.lscpu import tables
from cpuplan.importers.lscpu.numactl import NumaList
from cpuplan.importers.lscpu.tables import Row, Summary, Table

_ADJACENT = "the threads of a core have neighbouring numbers"
_SEPARATE = "the first threads of all cores are numbered before the second ones"
_SEPARATE_BY_SOCKET = (
    "in each socket, the first threads of all cores are numbered before the second ones"
)


class Counts(NamedTuple):
    """What is known: counts of at least 1, and the NUMA nodes that have CPUs, by id."""

    architecture: str
    online: CpuSet
    threads_per_core: int
    cores_per_socket: int
    sockets: int
    numa_nodes: dict[int, CpuSet]


class Groups(NamedTuple):
    """Siblings ascending by lowest CPU, sockets by CPU, and the assumptions made, as sentences."""

    siblings: tuple[CpuSet, ...]
    sockets: dict[int, int]
    rules: tuple[str, ...]


class UntoldError(Exception):
    """The counts and NUMA nodes leave open what `what` names."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


def numbered_groups(counts: Counts) -> Groups:
    """The siblings and sockets of `counts`. Raises UntoldError where others are possible too."""
    sockets, socket_rules = _sockets(counts)
    siblings, sibling_rules = _numbered_siblings(counts, sockets)
    numbers = {cpu: number for number, cpus in enumerate(sockets) for cpu in cpus}
    return Groups(siblings, numbers, (*socket_rules, *sibling_rules))


def _whole(counts: Counts) -> bool:
    """Whether all cores and sockets are alike, with no thread offline."""
    return counts.threads_per_core * counts.cores_per_socket * counts.sockets == len(counts.online)


def _sockets(counts: Counts) -> tuple[list[CpuSet], list[str]]:
    """The sockets by lowest CPU, which is how lscpu numbers them, and the assumptions made."""
    if counts.sockets == 1:
        return [counts.online], []
    if counts.sockets == len(counts.online):
        return [CpuSet((cpu,)) for cpu in counts.online], []
    nodes = list(counts.numa_nodes.values())
    per_socket, rest = divmod(len(nodes), counts.sockets)
    if rest or not per_socket:
        raise UntoldError("sockets")
    if per_socket == 1:
        sockets, rule = nodes, "each NUMA node is one socket"
    elif all(nodes[cpu % len(nodes)] >= CpuSet((cpu,)) for cpu in counts.online):
        # Dell's default order with sub-NUMA clustering: socket after socket gets its first node,
        # then its second.
        sockets = [_union(nodes[number :: counts.sockets]) for number in range(counts.sockets)]
        rule = "NUMA nodes are assigned to the sockets in turn, as CPUs are to NUMA nodes"
    else:
        sockets = [
            _union(nodes[start : start + per_socket]) for start in range(0, len(nodes), per_socket)
        ]
        rule = f"each {per_socket} NUMA nodes in a row are one socket"
    most = counts.cores_per_socket * counts.threads_per_core
    if max(map(len, sockets)) > most or sum(map(len, sockets)) != len(counts.online):
        raise UntoldError("sockets")
    return sorted(sockets, key=lambda cpus: cpus.first), [rule]


def _union(nodes: list[CpuSet]) -> CpuSet:
    return CpuSet(cpu for cpus in nodes for cpu in cpus)


def _numbered_siblings(
    counts: Counts, sockets: list[CpuSet]
) -> tuple[tuple[CpuSet, ...], list[str]]:
    """The cores.

    Where all CPUs are in one NUMA node, x86 may have either numbering: servers the one, guests the
    other.
    """
    if counts.threads_per_core == 1:
        return tuple(CpuSet((cpu,)) for cpu in counts.online), []
    if not _whole(counts):
        raise UntoldError("siblings")
    if counts.cores_per_socket == 1:
        return tuple(sockets), []
    fitting = []
    for rule, propose in _HABITS.get(counts.architecture, _OTHER_HABITS).items():
        cores = list(propose(counts, sockets))
        if _fit(cores, counts, sockets):
            fitting.append((tuple(cores), rule))
    # Two habits that fit several NUMA nodes: each node then has runs of CPUs a whole number of
    # cores apart, and there is no reason for that but the second threads.
    if not fitting or (len(fitting) > 1 and len(counts.numa_nodes) < 2):
        raise UntoldError("siblings")
    return fitting[0][0], [fitting[0][1]]


def _fit(cores: list[CpuSet], counts: Counts, sockets: list[CpuSet]) -> bool:
    """Whether every CPU is in one core, and every core in one NUMA node and socket."""
    nodes = list(counts.numa_nodes.values()) or [counts.online]
    for core in cores:
        if len(core) != counts.threads_per_core or not core <= counts.online:
            return False
        if not _is_within(core, nodes) or not _is_within(core, sockets):
            return False
    return sum(map(len, cores)) == len(counts.online)


def _is_within(core: CpuSet, groups: list[CpuSet]) -> bool:
    return any(core <= group for group in groups)


def _separate(counts: Counts, _: list[CpuSet]) -> Iterator[CpuSet]:
    cores = counts.cores_per_socket * counts.sockets
    for first in range(cores):
        yield CpuSet(range(first, cores * counts.threads_per_core, cores))


def _separate_by_socket(counts: Counts, sockets: list[CpuSet]) -> Iterator[CpuSet]:
    for cpus in sockets:
        members = list(cpus)
        for first in range(counts.cores_per_socket):
            yield CpuSet(members[first :: counts.cores_per_socket])


def _adjacent(counts: Counts, _: list[CpuSet]) -> Iterator[CpuSet]:
    threads = counts.threads_per_core
    for first in sorted({cpu - cpu % threads for cpu in counts.online}):
        yield CpuSet(range(first, first + threads))


_Habits = dict[str, Callable[[Counts, list[CpuSet]], Iterator[CpuSet]]]
#: The habits of an architecture's machines: x86 servers or guests, Arm servers (ThunderX2), POWER
#: and s390.
_HABITS: dict[str, _Habits] = {
    "x86_64": {_SEPARATE: _separate, _ADJACENT: _adjacent},
    "aarch64": {_SEPARATE_BY_SOCKET: _separate_by_socket},
    "": {  # unknown
        _SEPARATE: _separate,
        _ADJACENT: _adjacent,
        _SEPARATE_BY_SOCKET: _separate_by_socket,
    },
}
_OTHER_HABITS: _Habits = {_ADJACENT: _adjacent}


def summary_remarks(summary: Summary, rules: Iterable[str]) -> Iterator[str]:
    """What a summary leaves open or to guess; `rules` say how CPUs were grouped."""
    for rule in rules:
        yield f"it is unknown which CPUs belong together; it is assumed that {rule}"
    if any(kind.threads_per_core is None for kind in summary.kinds):
        yield "cores are missing: each CPU is treated as a core"
    if len(summary.kinds) > 1:
        count = len(summary.kinds)
        yield f"there are {count} kinds of cores, and it is unknown which CPUs belong to which"
    if summary.caches:
        yield (
            "only the total size of caches is known, not which CPUs share one: caches are left open"
        )


def table_remarks(
    table: Table, machine: Machine, rows: list[Row], summary: Summary | None
) -> Iterator[str]:
    """What this table leaves open or to guess."""
    coreless = CpuSet(row.cpu for row in rows if row.core is None)
    if coreless:
        told = (
            "cores are" if coreless == machine.online else f"the cores of {cpus_text(coreless)} are"
        )
        yield f"{told} missing: each CPU is treated as a core"
    guessed = CpuSet(row.cpu for row in table.rows if row.online is None) & machine.offline
    if guessed and summary is None:
        yield f"{cpus_text(guessed)}: no core is listed, so they count as offline"
    if machine.core_ids:
        yield (
            "cores have the kernel's ids: CPUs of one core_id in one socket and NUMA node "
            "are treated as siblings"
        )
    if machine.caches and all(cache.id is None for cache in machine.caches):
        yield "it is unknown whether the numbers of caches are the kernel's ids: they are left open"
    if machine.core_types:
        yield (
            "kinds of cores are numbered in the order of their CPUs: it is unknown which of "
            "them is faster"
        )
    if incomplete := CpuSet(table.incomplete) & machine.online:
        yield (
            f"{cpus_text(incomplete)}: fewer caches are listed than there are columns, so "
            "caches are left open"
        )
    if not machine.offline and summary is None and "online" not in table.columns:
        yield "offline CPUs are not listed"
    if summary is None and "node" in table.columns:
        yield "NUMA nodes without CPUs are not listed"


def _sockets_missing(machine: Machine, summary: Summary | None) -> str:
    """Why no sockets are known; a count that says nothing is not the same as none."""
    if summary and machine.architecture == "s390x" and summary.kinds[0].sockets:
        return (
            "lscpu counts a socket for each CPU, as it does where the kernel tells no sockets: "
            "one is assumed"
        )
    return "sockets are missing: one is assumed"


def common_remarks(machine: Machine, summary: Summary | None) -> Iterator[str]:
    """What neither a table nor a summary told, and what was assumed for it."""
    has_model = machine.model or machine.architecture not in ("", "x86_64")
    sized = all(cache.size is not None for cache in machine.caches)
    claimed_twice = in_several(summary.numa_nodes.values()) if summary else EMPTY
    nodes = machine.numa_nodes
    has_memory = nodes and all(node.memory is not None for node in nodes)
    rest = "huge pages, dies, PCI devices and boot arguments are missing"
    told = (
        (machine.architecture, join.ARCHITECTURE_MISSING, ""),
        (has_model, "the CPU model is missing", ""),
        (machine.sockets, _sockets_missing(machine, summary), ""),
        (machine.caches or (summary and summary.caches), "caches are missing", ""),
        (sized, "the sizes of caches are missing or incomplete", ""),
        (machine.numa_nodes, "NUMA nodes are missing: one is assumed", ""),
        (
            not claimed_twice,
            "CPUs {} are in several NUMA nodes: the lowest is used",
            claimed_twice,
        ),
        (has_memory, "memory, {}", rest),
        (not has_memory, "{}", rest),
    )
    return (text.format(value) for known, text, value in told if not known)


#: uname(1) to what documents know; a 32-bit or big-endian kernel runs on the same machines.
_ARCHITECTURES = {
    **{name: name for name in ("x86_64", "aarch64", "ppc64le", "s390x", "riscv64", "loongarch64")},
    "i386": "x86_64", "i586": "x86_64", "i686": "x86_64", "ppc64": "ppc64le",
}  # fmt: skip
#: Architectures by the CPU models that lscpu names; it has its own names for Arm's parts.
_MODELS = {
    "x86_64": re.compile(r"intel|amd|xeon|epyc|opteron|zhaoxin|hygon", re.IGNORECASE),
    "aarch64": re.compile(
        r"cortex|neoverse|kunpeng|thunderx|ampere|icestorm|firestorm|grace", re.IGNORECASE
    ),
    "ppc64le": re.compile(r"power[0-9]", re.IGNORECASE),
}
_LAST_KIND = 9  # documents name kinds of cores kind0 to kind9


class Found(NamedTuple):
    """A machine, remarks on what is unknown, and siblings that cannot be, by what shows it."""

    machine: Machine
    remarks: list[str]
    doubtful: dict[str, list[CpuSet]]


def disagreement(table: Table, summary: Summary) -> str | None:
    """What the two say of CPUs that cannot both be true of one machine; None if they agree."""
    rows = CpuSet(row.cpu for row in table.rows)
    known = summary.online | summary.offline
    if not summary.online <= rows <= known:
        return f"it lists {cpus_text(known)}, but the other one {cpus_text(rows)}"
    told = CpuSet(row.cpu for row in table.rows if row.online is not None)
    online = CpuSet(row.cpu for row in table.rows if row.online)
    if online != summary.online & told:
        return (
            f"{cpus_text(summary.online)} are online in it, but {cpus_text(online)} in the "
            "other one"
        )
    return None


def numa_disagreement(machine: Machine, numa: NumaList) -> str | None:
    """What `numactl -H` says of CPUs that is not true of the machine; None if they agree."""
    if numa.online != machine.online:
        return f"it lists {cpus_text(numa.online)}, but the other one {cpus_text(machine.online)}"
    known = {node.id: node.cpus & machine.online for node in machine.numa_nodes}
    for node in numa.nodes:
        if known and node.cpus != known.get(node.id, EMPTY):
            other = known.get(node.id, EMPTY)
            return (
                f"its NUMA node {node.id} has {cpus_text(node.cpus) or 'no CPUs'}, but that of the "
                f"other one {cpus_text(other) or 'none'}"
            )
    return None


def from_table(table: Table, summary: Summary | None) -> Found:
    """The machine of a table; a summary adds model, architecture, empty NUMA nodes, sizes."""
    online = _online(table, summary)
    rows = [row for row in table.rows if row.cpu in online]
    present = CpuSet(row.cpu for row in table.rows) | (summary.offline if summary else EMPTY)
    models = _models(rows)
    model = models[0] if models else None
    if summary and model is None:
        model = summary.kinds[0].model
    # One thread in the cores of every kind: whatever their numbers, no two CPUs are siblings.
    single = summary is not None and {kind.threads_per_core for kind in summary.kinds} == {1}
    siblings = tuple(CpuSet((cpu,)) for cpu in online) if single else _siblings(rows)
    known = _architecture(summary) or _architecture_of(rows)
    architecture = known or ""
    machine = Machine(
        architecture=architecture,
        vendor=summary.vendor if summary else None,
        model=model,
        model_number=_model_number(architecture, summary),
        online=online,
        offline=present - online,
        siblings=siblings,
        core_ids=_core_ids(rows),
        sockets={row.cpu: row.socket for row in rows if row.socket is not None},
        dies={},
        clusters=_clusters(rows),
        core_types=_core_types(rows, models),
        caches=tables.caches_of(table, rows, siblings, summary, tells_ids=known == "x86_64"),
        numa_nodes=_numa_nodes(_listed_nodes(table, summary), present),
        huge_page_sizes=(),
        devices=(),
        boot_arguments=None,
    )
    notes = list(table_remarks(table, machine, rows, summary))
    repeats = _may_repeat(table, rows, siblings)
    return Found(machine, notes, tables.doubtful_cores(rows, siblings, summary, repeats=repeats))


def from_summary(summary: Summary) -> Found:
    """The machine of a summary. Raises UntoldError without siblings or sockets."""
    architecture = _architecture(summary) or ""
    present = summary.online | summary.offline
    numa_nodes = _numa_nodes(_listed_nodes(None, summary), present)
    groups = _numbered(summary, architecture, numa_nodes)
    tells_sockets = _tells_sockets(summary, architecture)
    machine = Machine(
        architecture=architecture,
        vendor=summary.vendor,
        model=summary.kinds[0].model,
        model_number=_model_number(architecture, summary),
        online=summary.online,
        offline=summary.offline,
        siblings=groups.siblings,
        core_ids={},
        sockets=groups.sockets if tells_sockets else {},
        dies={},
        clusters=(),
        core_types={},
        caches=(),
        numa_nodes=numa_nodes,
        huge_page_sizes=(),
        devices=(),
        boot_arguments=None,
    )
    return Found(machine, list(summary_remarks(summary, groups.rules)), {})


def _numbered(summary: Summary, architecture: str, numa_nodes: Iterable[NumaFacts]) -> Groups:
    """Siblings and sockets by the counts.

    Kinds of CPUs can be told apart only where nothing depends on it.
    """
    kinds = summary.kinds
    threads = _threads_per_core(summary, architecture)
    sockets = max(kind.sockets or 1 for kind in kinds)
    if len(kinds) > 1 and (threads > 1 or sockets > 1):
        raise UntoldError("siblings" if threads > 1 else "sockets")
    nodes = {
        node.id: node.cpus & summary.online for node in numa_nodes if node.cpus & summary.online
    }
    per_socket = kinds[0].cores_per_socket or 0
    return numbered_groups(
        Counts(architecture, summary.online, threads, per_socket, sockets, nodes)
    )


def _tells_sockets(summary: Summary, architecture: str) -> bool:
    """Whether sockets are counted. On s390x, lscpu counts one for each CPU without a known one."""
    sockets = summary.kinds[0].sockets
    if sockets is None:
        return False
    return architecture != "s390x" or sockets < len(summary.online)


def _threads_per_core(summary: Summary, architecture: str) -> int:
    """Hardware threads of the widest core.

    Without core ids, as on RISC-V, lscpu counts all CPUs of a socket as threads of one core.
    Threads share the first-level caches, so CPUs that have as many of these are cores. (Not so on
    x86: QEMU gives each thread its own.)
    """
    count = len(summary.online)
    firsts = [summary.caches.get((1, kind)) for kind in ("Data", "Instruction")]
    own = all(total is not None and total.instances == count for total in firsts)
    if architecture == "riscv64" and own:
        return 1
    return max(kind.threads_per_core or 1 for kind in summary.kinds)


def _online(table: Table, summary: Summary | None) -> CpuSet:
    """The online CPUs: by the column, else the summary, else those with a core or socket."""
    told = CpuSet(row.cpu for row in table.rows if row.online)
    untold = CpuSet(row.cpu for row in table.rows if row.online is None)
    placed = CpuSet(row.cpu for row in table.rows if row.core is not None or row.socket is not None)
    return told | untold & (summary.online if summary else placed or untold)


def _models(rows: Iterable[Row]) -> list[str]:
    """Names of the CPU models in the order of their CPUs."""
    return list(dict.fromkeys(row.model for row in rows if row.model))


def _core_types(rows: Iterable[Row], models: list[str]) -> dict[int, str]:
    if len(models) < 2:
        return {}
    return {row.cpu: f"kind{min(models.index(row.model), _LAST_KIND)}" for row in rows if row.model}


def _siblings(rows: Sequence[Row]) -> tuple[CpuSet, ...]:
    """The cores; the kernel's ids (`-y`) repeat in each socket, lscpu's in each CPU kind."""
    counted = _counted(rows)
    keyed: list[tuple[Row, Hashable]] = []
    for row in rows:
        place = (row.model,) if counted else (*_socket(row), row.node)
        keyed.append((row, row.cpu if row.core is None else (*place, row.core)))
    return _groups(keyed)


def _core_ids(rows: Sequence[Row]) -> dict[int, int]:
    """The kernel's ids by CPU, where cores have these."""
    if _counted(rows):
        return {}
    return {row.cpu: row.core for row in rows if row.core is not None}


def _socket(row: Row) -> tuple[Hashable, ...]:
    """The socket, whichever numbers they are; lscpu counts anew for each kind of CPU."""
    return row.model, row.drawer, row.book, row.socket


def _groups(keyed: Iterable[tuple[Row, Hashable]]) -> tuple[CpuSet, ...]:
    groups: dict[Hashable, list[int]] = {}
    for row, key in keyed:
        groups.setdefault(key, []).append(row.cpu)
    return tuple(sorted(map(CpuSet, groups.values()), key=lambda cpus: cpus.first))


def _clusters(rows: Iterable[Row]) -> tuple[CpuSet, ...]:
    known = [row for row in rows if row.cluster is not None]
    return _groups((row, (row.model, row.cluster)) for row in known)


def _counted(rows: Sequence[Row]) -> bool:
    """Whether cores have lscpu's own numbers, which count from 0 per CPU kind over all sockets.

    The kernel's ids repeat in each socket. With one socket only, they can still repeat in each NUMA
    node (AMD before Zen), so numbers that do are not taken for lscpu's.
    """
    one_socket = len({_socket(row) for row in rows}) == 1
    places: dict[str | None, dict[int, tuple[Hashable, ...]]] = {}
    for row in rows:
        if row.core is not None:
            known = places.setdefault(row.model, {})
            place = (*_socket(row), row.node if one_socket else None)
            if known.setdefault(row.core, place) != place:
                return False
    return all(list(known) == list(range(len(known))) for known in places.values())


def _may_repeat(table: Table, rows: Sequence[Row], siblings: Iterable[CpuSet]) -> bool:
    """Whether numbers of cores may start again.

    lscpu's own do for each kind of CPU, whose CPUs are neighbours, so that it does not give
    neighbours one number; the kernel's do on s390 in each book, and a table without that column
    may be from there.
    """
    if _counted(rows):
        return any(cpus.last - cpus.first >= len(cpus) for cpus in siblings)
    return "book" not in table.columns or any(row.book is not None for row in rows)


def _architecture(summary: Summary | None) -> str | None:
    if summary is None or summary.architecture is None:
        return None
    return _ARCHITECTURES.get(summary.architecture, "other")


def _architecture_of(rows: list[Row]) -> str | None:
    """By the model's name; only s390 has books."""
    names = " ".join(_models(rows))
    architectures = (architecture for architecture, model in _MODELS.items() if model.search(names))
    return "s390x" if any(row.book is not None for row in rows) else next(architectures, None)


def _model_number(architecture: str, summary: Summary | None) -> int | None:
    number = summary.kinds[0].model_number if summary else ""
    return int(number) if architecture == "x86_64" and re.fullmatch(r"[0-9]{1,9}", number) else None


def _listed_nodes(table: Table | None, summary: Summary | None) -> dict[int, CpuSet] | None:
    """CPUs by NUMA node; {} where the kernel has no nodes, None where nobody was asked."""
    if summary is not None and summary.tells_numa:
        return summary.numa_nodes
    if table is None or "node" not in table.columns:
        return None if summary is None else {}
    nodes: dict[int, CpuSet] = {}
    for row in table.rows:
        if row.node is not None:
            nodes[row.node] = nodes.get(row.node, EMPTY) | CpuSet((row.cpu,))
    return dict(sorted(nodes.items()))


def _numa_nodes(listed: dict[int, CpuSet] | None, present: CpuSet) -> tuple[NumaFacts, ...]:
    """The nodes, ascending; of several, a CPU is in the lowest; a kernel without NUMA has one."""
    if listed is None:
        return ()
    nodes = []
    rest = present
    for number, cpus in (listed or {0: present}).items():
        nodes.append(NumaFacts(number, cpus & rest, None, (), {}))
        rest -= cpus
    return tuple(nodes)
