"""The files of containerd's configuration: which are read, and in which order.

From containerd/containerd: services/server/config (1.6, 1.7) and cmd/containerd/server/config (2.0
on).

Upstream: containerd/containerd cmd/containerd/server/config/config.go internal/cri/config/config.go
  @ db8809540e1a7a9da5d518876894933ff55692ab
"""

from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from cpuplan.base import foreign
from cpuplan.facts.platforms import Version
from cpuplan.upstream.containerd.cri_config import (
    CRI,
    MIGRATES_EACH_FILE,
    OLD_CRI,
    V2,
    Table,
    full_name,
    highest,
    of_table,
    wrong_types,
)

#: Lists to which imported files add; all other lists are replaced.
APPENDED = ("disabled_plugins", "required_plugins", "imports")
#: Maps whose entries an imported file replaces whole.
_REPLACED = ("stream_processors", "proxy_plugins", "timeouts")


def migrated(tables: Table, release: Version, merged: Table) -> Table:
    """One file as it is merged: before 2.0 as it is, since 2.3 in the newest version.

    What 2.3 migrates includes the CRI table of version 2 in a file of version 3.
    """
    version = tables.get("version", 0)
    if release < V2:
        return dict(tables)
    target = int(merged["version"])
    own = _with_full_names(tables) if version < 2 else dict(tables)
    if release >= MIGRATES_EACH_FILE and version < target:
        own = _divided(own)
    if version < 2 or release >= MIGRATES_EACH_FILE:
        own["version"] = max(version, target)
    return own


def _with_full_names(tables: Table) -> Table:
    """Plugins of a file of version 1 (or of none) by their full names."""
    named = {full_name(name): table for name, table in tables.get("plugins", {}).items()}
    full: Table = {**tables, "plugins": named}
    for key in ("disabled_plugins", "required_plugins"):
        full[key] = [full_name(str(name)) for name in tables.get(key, ())]
    return full


def _divided(tables: Table) -> Table:
    """The runtime's part of the CRI table of version 2; what the new table has wins."""
    plugins = dict(tables.get("plugins", {}))
    old = plugins.get(OLD_CRI)
    if isinstance(old, dict):
        new = of_table(plugins, CRI)
        inner = {**of_table(old, "containerd"), **of_table(new, "containerd")}
        plugins[CRI] = {**old, **new, **({"containerd": inner} if inner else {})}
    return {**tables, "plugins": plugins}


def merge(merged: Table, own: Table, release: Version) -> None:
    """Merges a file over the ones before it.

    Empty values (0, false, "") outside of plugins' tables never win. Before 2.0 the table of a
    plugin replaces the earlier one whole; since then tables are merged key by key.
    """
    for key, value in own.items():
        if key in APPENDED:
            known = merged.setdefault(key, [])
            known += [item for item in value if release < V2 or item not in known]
        elif key == "plugins" and release >= V2:
            _deep(merged.setdefault(key, {}), value)
        elif key == "plugins" or key in _REPLACED:
            merged.setdefault(key, {}).update(value)
        elif isinstance(value, dict):
            _deep(merged.setdefault(key, {}), _without_empty(value))
        elif value:
            merged[key] = value


def _deep(into: Table, own: Table) -> None:
    for key, value in own.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            _deep(into[key], value)
        else:
            into[key] = _copy(value)


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    return value


def _without_empty(table: Table) -> Table:
    return {key: value for key, value in table.items() if value}


def effective(merged: Table, release: Version) -> Table:
    """What plugins are given: by the names of the release, from the tables of older versions."""
    version = int(merged.get("version", 1))
    if release < V2:
        if version > 1:
            return merged
        # Of version 1, only tables by short names are looked at.
        by_short_name = {
            name: table for name, table in merged.get("plugins", {}).items() if "." not in name
        }
        return _with_full_names({**merged, "plugins": by_short_name})
    return _divided(merged) if version < 3 else merged


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
    paths = [""]
    for part in parts:
        if not any(sign in part for sign in "*?["):
            paths = [f"{folder}/{part}" for folder in paths]
            continue
        pattern = part.replace("[^", "[!")
        paths = [
            f"{folder}/{name}"
            for folder in paths
            for name in sorted(names(folder or "/"))
            if fnmatchcase(name, pattern)
        ]
    return paths


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
