"""containerd's configuration as its daemon reads it: imports, their order, and what a later file
does to an earlier one.

From containerd/containerd: services/server/config (1.6, 1.7), cmd/containerd/server/config (2.0 on)
and plugins/cri (what becomes of tables of an older version).
"""

from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from cpuplan import toml
from cpuplan.platforms import Version

Table = dict[str, Any]

#: The tables that matter here, by release: with 2.0, the one of the CRI plugin was divided.
OLD_CRI, CRI = "io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime"
NRI = "io.containerd.nri.v1.nri"
_BY_SHORT_NAME = {"cri": OLD_CRI, "nri": NRI}
#: Lists to which imported files add; all other lists are replaced.
_APPENDED = ("disabled_plugins", "required_plugins", "imports")
#: Maps whose entries an imported file replaces whole.
_REPLACED = ("stream_processors", "proxy_plugins", "timeouts")
_V2, _MIGRATES_EACH_FILE = (2, 0), (2, 3)


class RefusedError(Exception):
    """Why containerd does not start; `path` is the file."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(problem)
        self.path = path


class Loaded(NamedTuple):
    """A configuration: the merged tables, and each file that was read, in that order."""

    tables: Table
    files: Mapping[str, Table]


def highest(release: Version) -> int:
    """The newest version of configuration files that a release reads."""
    if release < _V2:
        return 2
    return 3 if release < _MIGRATES_EACH_FILE else 4


def cri_table(release: Version) -> str:
    """The name of the table with the runtimes of the CRI plugin."""
    return OLD_CRI if release < _V2 else CRI


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
    merged: Table = {} if release < _V2 else {"version": highest(release)}
    files: dict[str, Table] = {}
    pending = [main]
    while pending:
        path = pending.pop(0)
        if path in files:
            continue
        files[path] = _file(path, read(path))
        own = _migrated(files[path], release, merged)
        _merge(merged, own, release)
        pending += _imports(path, own.get("imports", []), names)
    _validate(main, merged, release)
    return Loaded(_effective(merged, release), files)


def _file(path: str, text: str | None) -> Table:
    if text is None:
        raise RefusedError(path, "there is no such file")
    try:
        tables = toml.load(text)
    except (ValueError, RecursionError) as error:
        raise RefusedError(path, str(error)) from error
    types: dict[str, type] = {"version": int, "plugins": dict, **dict.fromkeys(_APPENDED, list)}
    for key, wanted in types.items():
        if key in tables and type(tables[key]) is not wanted:
            raise RefusedError(
                path, f"{key} is {type(tables[key]).__name__}, not {wanted.__name__}"
            )
    return tables


def _imports(parent: str, patterns: list[Any], names: Callable[[str], list[str]]) -> Iterator[str]:
    """Paths, relative ones below the folder of the file that imports; globs in their order."""
    for pattern in map(str, patterns):
        path = pattern if pattern.startswith("/") else f"{parent.rpartition('/')[0]}/{pattern}"
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


def _migrated(tables: Table, release: Version, merged: Table) -> Table:
    """One file as it is merged: before 2.0 as it is, since 2.3 in the newest version."""
    version = tables.get("version", 0)
    if release < _V2:
        return dict(tables)
    target = int(merged["version"])
    own = _with_full_names(tables) if version < 2 else dict(tables)
    if release >= _MIGRATES_EACH_FILE and version < 3:
        own = _divided(own)
    if version < 2 or release >= _MIGRATES_EACH_FILE:
        own["version"] = max(version, target)
    return own


def _with_full_names(tables: Table) -> Table:
    """Plugins of a file of version 1 (or of none) by their full names."""
    plugins = tables.get("plugins", {})
    named = {_BY_SHORT_NAME.get(name, name): table for name, table in plugins.items()}
    disabled = [_BY_SHORT_NAME.get(name, name) for name in tables.get("disabled_plugins", ())]
    return {**tables, "plugins": named, "disabled_plugins": disabled}


def _divided(tables: Table) -> Table:
    """The runtime's part of the CRI table of version 2; what the new table has wins."""
    plugins = dict(tables.get("plugins", {}))
    old = plugins.get(OLD_CRI)
    if isinstance(old, dict):
        new = plugins.get(CRI, {})
        inner = {**_dict(old, "containerd"), **_dict(new, "containerd")}
        plugins[CRI] = {**old, **new, **({"containerd": inner} if inner else {})}
    return {**tables, "plugins": plugins}


def _dict(table: Table, key: str) -> Table:
    value = table.get(key)
    return value if isinstance(value, dict) else {}


def _merge(merged: Table, own: Table, release: Version) -> None:
    """Merges a file over the ones before it.

    Empty values (0, false, "") outside of plugins' tables never win. Before 2.0 the table of a
    plugin replaces the earlier one whole; since then tables are merged key by key.
    """
    for key, value in own.items():
        if key in _APPENDED:
            known = merged.setdefault(key, [])
            known += [item for item in value if release < _V2 or item not in known]
        elif key == "plugins" and release >= _V2:
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


def _validate(main: str, merged: Table, release: Version) -> None:
    """The rules for the merged configuration; an imported file may break them."""
    version, most = int(merged.get("version", 1)), highest(release)
    if version > most:
        raise RefusedError(
            main, f"version {version} is newer than {most}, the newest that it reads"
        )
    if release < _V2 and version < 2:
        return
    names = [*merged.get("disabled_plugins", ()), *merged.get("required_plugins", ())]
    if release < _V2:
        names += merged.get("plugins", {})
    for name in map(str, names):
        is_full = name.startswith("io.containerd.") and name.count(".") >= 3
        if not (is_full if release < _V2 else "." in name):
            raise RefusedError(main, f"{name} is no full name of a plugin, io.containerd.x.vx.name")


def _effective(merged: Table, release: Version) -> Table:
    """What plugins are given: by the names of the release, from the tables of older versions."""
    version = int(merged.get("version", 1))
    if release < _V2:
        if version > 1:
            return merged
        # Of version 1, only tables by short names are looked at.
        by_short_name = {
            name: table for name, table in merged.get("plugins", {}).items() if "." not in name
        }
        return _with_full_names({**merged, "plugins": by_short_name})
    return _divided(merged) if version < 3 else merged
