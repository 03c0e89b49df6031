"""What was compiled before: the classes of `out/`, with their nodes, pools and settings."""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from cpuplan.base.files import Unreadable, list_files, read_regular, text_of
from cpuplan.base.foreign import ForeignError, read_json
from cpuplan.base.patterns import expression
from cpuplan.diagnostics import CpuplanError, diagnose
from cpuplan.diagnostics.source import Position
from cpuplan.language.read.files import refusal

#: Below `out/`: a file for each class, `<cluster>/<class>.json`, so that merges of different
#: classes change different files.
CLASSES = ".cpuplan/classes"
#: The files of `out/` that cpuplan owns, a path a line: those of no cluster. Up to form 2, all.
MANIFEST = ".cpuplan/manifest"
#: A manifest for each cluster, so that a change of one touches no file of another.
MANIFESTS = ".cpuplan/manifests"

#: The form of the manifests, and their first line.
FORM = 4
HEAD = f"# cpuplan manifest {FORM}: files of this folder that cpuplan owns, and their classes"
#: Between a path and the name of a class in a line of a manifest; no path has one.
_OF_CLASS = "\t"

#: Of the files of classes.
VERSION = 2

#: All classes in one file, in the old form.
OLD_PLAN = ".cpuplan/plan.json"
#: How `out/.gitattributes` begins.
OURS = "# Written by cpuplan."
_OF_CLUSTER = expression(
    rf"(?:clusters|nodes|ansible(?!/roles/)|{re.escape(CLASSES)})/([^/]+)/|flux/([^/]+)\.yaml\Z"
)
_LISTED = expression(rf"^{re.escape(CLASSES)}/([^/\n]+)/([^/\n]+)\.json\Z")

#: Cluster and class.
Key = tuple[str, str]
#: The classes, each as `backends.planfile` wrote it.
Before = dict[Key, dict[str, Any]]


def read(out: Path) -> Before:
    """The classes of the plan in `out`; empty for a damaged file, which is written again.

    Raises CpuplanError for a class that a later cpuplan wrote (CP139), and for an unreadable file,
    which may be a class that would be removed.
    """
    classes: Before = {}
    listed = list_files(out / CLASSES, within=out, suffixes=(".json",))
    if listed.problems:
        raise CpuplanError(refusal(str(path), error) for path, error in listed.problems)
    for path in listed.files:
        if path.parents[1] == out / CLASSES:
            classes[path.parent.name, path.stem] = _class(path) or {}
    return classes or _of_old_form(out)


def manifest_of(path: str) -> str:
    """The manifest that lists a file of `out/`: that of its cluster, or of what is of none."""
    match = _OF_CLUSTER.match(path)
    cluster = match and (match[1] or match[2])
    # A hidden name is no cluster's.
    return f"{MANIFESTS}/{cluster}" if cluster and cluster[0] != "." else MANIFEST


def is_manifest(path: str) -> bool:
    """Whether a path below `out/` is that of a manifest."""
    folder, _, name = path.rpartition("/")
    return path == MANIFEST or (folder == MANIFESTS and name[:1] != ".")


def owned(out: Path) -> list[str]:
    """The paths that all manifests of `out` list, and their heads; none of one that is damaged."""
    return [
        path_of(line)
        for manifest in _manifests(out)
        for line in dict.fromkeys(text_of(manifest).splitlines())
    ]


def path_of(line: str) -> str:
    """The path in a line of a manifest."""
    return line.partition(_OF_CLASS)[0]


def lines_of(path: str, classes: Iterable[str]) -> Iterator[str]:
    """The lines of a manifest for a path: one for each class that it is of, or one of no class.

    Each is a line of its own, so that Git unites what two branches do with two classes.
    """
    yield from [f"{path}{_OF_CLASS}{name}" for name in classes] or [path]


def of_class(manifest: str, name: str) -> list[str] | None:
    """The paths that the manifest of a cluster says are of a class, by its text.

    None where it does not say that of all: it is of an older release, or a merge with such a one.
    """
    lines = manifest.splitlines()
    if {line for line in lines if line.startswith("#")} != {HEAD}:
        return None
    pairs = [line.partition(_OF_CLASS) for line in lines]
    return sorted({path for path, _, of_line in pairs if of_line == name})


def files_of_class(out: Path, key: Key) -> list[str] | None:
    """The paths below `out` that the manifest of its cluster says are of a class, or None."""
    return of_class(text_of(out / MANIFESTS / key[0]), key[1])


def _manifests(out: Path) -> list[Path]:
    try:
        names = sorted(os.listdir(out / MANIFESTS))
    except OSError:
        names = []
    paths = [MANIFEST, *(f"{MANIFESTS}/{name}" for name in names)]
    return [out / path for path in paths if is_manifest(path)]


def _of_old_form(out: Path) -> Before:
    """The classes from the one file of the old form; none where it is damaged."""
    try:
        data = read_json(read_regular(out / OLD_PLAN))
        classes = [entry for entry in data["classes"] if isinstance(entry, dict)]
        return {(str(entry["cluster"]), str(entry["class"])): entry for entry in classes}
    except (Unreadable, ForeignError, KeyError, TypeError):
        return {}


def _class(path: Path) -> dict[str, Any] | None:
    try:
        data = read_json(read_regular(path))
    except Unreadable as error:
        raise CpuplanError([refusal(str(path), error)]) from None
    except ForeignError:
        return None
    if not isinstance(data, dict):
        return None
    version = data.get("version")
    if type(version) is int and version > VERSION:
        place, what = Position(str(path), 1, 1), "a class in out/"
        raise CpuplanError([diagnose("CP139", place, what=what, found=version, expected=VERSION)])
    is_named_so = (data.get("cluster"), data.get("class")) == (path.parent.name, path.stem)
    return data if is_named_so else None


def lost(out: Path, compiled: Before) -> frozenset[Key] | None:
    """The classes that were compiled to `out` and are no longer in it; None for all of them."""
    if not compiled and not any(map(os.path.isfile, _manifests(out))):
        is_ours = os.path.lexists(out / ".cpuplan") or text_of(out / ".gitattributes").startswith(
            OURS
        )
        return None if is_ours else frozenset()
    lines = owned(out)
    listed = [(match[1], match[2]) for match in map(_LISTED.match, lines) if match]
    if not listed and not compiled and any(line.startswith("clusters/") for line in lines):
        return None
    return frozenset(key for key in (*listed, *compiled) if not compiled.get(key))


def members(before: Before) -> dict[Key, list[str]]:
    """The nodes of each class."""
    return {key: nodes(compiled) for key, compiled in before.items()}


def nodes(compiled: dict[str, Any]) -> list[str]:
    """The nodes of one class."""
    return list(_texts(compiled.get("nodes")))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, str))
