"""What lscpu(1) prints: tables of CPUs and summaries, as text and as JSON."""

import re
from collections.abc import Sequence
from pathlib import Path

from cpuplan.importers.base import Format, Imported

#: What uname(1) calls a machine, by which a summary in any language is recognized.
MACHINE = "(x86_64|i[3-6]86|aarch64|ppc64(le)?|s390x?|riscv64|loongarch64)"


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
        # in other languages too, to say what to do
        rf"""|[^\W\d_][^\n:\uff1a]{{0,40}}[:\uff1a]\s*{MACHINE}[ \t\r]*\n"""
        r"""(?=([^\n]*\n){2,60}?[^\n]*(L1|NUMA|CPU\(s\)))"""
        r"""|Architecture: |CPU( +[A-Z][A-Za-z0-9:%]*)+\s*\n""",
        re.IGNORECASE,
    ),
    read=_read,
    read_parts=_read_parts,
)
