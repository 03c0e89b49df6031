"""What lscpu(1) and numactl(8) -H print: tables of CPUs, summaries, NUMA nodes; text and JSON."""

import re
from collections.abc import Sequence
from pathlib import Path

from cpuplan.importers.base import Format, Imported

#: What uname(1) calls a machine, by which a summary in any language is recognized.
MACHINE = "(x86_64|i[3-6]86|aarch64|ppc64(le)?|s390x?|riscv64|loongarch64)"

#: A line between outputs: a prompt, a fence of Markdown, the name of a command.
BETWEEN = (
    r"(?:```[^\n]{0,80}|\[[^\]\n]{1,99}\][$#%>][^\n]{0,200}"
    r"|[\w.-]{1,64}@[^\n#$%>]{1,99}[$#%>][^\n]{0,200}|(?:ba)?sh-[\d.]{1,9}[$#][^\n]{0,200}"
    r"|[^\w\s]{0,4} ?(?:sudo )?(?:LC_ALL=\w{1,9} |LANG=\w{1,9} )?(?:lscpu|numactl)\b[^\n{]{0,200})"
    r"\r?"
)


def _read(path: Path) -> Imported:
    return _read_parts([path])


def _read_parts(paths: Sequence[Path]) -> Imported:
    from cpuplan.importers.lscpu import reader

    return reader.read_parts(paths)


FORMAT = Format(
    name="lscpu",
    summary="output of lscpu -J, -e or -p, and of numactl -H",
    text=re.compile(
        rf"(?:{BETWEEN}\n+){{0,4}}(?:"
        r"""\s*\{\s*"(lscpu|cpus)"\s*:|(#[^\n]*\n)*#\s*([a-z0-9]+,)*CPU[,\r\n]"""
        # in other languages too, to say what to do
        rf"""|[^\W\d_][^\n:\uff1a]{{0,40}}[:\uff1a]\s*{MACHINE}[ \t\r]*\n"""
        r"""(?=([^\n]*\n){2,60}?[^\n]*(L1|NUMA|CPU\(s\)))"""
        r"""|available: [0-9]+ nodes?\b|Architecture: |CPU( +[A-Z][A-Za-z0-9:%]*)+\s*\n)""",
        re.IGNORECASE,
    ),
    read=_read,
    read_parts=_read_parts,
)
