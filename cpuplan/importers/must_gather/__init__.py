"""An OpenShift must-gather: snapshots of nodes, and the Node objects of its cluster."""

import os
from collections.abc import Iterator
from pathlib import Path

from cpuplan.importers.base import Format, Imported
from cpuplan.language.read.files import InputFiles, object_files

#: What the node tuning operator collects of a node.
SNAPSHOT = "sysinfo.tgz"
NODES = "cluster-scoped-resources/core/nodes"
PROFILES = "cluster-scoped-resources/performance.openshift.io/performanceprofiles"
#: A must-gather has these folders at its top or one or two below; looking for them must not take
#: long in a home folder.
_MAX_DEPTH = 5
_MAX_FOLDERS = 2000
#: Folders of a must-gather that hold most of its files and no node's.
_LOGS = frozenset(
    {"namespaces", "cluster-scoped-resources", "host_service_logs", "audit_logs", "static-pods"}
)


def images(path: Path) -> Iterator[Path]:
    """The folders below `path` that are images, in the order of their paths."""
    folders = []
    for visited, (folder, names, _) in enumerate(os.walk(path)):
        here = Path(folder)
        if _is_image(here, names):
            folders.append(here)
            names.clear()
        if visited > _MAX_FOLDERS or len(here.relative_to(path).parts) >= _MAX_DEPTH:
            names.clear()
        names[:] = sorted(name for name in names if name not in _LOGS and not name.startswith("."))
    yield from sorted(folders)


def _is_image(folder: Path, names: list[str]) -> bool:
    return ("nodes" in names and _has_node(folder / "nodes")) or os.path.isdir(folder / NODES)


def _has_node(folder: Path) -> bool:
    if folder.is_symlink():
        return False
    try:
        return any(os.path.isfile(node / SNAPSHOT) for node in folder.iterdir())
    except OSError:
        return False


def snapshot_path(name: str) -> str:
    """Where an image has the snapshot of a node."""
    return f"nodes/{name}/{SNAPSHOT}"


def profile_files(path: Path) -> InputFiles | None:
    """The PerformanceProfiles of a must-gather; None for a path that is none."""
    folders = [image / PROFILES for image in images(path)] if path.is_dir() else []
    if not any(folders):
        return None
    listed = [object_files(folder) for folder in folders if folder.is_dir()]
    problems = [problem for known in listed for problem in known.diagnostics]
    return InputFiles([file for known in listed for file in known.files], problems)


def _has_image(folder: Path) -> bool:
    return any(images(folder))


def _read(path: Path) -> Imported:
    from cpuplan.importers.must_gather import contents

    return contents.read(path)


FORMAT = Format(
    name="must-gather",
    summary="of OpenShift, with node snapshots",
    is_folder=_has_image,
    read=_read,
)
