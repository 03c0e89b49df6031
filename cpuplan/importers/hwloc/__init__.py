"""hwloc's XML, versions 1 to 3: what `lstopo machine.xml` writes."""

import re
from pathlib import Path

from cpuplan.importers.base import Format, Imported


def _read(path: Path) -> Imported:
    from cpuplan.importers.hwloc import reader

    return reader.read(path)


FORMAT = Format(
    name="hwloc",
    summary="XML of lstopo",
    # possessive and atomic, so that a long row of comments or blanks cannot take forever
    text=re.compile(
        r"\s*+(?>(<\?xml[^>]*+>|<!--.*?-->)\s*+)*+<(!DOCTYPE\s++)?topology\b", re.DOTALL
    ),
    read=_read,
)
