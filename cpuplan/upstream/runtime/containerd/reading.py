"""The files of containerd's configuration: which are read, and in which order.

From containerd/containerd: services/server/config (1.6, 1.7) and cmd/containerd/server/config (2.0
on).
"""

from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from cpuplan.base import foreign
from cpuplan.platforms import Version
from cpuplan.upstream.runtime.containerd.merging import APPENDED, effective, merge, migrated
from cpuplan.upstream.runtime.containerd.names import V2, Table, highest
from cpuplan.upstream.runtime.containerd.tables import wrong_types


class RefusedError(Exception):
    """Why containerd does not start; `path` is the file."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(problem)
        self.path = path


class Loaded(NamedTuple):
    """A configuration: the merged tables, and each file that was read, in that order."""

    tables: Table
    files: Mapping[str, Table]


def load(
    main: str,
    release: Version,
    read: Callable[[str], str | None],
    names: Callable[[str], list[str]],
) -> Loaded:
    """Reads `main` and all that it imports, breadth first. RefusedError for what stops containerd.

    `read` gives the text of a file, None if there is none; `names` the names in a folder. A file
    that is named twice is read once.
    """
    merged: Table = {} if release < V2 else {"version": highest(release)}
    files: dict[str, Table] = {}
    pending = [main]
    while pending:
        path = pending.pop(0)
        if path in files:
            continue
        files[path] = _file(path, read(path))
        own = migrated(files[path], release, merged)
        merge(merged, own, release)
        pending += _imports(path, own.get("imports", []), release, names)
    _validate(main, merged, release)
    return Loaded(effective(merged, release), files)


def _file(path: str, text: str | None) -> Table:
    if text is None:
        raise RefusedError(path, "there is no such file")
    try:
        tables = foreign.read_toml(text)
    except (ValueError, RecursionError) as error:
        raise RefusedError(path, str(error)) from error
    for (_, *inner), problem in wrong_types(tables):
        if not inner:
            raise RefusedError(path, problem)
    for key in APPENDED:
        if not all(isinstance(item, str) for item in tables.get(key, ())):
            raise RefusedError(path, f"{key} has something that is not text")
    return tables


def _imports(
    parent: str, patterns: list[Any], release: Version, names: Callable[[str], list[str]]
) -> Iterator[str]:
    """Paths, relative ones below the folder of the file that imports; globs in their order.

    Before 2.0, relative globs are below the working directory, which systemd sets to /.
    """
    for pattern in map(str, patterns):
        folder = "" if "*" in pattern and release < V2 else parent.rpartition("/")[0]
        path = pattern if pattern.startswith("/") else f"{folder}/{pattern}"
        parts = [part for part in path.split("/") if part not in ("", ".")]
        yield from _matches(parts, names) if "*" in path else ["/" + "/".join(parts)]


def _matches(parts: list[str], names: Callable[[str], list[str]]) -> list[str]:
    """The files of a glob; a part without wildcards is taken as it is."""
    found = [""]
    for part in parts:
        if not any(sign in part for sign in "*?["):
            found = [f"{folder}/{part}" for folder in found]
            continue
        pattern = part.replace("[^", "[!")
        found = [
            f"{folder}/{name}"
            for folder in found
            for name in sorted(names(folder or "/"))
            if fnmatchcase(name, pattern)
        ]
    return found


def _validate(main: str, merged: Table, release: Version) -> None:
    """The rules for the merged configuration; an imported file may break them."""
    version, most = int(merged.get("version", 1)), highest(release)
    if release >= V2 and version > most:
        raise RefusedError(
            main, f"version {version} is newer than {most}, the newest that it reads"
        )
    if release < V2 and version < 2:
        return
    names = [*merged.get("disabled_plugins", ()), *merged.get("required_plugins", ())]
    if release < V2:
        names += merged.get("plugins", {})
    for name in map(str, names):
        is_full = name.startswith("io.containerd.") and name.count(".") >= 3
        if not (is_full if release < V2 else "." in name):
            raise RefusedError(main, f"{name} is no full name of a plugin, io.containerd.x.vx.name")
