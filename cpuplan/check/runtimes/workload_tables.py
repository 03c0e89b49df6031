"""CRI-O's workload tables: the CPUs of pods with an annotation, whatever the kubelet asks for."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from cpuplan.base import nodetext
from cpuplan.base.cpuset import EMPTY, CpuSet, CpuSetError
from cpuplan.check.runtimes import crio_files
from cpuplan.check.runtimes.crio import NO_FILES, find_sources, given_files
from cpuplan.check.runtimes.crio_files import Files
from cpuplan.check.subject import Subject, shown
from cpuplan.components import crio, kubelet
from cpuplan.components.openshift import pinning
from cpuplan.diagnostics.source import Position
from cpuplan.facts.settings.kubelet import CPU_MANAGER_POLICY
from cpuplan.facts.settings.openshift import PLATFORM_CPUS
from cpuplan.plan.expected.evidence import Answer, Heals
from cpuplan.upstream.crio.config import File, Machine, RefusedError, Table, decode, load

_FACT = "crio workloads"
_CPUS = "cpuset"


def tables(subject: Subject) -> Iterator[Answer]:
    """CP833 for a planned table that another file replaces, CP8360 for one that takes CPUs."""
    if subject.expected.release.runtime != crio.NAME:
        return
    given = given_files(subject)
    if given is None:
        yield subject.unverifiable(_FACT, "", NO_FILES)
        return
    release = crio_files.release(subject)
    try:
        files = crio_files.decoded(given, release)
        in_force = load(files, Machine(release=release)).workloads
    except RefusedError:
        yield subject.unverifiable(_FACT, "", "CRI-O does not take its files")
        return
    node = _Node(given, files, in_force)
    planned = _planned(subject)
    answers = [*_replaced(subject, node, planned), *_taking(subject, node, planned)]
    yield from answers
    if not answers and (planned or node.tables):
        yield subject.held(_FACT, (*find_sources(subject).paths.values(), "")[0])


class _Node(NamedTuple):
    """The files of a node, and the tables in force by name."""

    given: Files
    files: Mapping[str, File]
    tables: Mapping[str, Table]

    def place(self, name: str, key: str) -> Position:
        """The line of a key of a table; of its name where it lacks the key."""
        path = _last(self.files, name)
        text, where = self.given.texts.get(path, ""), self.given.shown.get(path, path)
        is_there = key in _flat(self.tables[name])
        return _line(text, where, name, key.rpartition(".")[2] if is_there else "")


def _workloads(tables: Mapping[str, Table]) -> Mapping[str, Table]:
    workloads: Mapping[str, Table] = tables.get("runtime", {}).get("workloads", {})
    return workloads


def _planned(subject: Subject) -> Mapping[str, Table]:
    """The tables of the compiled file."""
    files = pinning.files(subject.expected.settings.of(pinning.NAME))
    if pinning.CRIO_PATH not in files:
        return {}
    _, text = files[pinning.CRIO_PATH]
    return _workloads(decode(pinning.CRIO_PATH, text).tables)


def _replaced(subject: Subject, node: _Node, planned: Mapping[str, Table]) -> Iterator[Answer]:
    """What the last file with a table says otherwise; a compiled file that is missing is CP802."""
    setting = subject.expected.settings.find(PLATFORM_CPUS)
    for name in planned.keys() & node.tables.keys():
        actual = _flat(node.tables[name])
        for key, wanted in _flat(planned[name]).items():
            value = actual.get(key, "")
            if _same(key, value, wanted):
                continue
            yield subject.differs(
                setting or _FACT,
                "CP833",
                node.place(name, key),
                observed=shown(value) or "not set",
                expected=shown(wanted),
                heals=Heals.RESTART,
                key=f"workloads.{name}.{key}",
            )


def _taking(subject: Subject, node: _Node, planned: Mapping[str, Table]) -> Iterator[Answer]:
    """Other tables with CPUs that the kubelet gives to containers of others exclusively."""
    values = subject.expected.settings.values(kubelet.NAME)
    if values.get(CPU_MANAGER_POLICY.key) != "static":
        return
    assignable = subject.expected.pool("isolated").cpus
    for name, table in node.tables.items():
        taken = _cpus(table.get("resources", {}).get(_CPUS, "")) & assignable
        if name in planned or not taken:
            continue
        yield subject.differs(
            _FACT,
            "CP8360",
            node.place(name, f"resources.{_CPUS}"),
            observed=str(taken),
            expected=f"no CPU of {assignable}",
            heals=Heals.RESTART,
            name=name,
        )


def _flat(table: Table) -> dict[str, Any]:
    """The keys of a table, those of its resources with that name."""
    resources = table.get("resources", {})
    own = {key: value for key, value in table.items() if key != "resources"}
    return {**own, **{f"resources.{key}": value for key, value in resources.items()}}


def _same(key: str, value: Any, wanted: Any) -> bool:
    if not key.endswith(_CPUS):
        return bool(value == wanted)
    return _cpus(value) == _cpus(wanted)


def _cpus(text: str) -> CpuSet:
    """The CPUs of a list; CRI-O has looked at it already."""
    try:
        return CpuSet.parse(text)
    except CpuSetError:
        return EMPTY


def _last(files: Mapping[str, File], name: str) -> str:
    """The last file with a table, which counts as a whole."""
    named = [path for path, file in files.items() if name in _workloads(file.tables)]
    return named[-1]


def _line(text: str, path: str, name: str, key: str) -> Position:
    """The line of a key below the first line that has a table's name, or that line itself."""
    word = re.compile(rf"(?<![\w-]){re.escape(key)}[\"']?\s*=", re.IGNORECASE)
    header: Position | None = None
    for number, line in enumerate(nodetext.lines(text), start=1):
        end = len(line.rstrip()) + 1
        if name in line and header is None:
            header = Position(path, number, line.index(name) + 1, end)
        if key and header and (match := word.search(line)):
            return Position(path, number, match.start() + 1, end)
    return header or Position(path, 1, 1)
