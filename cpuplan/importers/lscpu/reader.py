"""What lscpu(1) prints: tables of CPUs (`-p`, `-e`, `-J -e`) and summaries (plain, `-J`).

One of each makes one node, with what `numactl -H` prints of it; a file may have several.

The groups are those that lscpu sees. It numbers sockets, cores and caches by the kernel's masks,
anew for each kind of CPU; `-y` prints the kernel's ids instead.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from cpuplan.base.cpuset import CpuSet
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.importers import join
from cpuplan.importers.base import Imported, Node, assumptions_in, bare_machine, node_name
from cpuplan.importers.data import whole
from cpuplan.importers.lscpu import BETWEEN, FORMAT, numactl, numbering, tables
from cpuplan.importers.lscpu.numactl import NumaList
from cpuplan.importers.lscpu.tables import RowError, Summary, Table
from cpuplan.importers.packed_files import ArchiveError, damaged, read_file, too_large, unpack

#: 8,192 CPUs with all columns as JSON have 5 MiB.
MAX_TEXT = 8 * 1024 * 1024
_SHOWN_GROUPS = 3
_BETWEEN = re.compile(BETWEEN)
#: First lines of outputs that follow another one without a line between them.
_BEGIN = re.compile(
    r"available: [0-9]+ nodes?\b|Architecture:|CPU(?: +[A-Z][A-Za-z0-9:%]*)+\s*\Z"
    r"|# The following is the parsable format"
)


class _Parts(NamedTuple):
    """The outputs of one node that were read: the first of each kind, with its path."""

    tables: list[tuple[Path, Table]]
    summaries: list[tuple[Path, Summary]]
    numa_lists: list[tuple[Path, NumaList]]
    diagnostics: list[Diagnostic]


def read(path: Path) -> Imported:
    """Read the node of one file."""
    return read_parts((path,))


def read_parts(paths: Sequence[Path]) -> Imported:
    """Read a node from its files: a summary (the model), a table (the CPUs), or one of the two.

    What numactl prints has no cores: alone, it makes a node without them, to complete another one.
    """
    name = node_name(paths[0])
    parts = _parts(paths, name)
    diagnostics = [*parts.diagnostics]
    try:
        facts = _machine(parts, name, diagnostics)
    except numbering.UntoldError as error:
        diagnostics.append(diagnose("CP136", path=parts.summaries[0][0], what=error.what))
        facts = None
    if facts is None:
        alone = [] if parts.tables or parts.summaries else parts.numa_lists
        return Imported(tuple(_coreless(name, alone)), (), tuple(diagnostics))
    diagnostics += _doubts((parts.tables or parts.summaries)[0][0], facts.doubtful)
    summary = next((summary for _, summary in parts.summaries), None)
    facts = _with_numa_list(facts, parts, name, diagnostics)
    remarks = [*facts.remarks, *numbering.common_remarks(facts.machine, summary)]
    machine = facts.machine._replace(assumptions=assumptions_in(remarks))
    remarks.append("there is no host name: the node is named after the file")
    node = Node(name, machine, {})
    return Imported(
        (node,), tuple(f"node {name}: {remark}" for remark in remarks), tuple(diagnostics)
    )


def _machine(parts: _Parts, name: str, diagnostics: list[Diagnostic]) -> numbering.Found | None:
    """The machine, or None if no file is usable. Raises UntoldError for a lone summary."""
    summary = next((summary for _, summary in parts.summaries), None)
    if not parts.tables:
        return None if summary is None else numbering.from_summary(summary)
    first, table = parts.tables[0]
    if summary is not None and (problem := numbering.disagreement(table, summary)):
        path = parts.summaries[0][0]
        diagnostics.append(diagnose("CP137", path=path, first=first, node=name, problem=problem))
        summary = None
    return numbering.from_table(table, summary)


def _coreless(name: str, numa_lists: list[tuple[Path, NumaList]]) -> Iterator[Node]:
    for _, numa in numa_lists[:1]:
        machine = bare_machine(())._replace(online=numa.online, numa_nodes=numa.nodes)
        yield Node(name, machine, {}, partial=True)


def _with_numa_list(
    facts: numbering.Found, parts: _Parts, name: str, diagnostics: list[Diagnostic]
) -> numbering.Found:
    """The machine with memory, distances and empty nodes of `numactl -H`, if it is of the same."""
    if not parts.numa_lists:
        return facts
    path, numa = parts.numa_lists[0]
    machine = facts.machine
    if problem := numbering.numa_disagreement(machine, numa):
        first = (parts.tables or parts.summaries)[0][0]
        diagnostics.append(diagnose("CP137", path=path, first=first, node=name, problem=problem))
        return facts
    nodes = join.filled(machine.numa_nodes, numa.nodes)
    return facts._replace(machine=machine._replace(numa_nodes=nodes))


def _doubts(path: Path, doubtful: dict[str, list[CpuSet]]) -> Iterator[Diagnostic]:
    for problem, groups in doubtful.items():
        shown = "; ".join(map(str, groups[:_SHOWN_GROUPS]))
        more = (
            f"; and {len(groups) - _SHOWN_GROUPS} groups more"
            if len(groups) > _SHOWN_GROUPS
            else ""
        )
        yield diagnose("CP138", path=path, groups=shown + more, problem=problem)


def _parts(paths: Sequence[Path], name: str) -> _Parts:
    """What is in the files. Of two outputs of one kind and node, the first counts."""
    parts = _Parts([], [], [], [])
    for path in paths:
        try:
            sections = _sections(_text(path))
        except ArchiveError as error:
            parts.diagnostics.append(error.diagnostic)
            continue
        for section in sections:
            _add(parts, path, section, name)
    return parts


def _sections(text: str) -> list[str]:
    """The outputs of a text, with as many empty lines before each that its lines keep numbers."""
    starts, lines = [0], text.splitlines()
    for number, line in enumerate(lines):
        if _BETWEEN.fullmatch(line):
            lines[number] = ""
            starts.append(number)
        elif _BEGIN.match(line):
            starts.append(number)
    if len(starts) == 1:
        return [text]
    sections = []
    for start, end in pairwise([*starts, len(lines)]):
        part = "\n".join(lines[start:end]) + "\n"
        if FORMAT.text and FORMAT.text.match(part.lstrip("\n")):
            sections.append("\n" * start + part)
    return sections or [text]


def _add(parts: _Parts, path: Path, text: str, name: str) -> None:
    try:
        part = _parse(text, str(path))
    except ArchiveError as error:
        parts.diagnostics.append(error.diagnostic)
        return
    except RowError as error:
        place = f"{path}: {error.place}"
        problem = diagnose("CP135", path=place, text=error.text, problem=error.problem)
        parts.diagnostics.append(problem)
        return
    known: list[Any] = parts.summaries
    if isinstance(part, Table):
        known = parts.tables
    elif isinstance(part, NumaList):
        known = parts.numa_lists
    if not (part.rows if isinstance(part, Table) else part.online):
        parts.diagnostics.append(diagnose("CP124", path=path))
    elif known:
        parts.diagnostics.append(diagnose("CP126", path=path, node=name, first=known[0][0]))
    else:
        known.append((path, part))


def _text(path: Path) -> str:
    """The text of the file, unpacked. Raises ArchiveError."""
    data = unpack(read_file(path), str(path))
    if len(data) > MAX_TEXT:
        raise too_large(str(path), MAX_TEXT, "bytes of text")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise damaged(str(path), f"byte {error.start} is not UTF-8") from None


def _parse(text: str, name: str) -> Table | Summary | NumaList:
    """Raises RowError for impossible contents, ArchiveError for invalid JSON or JSON of neither."""
    start = text.lstrip()
    if start.startswith("available:"):
        return numactl.parse(text)
    if start.startswith("{"):
        return _parse_json(text, name)
    if start.startswith("#"):
        return tables.table_from_parsable(text)
    if ":" not in start.partition("\n")[0] or start[:4].upper() == "CPU ":
        return tables.table_from_extended(text)
    return tables.summary_from_text(text)


def _parse_json(text: str, name: str) -> Table | Summary:
    import json

    try:
        data = whole(json.loads(text), text)
    except (ValueError, RecursionError) as error:
        problem = str(error).partition(";")[0]
        raise damaged(name, f"it is not complete JSON ({problem})") from None
    if "cpus" in data:
        return tables.table_from_json(data["cpus"])
    if "lscpu" in data:
        return tables.summary_from_json(data["lscpu"])
    raise damaged(name, "it has neither `lscpu` nor `cpus`, which lscpu -J prints")
