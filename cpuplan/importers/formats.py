"""The formats of imports: which one a file or folder has by its look, and what is in it."""

import os
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path

from cpuplan.base.files.archives import is_archive
from cpuplan.base.progress import follow
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.importers.base import Format, Imported, node_name
from cpuplan.importers.packed_files import unpacked_head
from cpuplan.importers.trees import Refused

#: Modules that define a FORMAT; their looks are tried in this order.
_MODULES = (
    "sysroot",
    "must_gather",
    "lscpu",
    "hwloc",
    "objects",
    "machineinfo",
    "ironic",
)
_KNOWN: list[Format] = [import_module(f"cpuplan.importers.{name}").FORMAT for name in _MODULES]
FORMATS = {known.name: known for known in _KNOWN}
#: How much of a file is looked at: the first object of a NodeList may have long annotations.
_HEAD = 256 * 1024
#: This much more of a text whose head shows no format: other objects come first, lines are long.
_MORE = 8 * 1024 * 1024
#: What a text begins with, or has at the beginning of a line, that is worth reading more of.
_SIGNS = re.compile(rb"\A\s*\{|^apiVersion\s*:", re.MULTILINE)


def detect(path: Path) -> Format | None:
    """The format of the file or folder at `path`; None where it looks like none."""
    if os.path.isdir(path):
        return next((known for known in FORMATS.values() if known.is_folder(path)), None)
    try:
        with path.open("rb") as file:
            start = file.read(_HEAD)
            if is_archive(start):
                return _of_archive(start)
            known = _of_text(start)
            if known is None and len(start) == _HEAD and _SIGNS.search(start):
                known = _of_text(start + file.read(_MORE))
            return known
    except OSError:
        return None


def _of_archive(start: bytes) -> Format | None:
    """The format of a compressed file by its text; one that is no text is taken for an archive."""
    text = unpacked_head(start, _HEAD)
    known = None if is_archive(text) else _of_text(text)
    return known or next((known for known in FORMATS.values() if known.packs_files), None)


def _of_text(start: bytes) -> Format | None:
    encoding = "utf-16" if start.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else "utf-8"
    text = start.decode(encoding, "replace").removeprefix("\ufeff")
    matching = (known for known in FORMATS.values() if known.text and known.text.match(text))
    return next(matching, None)


#: Files of a folder that are looked at.
MAX_FILES = 10_000


def read_sources(format_: Format | None, paths: Iterable[Path]) -> Iterator[tuple[Path, Imported]]:
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
