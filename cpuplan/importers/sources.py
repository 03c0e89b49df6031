"""The paths of an import: which files are read, by which format, and what is in them."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from cpuplan.base.progress import follow
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.importers.base import Format, Imported, node_name
from cpuplan.importers.formats import FORMATS, detect
from cpuplan.importers.trees import Refused

#: Files of a folder that are looked at.
MAX_FILES = 10_000


def read(format_: Format | None, paths: Iterable[Path]) -> Iterator[tuple[Path, Imported]]:
    """What is at `paths`, with its path: of files that are read together, the first one's.

    A format of None is found by looking.
    """
    parts: dict[tuple[str, str], list[Path]] = {}
    for path in paths:
        # opening a pipe would wait for its writer
        if not os.path.isdir(path) and not os.path.isfile(path):
            problem = diagnose("CP121", path=path, problem="it is neither a file nor a folder")
            yield path, _refused(problem)
            continue
        problems: list[Diagnostic] = []
        files = list(_files(format_, path, problems))
        for file, known in follow("files", len(files), files, lambda pair: pair[0].name):
            if known is None:
                yield file, _refused(diagnose("CP120", path=file, formats=", ".join(FORMATS)))
            elif known.read_parts:
                parts.setdefault((known.name, node_name(file)), []).append(file)
            else:
                yield file, known.read(file)
        yield path, _refused(*problems)
    for (name, _), of_node in follow("nodes", len(parts), parts.items(), lambda part: part[0][1]):
        if read_parts := FORMATS[name].read_parts:
            yield of_node[0], read_parts(of_node)


def _refused(*problems: Diagnostic) -> Imported:
    return Imported((), (), problems)


def _files(
    format_: Format | None, path: Path, problems: list[Diagnostic]
) -> Iterator[tuple[Path, Format | None]]:
    """The path with its format; of a folder of no format, or of one in parts, its files."""
    known = format_ or detect(path)
    files: list[tuple[Path, Format | None]] = []
    if os.path.isdir(path) and (known is None or known.read_parts):
        for entry in _entries(path, problems):
            of_entry = detect(entry)
            if of_entry and known in (None, of_entry):
                files.append((entry, of_entry))
    yield from files or [(path, known)]


def _entries(folder: Path, problems: list[Diagnostic]) -> list[Path]:
    """The files in a folder, not below it; links to what is elsewhere are left out."""
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        problems.append(diagnose("CP121", path=folder, problem=error.strerror or str(error)))
        return []
    if len(entries) > MAX_FILES:
        limit = f"{MAX_FILES:,}"
        problems.append(diagnose("CP123", path=folder, limit=limit, what="files in a folder"))
        return []
    refused = Refused(str(folder))
    files = []
    inside = os.path.realpath(folder)
    for entry in filter(os.path.isfile, entries):
        if entry.is_symlink() and os.path.dirname(os.path.realpath(entry)) != inside:
            refused.add("a link that leads out of it", entry.name)
        else:
            files.append(entry)
    problems += refused.diagnostics()
    return files
