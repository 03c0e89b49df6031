"""A table of lscpu, its summary, or both, as the facts of a machine, and what they leave open."""

import re
from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

from cpuplan.base.cpuset import EMPTY, CpuSet, cpus_text
from cpuplan.importers.lscpu import caches as lscpu_caches
from cpuplan.importers.lscpu import numbering, remarks
from cpuplan.importers.lscpu.summary import Summary
from cpuplan.importers.lscpu.table import Row, Table
from cpuplan.importers.machine import Machine, NumaFacts

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
        caches=lscpu_caches.of(table, rows, siblings, summary, tells_ids=known == "x86_64"),
        numa_nodes=_numa_nodes(_listed_nodes(table, summary), present),
        huge_page_sizes=(),
        devices=(),
        boot_arguments=None,
    )
    notes = [*remarks.of_table(table, machine, rows, summary), *remarks.of_all(machine, summary)]
    repeats = _may_repeat(table, rows, siblings)
    return Found(machine, notes, lscpu_caches.doubtful(rows, siblings, summary, repeats=repeats))


def from_summary(summary: Summary) -> Found:
    """The machine of a summary. Raises numbering.UntoldError without siblings or sockets."""
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
    notes = [*remarks.of_summary(summary, groups.rules), *remarks.of_all(machine, summary)]
    return Found(machine, notes, {})


def _numbered(
    summary: Summary, architecture: str, numa_nodes: Iterable[NumaFacts]
) -> numbering.Groups:
    """Siblings and sockets by the counts.

    Kinds of CPUs can be told apart only where nothing depends on it.
    """
    kinds = summary.kinds
    threads = _threads_per_core(summary, architecture)
    sockets = max(kind.sockets or 1 for kind in kinds)
    if len(kinds) > 1 and (threads > 1 or sockets > 1):
        raise numbering.UntoldError("siblings" if threads > 1 else "sockets")
    nodes = {
        node.id: node.cpus & summary.online for node in numa_nodes if node.cpus & summary.online
    }
    per_socket = kinds[0].cores_per_socket or 0
    return numbering.groups(
        numbering.Counts(architecture, summary.online, threads, per_socket, sockets, nodes)
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
    """Whether numbers of cores may start again: lscpu's own for each kind of CPU, whose CPUs are
    neighbours, so that it does not give neighbours one number; the kernel's on s390 in each book,
    and a table without that column may be from there.
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
