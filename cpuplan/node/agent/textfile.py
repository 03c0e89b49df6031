"""Metrics in a file that node_exporter's textfile collector reads."""

import os
from contextlib import suppress
from pathlib import Path

#: A file that is new: no link of others is followed, and nothing of theirs written to.
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def write(path: Path, text: str) -> None:
    """Replace the file as a whole: a reader sees the old text or the new one.

    The collector reads all `*.prom` of its folder; the new file is not called so until it is whole.
    It always has one name, so that what a killed agent left is replaced. Raises OSError.
    """
    unfinished = path.with_name(f".{path.name}.tmp")
    with suppress(FileNotFoundError):
        unfinished.unlink()
    try:
        with os.fdopen(os.open(unfinished, _NEW, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
            os.fchmod(file.fileno(), 0o644)  # the collector is another user
        unfinished.replace(path)
    except BaseException:
        with suppress(OSError):
            unfinished.unlink()
        raise


def clear(path: Path) -> None:
    """Remove what agents of earlier releases left, whose unfinished files had names by chance."""
    for left in path.parent.glob(f".{_escaped(path.name)}.????????.tmp"):
        with suppress(OSError):
            left.unlink()


def _escaped(name: str) -> str:
    """A name as a pattern that matches it alone."""
    return "".join(f"[{each}]" if each in "*?[" else each for each in name)
