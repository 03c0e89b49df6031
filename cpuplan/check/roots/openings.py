"""What is at a path: a root, an archive of one, or a report that contains some."""

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from cpuplan.base.files import TooLarge, Unreadable, unreadable
from cpuplan.base.naming import fold_names
from cpuplan.base.roots.archive import ArchiveReader, Index, pieces_of
from cpuplan.base.roots.folder import FolderReader
from cpuplan.base.roots.tree import Reader
from cpuplan.check.roots import reports
from cpuplan.check.roots.limits import KEEPING, LIMITS, MAX_NESTED, MAX_NESTED_UNPACKED, NESTED
from cpuplan.check.roots.mounted import HostReader
from cpuplan.check.roots.root import MANIFEST, Kind, Root, names_of, nodes_of
from cpuplan.diagnostics import CpuplanError, Diagnostic, diagnose

#: Folders at the top that are looked into for a root.
_MAX_TOPS = 1000
_MARKS = frozenset({"proc", "sys", "etc"})


class Opening(NamedTuple):
    """A root that is not read yet; the `host` is known where a must-gather names it."""

    path: Path
    host: str
    make: Callable[[], Root]

    def open(self) -> Root:
        """The root: of an archive with all that is kept of it, so that one is held at a time.

        Raises CpuplanError: CP807 for what is not read, CP808 for an archive that is too large.
        """
        with _refusals(self.path):
            return self.make()


def openings_at(path: Path) -> list[Opening]:
    """What is at a path: one root, or one for each node of a must-gather.

    Raises CpuplanError as `Opening.open`.
    """
    with _refusals(path):
        if stat.S_ISDIR(os.stat(path).st_mode):
            return list(_in_folder(path))
        return list(_in_archive(path, Index(pieces_of(str(path)), KEEPING)))


def root_of(path: Path, node: str) -> Root:
    """The root of a node at a path: the only one there, or of several the one that is called so.

    Raises CpuplanError: CP809 where the name leaves a choice, and those of `Opening.open`.
    """
    openings = openings_at(path)
    if len(openings) == 1:
        return openings[0].open()
    named = {opening.host: opening for opening in openings}
    same = nodes_of([node.lower()], named)
    if len(same) == 1:
        return named[same[0]].open()
    raise CpuplanError([_choice(path, same or list(named))])


def node_of(root: Root, nodes: Iterable[str]) -> str:
    """The planned node that a root is of, by its host name.

    Raises CpuplanError: CP809 for several that it may be, CP889 for none.
    """
    names = root.host_names()
    same = nodes_of(names, nodes)
    if len(same) == 1:
        return same[0]
    if same:
        raise CpuplanError([_choice(root.folder, same)])
    called = f"it is called {' and '.join(names)}" if names else "it has no etc/hostname"
    raise CpuplanError([diagnose("CP889", path=root.folder, called=called)])


def _choice(path: Path, names: Iterable[str]) -> Diagnostic:
    shown = ", ".join(fold_names(sorted(names)))
    return diagnose("CP809", path=path, nodes=shown)


@contextmanager
def _refusals(path: Path) -> Iterator[None]:
    try:
        yield
    except TooLarge as error:
        raise CpuplanError([diagnose("CP808", path=path, problem=error.problem)]) from None
    except (OSError, ValueError, Unreadable) as error:
        problem = error.problem if isinstance(error, Unreadable) else unreadable(error).problem
        raise CpuplanError([diagnose("CP807", path=path, problem=problem)]) from None


def _in_folder(path: Path) -> Iterator[Opening]:
    with FolderReader(path, LIMITS) as reader:
        kind, top = _root_in(reader)
        nodes = {} if kind else reports.nodes(reader)
    yield from _of_nodes(path, reader, nodes)
    if not nodes:
        below = path / top
        shown = kind if kind != Kind.COPY else None
        yield Opening(path, "", lambda: Root(below, _read_as(kind, HostReader(below)), shown))


def _in_archive(path: Path, index: Index) -> Iterator[Opening]:
    reader = ArchiveReader(index, LIMITS)
    kind, top = _root_in(reader)
    nodes = {} if kind else reports.nodes(reader)
    yield from _of_nodes(path, reader, nodes)
    if not nodes:
        below = ArchiveReader(index, LIMITS, top)
        root = partial(Root, path / top)
        yield Opening(path, "", lambda: root(_read_as(kind, below), kind or Kind.COPY))


def _of_nodes(path: Path, gather: Reader, nodes: Mapping[str, str]) -> Iterator[Opening]:
    for name, folder in sorted(nodes.items()):
        host = next(iter(names_of(lambda _: None, name)), "")
        yield Opening(path, host, partial(_of_node, path, gather, name, folder))


def _of_node(path: Path, gather: Reader, name: str, folder: str) -> Root:
    """The root in a node's archive, which is in a must-gather."""
    packed = gather.read(f"{folder}/{NESTED}", MAX_NESTED)
    index = Index(iter([packed]), KEEPING._replace(unpacked=MAX_NESTED_UNPACKED))
    _, top = _root_in(ArchiveReader(index, LIMITS))
    reader = reports.of_must_gather(ArchiveReader(index, LIMITS, top), gather, folder)
    return Root(path / folder / NESTED / top, reader, Kind.MUST_GATHER, name)


def _read_as(kind: Kind | None, reader: Reader) -> Reader:
    if kind is Kind.SOSREPORT:
        return reports.of_sosreport(reader)
    return reports.of_snapshot(reader) if kind is Kind.SNAPSHOT else reader


def _root_in(reader: Reader) -> tuple[Kind | None, str]:
    """What a folder or archive is, and the folder in it that is the root: one nested is found."""
    kind = _kind_at(reader, "")
    if kind:
        return kind, ""
    folders = [name for name, is_folder in reader.entries("") if is_folder][:_MAX_TOPS]
    nested = {name: kind for name in folders if (kind := _kind_at(reader, name))}
    if len(nested) == 1:
        return next((kind, name) for name, kind in nested.items())
    return None, ""


def _kind_at(reader: Reader, top: str) -> Kind | None:
    names = dict(reader.entries(top))
    if (MANIFEST.rpartition("/")[2], False) in _entries(reader, top, "cpuplan", names):
        return Kind.SNAPSHOT
    if names.get(reports.SOSREPORT_MARK):
        return Kind.SOSREPORT
    return Kind.COPY if any(names.get(mark) for mark in _MARKS) else None


def _entries(reader: Reader, top: str, name: str, names: dict[str, bool]) -> list[tuple[str, bool]]:
    path = f"{top}/{name}" if top else name
    return reader.entries(path) if names.get(name) else []
