"""What lscpu(1) prints: tables of CPUs and summaries, as text and as JSON."""

import re
from collections.abc import Sequence
from pathlib import Path

from cpuplan.importers.base import Format, Imported


def _read(path: Path) -> Imported:
    return _read_parts([path])


def _read_parts(paths: Sequence[Path]) -> Imported:
    from cpuplan.importers.lscpu import reader

    return reader.read_parts(paths)


FORMAT = Format(
    name="lscpu",
    summary="output of lscpu -J, -e or -p",
    text=re.compile(
        r"""\s*\{\s*"(lscpu|cpus)"\s*:|(#[^\n]*\n)*#\s*([a-z0-9]+,)*CPU[,\r\n]"""
        r"""|Architecture: |CPU( +[A-Z][A-Za-z0-9:%]*)+\s*\n""",
        re.IGNORECASE,
    ),
    read=_read,
    read_parts=_read_parts,
)
