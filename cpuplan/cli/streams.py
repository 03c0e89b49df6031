"""Input through a pipe: `-`, /dev/stdin, and /dev/fd/63 as shells write `<(...)`."""

import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from cpuplan.base.files import temporary
from cpuplan.base.quantity import to_text
from cpuplan.diagnostics import CpuplanError, Diagnostic, diagnose

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
    with temporary.folder() as held:
        yield [_copy(path, held.path / str(n) / (name or NAMELESS)) for n, path in enumerate(paths)]


def told(
    diagnostics: Iterable[Diagnostic], paths: Sequence[Path], named: Sequence[Path]
) -> Iterator[Diagnostic]:
    """Diagnostics of what was received, with the pipes called as the user called them."""
    names = [
        (str(path), str(given)) for path, given in zip(paths, named, strict=True) if path != given
    ]
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
                raise CpuplanError(
                    [diagnose("CP123", path=path, limit=to_text(_MAX_BYTES), what="bytes")]
                )
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
        raise CpuplanError(
            [diagnose("CP121", path=path, problem=error.strerror or str(error))]
        ) from error
