"""Importers: what machines there are, read from what people have. One module per format."""

from pathlib import Path

from cpuplan.diagnostics import diagnose
from cpuplan.importers import must_gather, sysroot
from cpuplan.importers.base import Imported, Importer

#: By name; formats are looked for in this order, the quicker look first.
IMPORTERS: dict[str, Importer] = {module.NAME: module for module in (sysroot, must_gather)}


def run(format: str | None, path: Path, cluster: str | None = None) -> Imported:  # noqa: A002 - the option's name
    """Read the nodes at `path`; `format` is found by looking if it is None. `cluster` names the nodes' cluster."""
    importer = IMPORTERS.get(format or "") or next((each for each in IMPORTERS.values() if each.detect(path)), None)
    if importer is None:
        return Imported((), (), (diagnose("CP120", path=path, formats=", ".join(IMPORTERS)),))
    imported = importer.read(path)
    if cluster is None:
        return imported
    return imported._replace(nodes=tuple(node._replace(cluster=cluster) for node in imported.nodes))
