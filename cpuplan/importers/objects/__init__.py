"""Objects of a cluster: Node and NodeResourceTopology, as `kubectl get -o yaml` prints them."""

import re
from pathlib import Path

from cpuplan.importers.base import Format, Imported


def _read(path: Path) -> Imported:
    from cpuplan.importers.objects import reader

    return reader.read(path)


FORMAT = Format(
    name="objects",
    summary="NodeResourceTopology and Node objects",
    text=re.compile(
        r"""(?s:.*?)(^|[{,\s])["']?kind["']?\s*:"""
        r"""\s*["']?(List|(NodeResourceTopology|Node)(List)?)["']?\s*($|[,}])""",
        re.MULTILINE,
    ),
    read=_read,
)
