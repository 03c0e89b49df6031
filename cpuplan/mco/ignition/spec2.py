"""Ignition configs of spec 2.0 to 2.2 as configs of spec 3.0 (ign-converter, v23tov30)."""

from typing import Any

from cpuplan.mco.errors import ConversionError, IgnitionError, Problem
from cpuplan.mco.ignition.decode import decode
from cpuplan.mco.ignition.paths import clean
from cpuplan.mco.ignition.schema import FIRST, Config
from cpuplan.mco.ignition.schema2 import CONFIG_2

_CORE = "core"
#: Fields whose empty value spec 2 does not tell from an absent one.
_NOT_POINTERS = ("compression", "contents", "hard", "label", "guid", "typeGuid", "wipeTable")


def translate(raw: Any) -> Config:
    """The config as one of spec 3.0, with what may repeat in spec 2 united.

    IgnitionError for a config that is not valid, ConversionError for one that spec 3 cannot
    express.
    """
    given = decode(raw, FIRST, CONFIG_2)
    storage, passwd = given.get("storage", {}), given.get("passwd", {})
    if given.get("networkd", {}).get("units"):
        raise _inexpressible("networkd", "units of networkd")
    if any(entry.get("name") != "root" for entry in _list(storage, "filesystems")):
        raise _inexpressible("filesystems", "not the root filesystem")
    translated = {
        "ignition": _ignition(given.get("ignition", {})),
        "passwd": {
            "groups": [_group(entry) for entry in _list(passwd, "groups")],
            "users": _users(_list(passwd, "users")),
        },
        "storage": {
            "directories": [_node(entry) for entry in _list(storage, "directories")],
            "files": _files(_list(storage, "files")),
            "links": [_set_only(_node(entry)) for entry in _list(storage, "links")],
            "disks": [_disk(entry) for entry in _list(storage, "disks")],
            "raid": _list(storage, "raid"),
        },
        "systemd": {"units": _units(_list(given.get("systemd", {}), "units"))},
    }
    return decode(translated, FIRST)


def _list(section: Config, name: str) -> list[Config]:
    return section.get(name) or []


def _set_only(entry: Config) -> Config:
    """Without the fields that spec 2 does not tell from absent ones."""
    return {key: value for key, value in entry.items() if value or key not in _NOT_POINTERS}


def _refused(name: str, cause: str) -> IgnitionError:
    return IgnitionError("config is not valid", (Problem((name,), cause),))


def _inexpressible(name: str, cause: str) -> ConversionError:
    return ConversionError("config cannot be converted", (Problem((name,), cause),))


def _ignition(section: Config) -> Config:
    config = section.get("config", {})
    merged = {"merge": _list(config, "append"), "replace": config.get("replace")}
    return {**section, "config": merged, "version": "3.0.0"}


def _files(entries: list[Config]) -> list[Config]:
    """The last of a path counts, and the order turns round."""
    last: dict[str, Config] = {}
    for entry in reversed(entries):
        last.setdefault(entry.get("path", ""), entry)
    return [_file(entry) for entry in last.values()]


def _file(entry: Config) -> Config:
    """Files of spec 2 overwrite by default, those that append do not."""
    is_appending = bool(entry.get("append"))
    if is_appending and entry.get("overwrite"):
        raise _refused("overwrite", "a file that appends does not overwrite")
    contents = {"source": "", **_set_only(entry.get("contents", {}))}
    return {
        **_node(entry),
        "overwrite": not is_appending and entry.get("overwrite") is not False,
        "append": [contents] if is_appending else [],
        "contents": {} if is_appending else contents,
    }


def _node(entry: Config) -> Config:
    path = entry.get("path", "")
    if not entry.get("filesystem"):
        raise _refused("filesystem", "a filesystem is required")
    if not path.startswith("/"):
        raise _refused("path", "the path is not absolute")
    if entry["filesystem"] != "root":
        raise _inexpressible("filesystem", "not the root filesystem")
    return {**entry, "path": clean(path)}


def _disk(entry: Config) -> Config:
    partitions = _list(entry, "partitions")
    if any(part.get("size") or part.get("start") for part in partitions):
        raise _inexpressible("partitions", "sizes in sectors")
    return {**_set_only(entry), "partitions": [_set_only(part) for part in partitions]}


def _units(entries: list[Config]) -> list[Config]:
    """The last of a name counts; drop-ins of the others are added where theirs have other names."""
    units: dict[str, Config] = {}
    for entry in reversed(entries):
        unit = units.setdefault(entry.get("name", ""), {**entry, "dropins": []})
        names = {drop_in.get("name") for drop_in in unit["dropins"]}
        for drop_in in _list(entry, "dropins"):
            if drop_in.get("name") not in names:
                unit["dropins"].append(_set_only(drop_in))
    return [_unit(unit) for unit in units.values()]


def _unit(entry: Config) -> Config:
    unit = _set_only(entry)
    if not unit.get("mask"):
        unit.pop("mask", None)
    if unit.get("enable") and "enabled" not in unit:
        unit["enabled"] = True
    return unit


def _group(entry: Config) -> Config:
    return {key: value for key, value in entry.items() if value or key in ("gid", "name")}


def _users(entries: list[Config]) -> list[Config]:
    """Keys of all entries are united in the last; only `core` is taken."""
    if not entries:
        return []
    keys: dict[str, None] = {}
    for entry in reversed(entries):
        if entry.get("name") != _CORE:
            raise _inexpressible("passwd", "a user other than core")
        keys.update(dict.fromkeys(entry.get("sshAuthorizedKeys") or ()))
    last = {**entries[-1], "sshAuthorizedKeys": list(keys)}
    kept = ("name", "passwordHash", "uid")
    return [{key: value for key, value in last.items() if value or key in kept}]
