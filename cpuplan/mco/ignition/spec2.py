"""Ignition configs of spec 2.0 to 2.2 as configs of spec 3.0 (ign-converter, v23tov30)."""

from collections.abc import Callable, Mapping
from typing import Any

from cpuplan.mco.errors import ConversionError, IgnitionError, Problem
from cpuplan.mco.ignition.decode import decode
from cpuplan.mco.ignition.paths import clean
from cpuplan.mco.ignition.schema import Config

_CORE = "core"


def translate(raw: Mapping[str, Any]) -> Config:
    """The config as one of spec 3.0, with what may repeat in spec 2 united.

    IgnitionError for a config that is not valid, ConversionError for one that spec 3 cannot
    express.
    """
    storage, passwd = _get(raw, "storage"), _get(raw, "passwd")
    if _list(_get(raw, "networkd"), "units"):
        raise _inexpressible("networkd", "units of networkd")
    translated = {
        "ignition": {**_get(raw, "ignition"), "version": "3.0.0"},
        "passwd": {
            "groups": _each(passwd, "groups", _group),
            "users": _users(_list(passwd, "users")),
        },
        "storage": {
            "directories": _each(storage, "directories", _node),
            "files": _files(_list(storage, "files")),
            "filesystems": _filesystems(_list(storage, "filesystems")),
            "links": _each(storage, "links", _link),
            "disks": _each(storage, "disks", _disk),
            "raid": _each(storage, "raid", dict),
        },
        "systemd": {"units": _units(_list(_get(raw, "systemd"), "units"))},
    }
    return decode(translated, (3, 0))


def _get(raw: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = raw.get(name)
    if section is None:
        return {}
    if not isinstance(section, Mapping):
        raise _refused(name, "wrong type")
    return section


def _list(section: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    entries = section.get(name)
    if entries is None:
        return []
    if not isinstance(entries, list) or not all(isinstance(item, Mapping) for item in entries):
        raise _refused(name, "wrong type")
    return entries


def _refused(name: str, cause: str) -> IgnitionError:
    return IgnitionError("config is not valid", (Problem((name,), cause),))


def _inexpressible(name: str, cause: str) -> ConversionError:
    return ConversionError("config cannot be converted", (Problem((name,), cause),))


def _each(
    section: Mapping[str, Any], name: str, translate_item: Callable[[Mapping[str, Any]], Config]
) -> list[Config]:
    return [translate_item(entry) for entry in _list(section, name)]


def _files(entries: list[Mapping[str, Any]]) -> list[Config]:
    """The last of a path counts, and the order turns round."""
    last: dict[Any, Mapping[str, Any]] = {}
    for entry in reversed(entries):
        last.setdefault(entry.get("path"), entry)
    return [_file(entry) for entry in last.values()]


def _node(entry: Mapping[str, Any]) -> Config:
    if not entry.get("filesystem"):
        raise _refused("filesystem", "a filesystem is required")
    path = entry.get("path") or ""
    if not isinstance(path, str) or not path.startswith("/"):
        raise _refused("path", "the path is not absolute")
    if entry["filesystem"] != "root":
        raise _inexpressible("filesystem", "not the root filesystem")
    translated = {key: value for key, value in entry.items() if key != "filesystem"}
    return translated | {"path": clean(path)}


def _file(entry: Mapping[str, Any]) -> Config:
    """Files of spec 2 overwrite by default, those that append do not."""
    is_appending = bool(entry.get("append"))
    if is_appending and entry.get("overwrite"):
        raise _refused("overwrite", "a file that appends does not overwrite")
    contents = {"source": "", **_set_only({**_get(entry, "contents")}, ("compression",))}
    return {
        **_node(entry),
        "overwrite": not is_appending and entry.get("overwrite") is not False,
        "append": [contents] if is_appending else [],
        "contents": {} if is_appending else contents,
    }


def _link(entry: Mapping[str, Any]) -> Config:
    return _set_only({**_node(entry)}, ("hard",))


def _set_only(entry: Config, fields: tuple[str, ...]) -> Config:
    """Without the fields that are false or empty, which spec 2 does not tell from absent ones."""
    return {key: value for key, value in entry.items() if value or key not in fields}


def _disk(entry: Mapping[str, Any]) -> Config:
    partitions = []
    for part in _list(entry, "partitions"):
        if part.get("size") or part.get("start"):
            raise _inexpressible("partitions", "sizes in sectors")
        partitions.append(_set_only({**part}, ("label", "guid", "typeGuid", "size", "start")))
    return {**_set_only({**entry}, ("wipeTable",)), "partitions": partitions}


def _filesystems(entries: list[Mapping[str, Any]]) -> list[Config]:
    """The root is implied; others have no path in spec 3."""
    if any(entry.get("name") != "root" for entry in entries):
        raise _inexpressible("filesystems", "not the root filesystem")
    return []


def _units(entries: list[Mapping[str, Any]]) -> list[Config]:
    """The last of a name counts; drop-ins of the others are added where theirs have other names."""
    units: dict[Any, Config] = {}
    for entry in reversed(entries):
        unit = units.setdefault(entry.get("name"), {**entry, "dropins": []})
        names = {drop_in.get("name") for drop_in in unit["dropins"]}
        for drop_in in _list(entry, "dropins"):
            if drop_in.get("name") not in names:
                unit["dropins"].append(_set_only({**drop_in}, ("contents",)))
    return [_unit(unit) for unit in units.values()]


def _unit(entry: Config) -> Config:
    unit = _set_only(entry, ("mask", "contents"))
    enabled, enable = unit.get("enabled"), unit.pop("enable", False)
    if enabled is None and enable:
        unit["enabled"] = True
    return unit


def _group(entry: Mapping[str, Any]) -> Config:
    return _set_only({**entry}, ("passwordHash", "system"))


def _users(entries: list[Mapping[str, Any]]) -> list[Config]:
    """Keys of all entries are united in the last; only `core` is taken."""
    if not entries:
        return []
    keys: dict[str, None] = {}
    for entry in reversed(entries):
        if entry.get("name") != _CORE:
            raise _inexpressible("passwd", "a user other than core")
        keys.update(dict.fromkeys(entry.get("sshAuthorizedKeys") or ()))
    optional = tuple(key for key in entries[-1] if key not in ("name", "passwordHash", "uid"))
    return [_set_only({**entries[-1], "sshAuthorizedKeys": list(keys)}, optional)]
