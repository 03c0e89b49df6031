"""The files of CRI-O's configuration to one: types, unknown keys, and which file wins.

From cri-o/cri-o, pkg/config/config.go (UpdateFromFile, UpdateFromPath), and the TOML library that
it uses: keys of structures without regard to case, unknown ones passed over.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from cpuplan.base import foreign
from cpuplan.platforms import Version
from cpuplan.upstream.kubelet.go.durations import is_duration
from cpuplan.upstream.runtime.configuration.keys import ENTRIES, TABLES, is_new, was_known

Table = dict[str, Any]

#: The main file, and the folder whose files follow it by name.
MAIN, DROP_INS = "crio.conf", "crio.conf.d"
_MAPS = ("runtimes", "workloads")
#: Keys whose values are tables of anything.
_LEAVES = ("default_annotations", "platform_runtime_paths")
_TYPES: Mapping[str, type] = {
    "text": str,
    "flag": bool,
    "number": int,
    "unsigned": int,
    "list": list,
    "map": dict,
}


class RefusedError(ValueError):
    """Why CRI-O does not start; `path` is the file, empty for the merged configuration."""

    def __init__(self, problem: str, path: str = "") -> None:
        super().__init__(problem)
        self.path = path


class NotTomlError(RefusedError):
    """What stops CRI-O before it looks at keys."""


class File(NamedTuple):
    """One file: what it sets, by table below [crio], and the keys that CRI-O passes over."""

    tables: Mapping[str, Table]
    unknown: tuple[str, ...]


def order(paths: Mapping[str, str]) -> list[str]:
    """Paths below the folder of the configuration, in the order in which CRI-O reads them."""
    drop_ins = [path.split("/") for path in paths if path.startswith(f"{DROP_INS}/")]
    first = [MAIN] if MAIN in paths else []
    return [*first, *("/".join(parts) for parts in sorted(drop_ins))]


def decode(path: str, text: str) -> File:
    """One file. RefusedError for what is no TOML, and for a value of another type."""
    try:
        data = foreign.read_toml(text)
    except (ValueError, RecursionError) as error:
        raise NotTomlError(str(error), path) from error
    unknown: list[str] = []
    tables: dict[str, Table] = {}
    try:
        for name, value in data.items():
            if name.lower() == "crio":
                _root(_table(value, name), tables, unknown)
            else:
                unknown += _paths(value, name)
    except TypeError as error:
        raise RefusedError(str(error), path) from error
    return File(tables, tuple(unknown))


def _root(data: Table, tables: dict[str, Table], unknown: list[str]) -> None:
    own: Table = {}
    for name, value in data.items():
        key = name.lower()
        if key in TABLES[""]:
            own[key] = _typed(TABLES[""][key], value, f"crio.{name}")
        elif key and key in TABLES:
            found = _known(_table(value, f"crio.{name}"), key, f"crio.{name}", unknown)
            tables[key] = {**tables.get(key, {}), **found}
        else:
            unknown += _paths(value, f"crio.{name}")
    if own:
        tables[""] = own


def _known(data: Table, table: str, path: str, unknown: list[str]) -> Table:
    """The known keys of one table."""
    keys = TABLES.get(table) or ENTRIES[table]
    found: Table = {}
    for name, value in data.items():
        key, place = name.lower(), f"{path}.{name}"
        if key in keys:
            found[key] = _typed(keys[key], value, place)
        elif table == "runtime" and key in _MAPS:
            found[key] = {
                entry: _known(_table(inner, f"{place}.{entry}"), key, f"{place}.{entry}", unknown)
                for entry, inner in _table(value, place).items()
            }
        elif (table, key) == ("workloads", "resources"):
            found[key] = _known(_table(value, place), key, place, unknown)
        elif (table, key) == ("nri", "default_validator"):
            found[key] = _known(_table(value, place), f"nri.{key}", place, unknown)
        else:
            unknown += _paths(value, place)
    return found


def _table(value: Any, path: str) -> Table:
    if isinstance(value, dict):
        return value
    raise TypeError(f"{path} is {_name(value)}, not a table")


def _typed(kind: str, value: Any, path: str) -> Any:
    """The value of a key; TypeError for one of another type."""
    if kind == "duration":
        if type(value) is int or (isinstance(value, str) and is_duration(value)):
            return value
        raise TypeError(f"{path} is no duration, such as 5s")
    wanted = _TYPES[kind]
    if _name(value) != foreign.name_in_toml(wanted):
        raise TypeError(f"{path} is {_name(value)}, not {foreign.name_in_toml(wanted)}")
    if kind == "unsigned" and value < 0:
        raise TypeError(f"{path} is negative")
    for item in _inner(value):
        if not isinstance(item, str):
            raise TypeError(f"{path} has {_name(item)}, not text")
    return value


def _inner(value: Any) -> list[Any]:
    """The items of a list, and the values of a table."""
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _name(value: Any) -> str:
    return foreign.name_in_toml(type(value))


def _paths(value: Any, path: str) -> Iterator[str]:
    """A key that nothing reads, and all below it."""
    yield path
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _paths(inner, f"{path}.{name}")


def of_release(file: File, release: Version) -> File:
    """What a release makes of a file: it passes over keys that came later."""
    unknown = [path for path in file.unknown if not was_known(path.rpartition(".")[2], release)]
    tables = {
        name: _of_release(table, f"crio.{name}".rstrip("."), release, unknown)
        for name, table in file.tables.items()
    }
    return File(tables, tuple(unknown))


def _of_release(table: Table, path: str, release: Version, unknown: list[str]) -> Table:
    known: Table = {}
    for key, value in table.items():
        place = f"{path}.{key}"
        if isinstance(value, dict) and key not in _LEAVES:
            known[key] = _of_release(value, place, release, unknown)
        elif is_new(key, release):
            unknown.append(place)
        else:
            known[key] = value
    return known


def merge(files: Mapping[str, File]) -> dict[str, Table]:
    """What files give together, in their order.

    A later file wins key by key, but an entry of a map (a handler, a workload) replaces the earlier
    one whole.
    """
    merged: dict[str, Table] = {}
    for file in files.values():
        for name, table in file.tables.items():
            into = merged.setdefault(name, {})
            for key, value in table.items():
                if key in _MAPS or key == "default_validator":
                    into[key] = {**into.get(key, {}), **value}
                else:
                    into[key] = value
    return merged
