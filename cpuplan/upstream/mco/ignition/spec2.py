"""Ignition configs of spec 2.0 to 2.2 as configs of spec 3.0 (ign-converter, v23tov30)."""

from typing import Any

from cpuplan.upstream.mco.errors import ConversionError, IgnitionError, Problem
from cpuplan.upstream.mco.ignition.decode import decode
from cpuplan.upstream.mco.ignition.paths import clean
from cpuplan.upstream.mco.ignition.rules2 import RULES_2
from cpuplan.upstream.mco.ignition.schema import FIRST, Config, Version
from cpuplan.upstream.mco.ignition.schema2 import CONFIG_2, FIRST_2
from cpuplan.upstream.mco.ignition.validate import check, check_struct

_CORE = "core"
_NAMED_OWNERS = (2, 1)
#: Fields whose empty value spec 2 does not tell from an absent one.
_NOT_POINTERS = ("compression", "contents", "hard", "name", "spares", "wipeTable")


def translate(raw: Any, version: Version) -> Config:
    """The config as one of spec 3.0, with what may repeat in spec 2 united.

    IgnitionError for a config that is not valid, ConversionError for one that spec 3 cannot
    express: the operator parses first, and converts while it merges.
    """
    given = decode(raw, version, CONFIG_2)
    check_struct(given, version, CONFIG_2, RULES_2)
    _check_convertible(given)
    config = decode(_translated(given, version), FIRST)
    try:
        check(config, FIRST)
    except IgnitionError as error:
        raise ConversionError("config cannot be converted", error.problems) from error
    return config


def _check_convertible(given: Config) -> None:
    """Raises ConversionError for what spec 3 has no place for (v23tov30, Check2_3)."""
    storage = given.get("storage", {})
    if given.get("networkd", {}).get("units"):
        raise _inexpressible("networkd", "units of networkd")
    if any(entry.get("name") != "root" for entry in _list(storage, "filesystems")):
        # Only of these: a file on a filesystem that is not listed comes to the root filesystem.
        raise _inexpressible("filesystems", "not the root filesystem")
    if any(_list(disk, "partitions") for disk in _list(storage, "disks")):
        raise _inexpressible("partitions", "partitions with sizes in sectors")
    _check_links(storage)


def _check_links(storage: Config) -> None:
    """Also /a.conf beside a link /a (bug of the converter)."""
    links = [clean(link["path"]) for link in _list(storage, "links")]
    for kind in ("directories", "files", "links"):
        paths = [clean(entry["path"]) for entry in _list(storage, kind)]
        if any(path != link and path.startswith(link) for path in paths for link in links):
            raise _inexpressible(kind, "the path begins with that of a link")


def _translated(given: Config, version: Version) -> Config:
    storage, passwd = given.get("storage", {}), given.get("passwd", {})
    return {
        "ignition": _ignition(given.get("ignition", {})),
        "passwd": {
            "groups": [_group(entry) for entry in _list(passwd, "groups")],
            "users": _users(_list(passwd, "users"), version),
        },
        "storage": {
            "directories": [_node(entry, version) for entry in _list(storage, "directories")],
            "files": _files(_list(storage, "files"), version),
            "links": [_set_only(_node(entry, version)) for entry in _list(storage, "links")],
            "disks": [_set_only(entry) for entry in _list(storage, "disks")],
            "raid": [_set_only(entry) for entry in _list(storage, "raid")],
        },
        "systemd": {"units": _units(_list(given.get("systemd", {}), "units"))},
    }


def _list(section: Config, name: str) -> list[Config]:
    return section.get(name) or []


def _set_only(entry: Config) -> Config:
    """Without the fields that spec 2 does not tell from absent ones."""
    return {key: value for key, value in entry.items() if value or key not in _NOT_POINTERS}


def _inexpressible(name: str, cause: str) -> ConversionError:
    return ConversionError("config cannot be converted", (Problem((name,), cause),))


def _ignition(section: Config) -> Config:
    config = section.get("config", {})
    merged = {"merge": _list(config, "append"), "replace": config.get("replace")}
    return {**section, "config": merged, "version": "3.0.0"}


def _files(entries: list[Config], version: Version) -> list[Config]:
    """The last of a path counts, and the order turns round."""
    last: dict[str, Config] = {}
    for entry in reversed(entries):
        last.setdefault(entry["path"], entry)
    return [_file(entry, version) for entry in last.values()]


def _file(entry: Config, version: Version) -> Config:
    """Files of spec 2 overwrite by default, those that append do not."""
    is_appending = bool(entry.get("append"))
    contents = {"source": "", **_set_only(entry.get("contents", {}))}
    return {
        **_node(entry, version),
        "overwrite": not is_appending and entry.get("overwrite") is not False,
        "append": [contents] if is_appending else [],
        "contents": {} if is_appending else contents,
    }


def _node(entry: Config, version: Version) -> Config:
    node = {**entry, "path": clean(entry["path"])}
    for field in ("user", "group"):
        owner = entry.get(field, {} if version >= _NAMED_OWNERS else {"id": 0})
        node[field] = _set_only(owner)
    return node


def _units(entries: list[Config]) -> list[Config]:
    """The last of a name counts; drop-ins of the others are added where theirs have other names."""
    units: dict[str, Config] = {}
    for entry in reversed(entries):
        drop_ins = [_set_only(drop_in) for drop_in in _list(entry, "dropins")]
        if entry["name"] not in units:
            units[entry["name"]] = {**entry, "dropins": drop_ins}
            continue
        added = units[entry["name"]]["dropins"]
        for drop_in in drop_ins:
            if drop_in.get("name") not in {each.get("name") for each in added}:
                added.append(drop_in)
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


def _users(entries: list[Config], version: Version) -> list[Config]:
    """Keys of all entries are united in the last; only `core` is taken."""
    if not entries:
        return []
    keys: dict[str, None] = {}
    for entry in reversed(entries):
        if entry.get("name") != _CORE:
            raise _inexpressible("passwd", "a user other than core")
        keys.update(dict.fromkeys(entry.get("sshAuthorizedKeys") or ()))
    last = {**entries[-1], "sshAuthorizedKeys": list(keys)}
    # Spec 2.0 does not tell an empty password from none.
    kept = ("name", "uid") if version == FIRST_2 else ("name", "passwordHash", "uid")
    return [{key: value for key, value in last.items() if value or key in kept}]
