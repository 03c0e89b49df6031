"""The tables of one file whose keys are known: which keys it passes over, and which it refuses."""

from collections.abc import Iterator
from typing import NamedTuple

from cpuplan.base import foreign
from cpuplan.platforms import Version
from cpuplan.upstream.runtime.containerd import keys
from cpuplan.upstream.runtime.containerd.names import CRI, IMAGES, NRI, OLD_CRI, Table, of_table

_TYPES = {"text": str, "flag": bool, "number": int, "list": list, "table": dict}
#: Shims that take runc's options.
_RUNC = "io.containerd.runc."


class Place(NamedTuple):
    """One table: its path in the file, its content, and the keys that it may have."""

    path: tuple[str, ...]
    table: Table
    keys: keys.Keys


def places(tables: Table) -> Iterator[Place]:
    """The top of a file, and the tables of the CRI and NRI plugins."""
    yield Place((), tables, keys.TOP)
    plugins = of_table(tables, "plugins")
    names = ("cri", OLD_CRI, CRI) if tables.get("version", 1) < 2 else (OLD_CRI, CRI)
    for name in names:
        if isinstance(table := plugins.get(name), dict):
            yield from _cri(("plugins", name), table)
    if isinstance(table := plugins.get(NRI), dict):
        yield Place(("plugins", NRI), table, keys.NRI)
        validator = of_table(table, "default_validator")
        yield Place(("plugins", NRI, "default_validator"), validator, keys.VALIDATOR)


def _cri(path: tuple[str, ...], table: Table) -> Iterator[Place]:
    yield Place(path, table, keys.RUNTIME)
    inner = of_table(table, "containerd")
    yield Place((*path, "containerd"), inner, keys.CONTAINERD)
    runtimes = of_table(inner, "runtimes")
    names = {name.lower(): "table" for name in runtimes}
    yield Place((*path, "containerd", "runtimes"), runtimes, names)
    for name in runtimes:
        handler = of_table(runtimes, name)
        way = (*path, "containerd", "runtimes", name)
        yield Place(way, handler, keys.HANDLER)
        if str(handler.get("runtime_type", _RUNC)).startswith(_RUNC):
            yield Place((*way, "options"), of_table(handler, "options"), keys.OPTIONS)


def unknown(tables: Table, release: Version) -> Iterator[tuple[str, ...]]:
    """Paths of keys that a release passes over, in the tables of its version."""
    for place in places(tables):
        is_old = place.path[1:2] in (("cri",), (OLD_CRI,))
        for key in place.table:
            is_elsewhere = is_old and key.lower() in keys.ELSEWHERE
            if not is_elsewhere and not keys.knows(place.keys, key, release):
                yield (*place.path, key)


def wrong_types(tables: Table) -> Iterator[tuple[tuple[str, ...], str]]:
    """(path, what is wrong with it) of values of another type."""
    plugins = of_table(tables, "plugins")
    for name in (OLD_CRI, CRI, IMAGES, NRI):
        if not isinstance(plugins.get(name, {}), dict):
            yield ("plugins", name), f"plugins.'{name}' is not a table"
    for place in places(tables):
        for key, value in place.table.items():
            wanted = _TYPES.get(place.keys.get(key.lower(), ""))
            if wanted and type(value) is not wanted:
                found, right = foreign.name_in_toml(type(value)), foreign.name_in_toml(wanted)
                yield (*place.path, key), f"{key} is {found}, not {right}"
