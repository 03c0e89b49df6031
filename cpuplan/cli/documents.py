"""Documents on the command line: read through a pipe, and written for people to edit."""

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from cpuplan.base.files import Unreadable, cache, read_regular
from cpuplan.base.text import quantity_text
from cpuplan.cli.output import note, print_diagnostics
from cpuplan.diagnostics import CpuplanError, Diagnostic, diagnose

#: Above a document in a folder of the project: editors check it against the schema of its kind.
HEADER = "yaml-language-server: $schema=../schemas/{kind}.schema.json\n"


def blocked(texts: Mapping[Path, str], hint: str) -> list[Diagnostic]:
    """CP621 for each path that exists with other content, or as a folder.

    `{name}` in the hint is replaced by the name of the file.
    """
    return [
        diagnose("CP621", path=path, hint=hint.format(name=path.stem))
        for path, text in texts.items()
        if os.path.lexists(path) and not holds(path, text)
    ]


def holds(path: Path, text: str) -> bool:
    """Whether there is a file that says just this."""
    try:
        return read_regular(path) == text.encode()
    except Unreadable:
        return False


def write(texts: Mapping[Path, str], *, quiet: bool = False) -> None:
    """Write files, in new folders where it takes them, and say which."""
    from cpuplan.write.files import write_file

    for path, text in texts.items():
        write_file(path, text)
        if not quiet:
            note(f"wrote {path}")


def write_new(texts: Mapping[Path, str], hint: str, *, force: bool) -> int:
    """Write all files, or none (2) if one exists with other content and `force` is not set."""
    if problems := [] if force else blocked(texts, hint):
        print_diagnostics(problems)
        return 2
    write(texts)
    return 0


#: What a file is called whose node's name is not known: no node is called so in the end.
NAMELESS = "stdin"
#: As much as the largest archive that is read.
_MAX_BYTES = 384 * 1024 * 1024
_PIECE = 1024 * 1024
_DESCRIPTOR = re.compile(r"-|/dev/(stdin|fd/[0-9]+)|/proc/self/fd/[0-9]+")


def is_stream(path: Path) -> bool:
    """Whether a path is a stream that this process has open already."""
    return bool(_DESCRIPTOR.fullmatch(str(path)))


@contextmanager
def received(paths: Sequence[Path], name: str = "") -> Iterator[list[Path]]:
    """The paths, with the content of pipes in files that exist as long as the context.

    Files are looked at more than once, to find their format and what belongs together; a pipe is
    read only once. Raises CpuplanError for too much.
    """
    if not any(map(is_stream, paths)):
        yield list(paths)
        return
    with cache.temporary_folder() as held:
        yield [_copy(path, held.path / str(n) / (name or NAMELESS)) for n, path in enumerate(paths)]


def told(
    diagnostics: Iterable[Diagnostic], paths: Sequence[Path], named: Sequence[Path]
) -> Iterator[Diagnostic]:
    """Diagnostics of what was received, with the pipes called as the user called them."""
    pairs = zip(paths, named, strict=True)
    names = [(str(path), str(given)) for path, given in pairs if path != given]
    for finding in diagnostics:
        message = finding.message
        for path, given in names:
            message = message.replace(path, given)
        yield finding._replace(message=message)


def _copy(path: Path, target: Path) -> Path:
    if not is_stream(path):
        return path
    target.parent.mkdir()
    with _opened(path) as source, target.open("wb") as file:
        size = 0
        while piece := source.read(_PIECE):
            size += len(piece)
            if size > _MAX_BYTES:
                limit = quantity_text(_MAX_BYTES)
                raise CpuplanError([diagnose("CP123", path=path, limit=limit, what="bytes")])
            file.write(piece)
    return target


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    if str(path) in ("-", "/dev/stdin"):
        yield sys.stdin.buffer
        return
    number = int(path.name)
    try:
        with os.fdopen(os.dup(number), "rb") as file:
            yield file
    except OSError as error:
        problem = error.strerror or str(error)
        raise CpuplanError([diagnose("CP121", path=path, problem=problem)]) from error
