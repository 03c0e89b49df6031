"""What is recorded about an output folder: in its manifests, and in this machine's note."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from cpuplan.diagnostics import CpuplanError, diagnose
from cpuplan.fleet.before import CLASSES, MANIFEST, MANIFESTS, is_manifest
from cpuplan.write.manifest import (
    OLD,
    OLD_MANIFEST,
    WRITTEN,
    Manifest,
    divide,
    parents,
    parse_manifest,
    parse_old_manifest,
    parse_written,
)
from cpuplan.write.tree import FILE, FOLDER, Entry, look, read


class Known(NamedTuple):
    """What is recorded about an output folder."""

    owned: frozenset[str]  # paths of cpuplan's files
    written: dict[str, str]  # SHA-256 by path of what this machine wrote
    manifests: dict[str, Manifest]  # by path; those that are there

    def lists(self, manifest: str) -> frozenset[str] | None:
        """What a manifest lists; None where it is missing, or needs another text anyway."""
        known = self.manifests.get(manifest)
        return known.paths if known and known.is_current else None

    @property
    def is_current(self) -> bool:
        """Whether each manifest lists what it should, and none needs another text."""
        wanted = divide(self.owned)
        return self.manifests.keys() == wanted.keys() and all(
            self.lists(path) == listed for path, listed in wanted.items()
        )


def known_of(out: Path, before: Mapping[str, Entry]) -> Known:
    """What is recorded about `out`, in which `before` was found. Raises CP604 and CP139."""
    written = parse_written(read(out / WRITTEN)) if is_file(before, WRITTEN) else {}
    manifests = {path: _read_manifest(out, path) for path in before if is_manifest(path)}
    if not manifests and is_file(before, OLD_MANIFEST):
        old = parse_old_manifest(read(out / OLD_MANIFEST))
        return Known(frozenset(old), {**old, **written}, {})
    if not manifests:
        return Known(frozenset(), written, {})
    owned = {path for manifest in manifests.values() for path in manifest.paths}
    brought = {path for path in OLD if is_file(before, path)}
    classes = {path for path in before if path.startswith(f"{CLASSES}/") and is_file(before, path)}
    return Known(frozenset(owned | brought | classes), written, manifests)


def is_file(before: Mapping[str, Entry], path: str) -> bool:
    """Whether a file was found at a path, and no link or folder."""
    return path in before and before[path].kind == FILE


def _read_manifest(out: Path, path: str) -> Manifest:
    """A manifest that is there. Raises CpuplanError (CP604, CP139)."""
    entry = look(out / path)
    shown = f"{out}/{path}"
    if entry and entry.kind != FILE:
        raise CpuplanError([diagnose("CP604", path=shown, problem=f"it is {entry.kind}")])
    text = read(out / path)
    if not text:
        raise CpuplanError([diagnose("CP604", path=shown, problem="it is empty")])
    return parse_manifest(text, shown)


def check_manifests(out: Path) -> None:
    """Raise CP604 for a manifest with which `out` can be compared with nothing."""
    paths = [MANIFEST] if look(out / MANIFEST) else []
    folder = look(out / MANIFESTS)
    if folder and folder.kind == FOLDER:
        paths += sorted(f"{MANIFESTS}/{name}" for name in os.listdir(out / MANIFESTS))
    for path in filter(is_manifest, paths):
        _read_manifest(out, path)


def foreign_in(before: Mapping[str, Entry], known: Known) -> frozenset[str]:
    """The paths that cpuplan did not make.

    A folder belongs to cpuplan, and is deleted when empty, if an owned file is or was below it.
    """
    folders = parents({*known.owned, *known.manifests, MANIFEST})
    files = {*known.owned, *known.manifests, WRITTEN}
    return frozenset(
        path
        for path, entry in before.items()
        if path not in (folders if entry.kind == FOLDER else files)
    )
