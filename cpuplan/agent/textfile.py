"""Metrics in a file that node_exporter's textfile collector reads."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path


def write(path: Path, text: str) -> None:
    """Replace the file as a whole: a reader sees the old text or the new one.

    The collector reads all `*.prom` of its folder; the new file is not called so until it is whole.
    Raises OSError.
    """
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            os.fchmod(file.fileno(), 0o644)  # the collector is another user
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
