"""A system root: /sys and /proc of a live host, a copy of them, or a tar archive of a copy."""

from pathlib import Path

from cpuplan.importers.base import Format, Imported
from cpuplan.importers.trees import system_root


def _is_root(folder: Path) -> bool:
    return system_root(folder) is not None


def _read(path: Path) -> Imported:
    from cpuplan.importers.sysroot import reader

    return reader.read(path)


FORMAT = Format(
    name="sysroot",
    summary="the root of a live host, a copy of its /sys and /proc, or a tar archive of them",
    is_folder=_is_root,
    packs_files=True,
    read=_read,
)
