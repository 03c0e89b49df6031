"""An OpenShift must-gather: snapshots of nodes, and the Node objects of its cluster."""

from pathlib import Path

from cpuplan.importers.base import Format, Imported
from cpuplan.importers.must_gather.images import images


def _has_image(folder: Path) -> bool:
    return any(images(folder))


def _read(path: Path) -> Imported:
    from cpuplan.importers.must_gather import reader

    return reader.read(path)


FORMAT = Format(
    name="must-gather",
    summary="of OpenShift, with node snapshots",
    is_folder=_has_image,
    read=_read,
)
