"""Ignition configs of spec 2.0 to 2.2 as configs of spec 3.0 (ign-converter, v23tov30).

Upstream: openshift/machine-config-operator
  vendor/github.com/coreos/ign-converter/translate/v23tov30/v23tov30.go
  vendor/github.com/coreos/ignition/config/v2_2/types/schema.go
  vendor/github.com/coreos/ignition/config/v2_2/types/file.go
  vendor/github.com/coreos/ignition/config/v2_2/types/filesystem.go
  vendor/github.com/coreos/ignition/config/v2_2/types/node.go
  vendor/github.com/coreos/ignition/config/v2_2/types/path.go
  vendor/github.com/coreos/ignition/config/v2_2/types/raid.go
  vendor/github.com/coreos/ignition/config/v2_2/types/url.go
  @ 7ff337a4ffac8e7562692181178ede61e4b2eec5
"""

from collections.abc import Iterator, Mapping
from typing import Any

from cpuplan.upstream.mco.common import ConversionError, IgnitionError, Problem
from cpuplan.upstream.mco.ignition.types import (
    FIRST,
    Broken,
    Config,
    Field,
    Many,
    Scalar,
    Struct,
    Version,
    clean,
    decode,
)
from cpuplan.upstream.mco.ignition.url import problem_of_url
from cpuplan.upstream.mco.ignition.validate import (
    FORMATS,
    RULES,
    Rule,
    check,
    check_struct,
    problem_of_level,
)

_MOST_MODE = 0o7777
_MOST_MODE_OF_FILES = 0o777  # the operator's own rule (bugzilla 2038240)
#: Fields of a user that exclude `create`; the last may be 0.
_NOT_BESIDE_CREATE = (
    "gecos",
    "groups",
    "homeDir",
    "noCreateHome",
    "noLogInit",
    "noUserGroup",
    "primaryGroup",
    "shell",
    "system",
)


def _path(value: str) -> str | None:
    return None if value.startswith("/") else "the path is not absolute"


def _check_node(entry: Config, _: Version) -> Iterator[Broken]:
    if not entry.get("filesystem"):
        yield ("filesystem",), "a filesystem is required"
    if problem := _path(entry["path"]):
        yield ("path",), problem
    if not 0 <= entry.get("mode", 0) <= _MOST_MODE:
        yield ("mode",), "not a mode"


def _check_file(entry: Config, version: Version) -> Iterator[Broken]:
    """Modes are checked of all files, also those that a later one of the same path replaces."""
    yield from _check_node(entry, version)
    if _MOST_MODE >= entry.get("mode", 0) > _MOST_MODE_OF_FILES:
        yield ("mode",), "the mode has special bits"
    if entry.get("append") and entry.get("overwrite"):
        yield ("overwrite",), "a file that appends does not overwrite"


def _reference(reference: Config, version: Version) -> Iterator[Broken]:
    """An empty source is an empty file."""
    source = reference["source"]
    if source and (problem := problem_of_url(source, version)):
        yield ("source",), problem
    if reference.get("compression", "") not in ("", "gzip"):
        yield ("compression",), "unknown compression"


def _filesystem(entry: Config, _: Version) -> Iterator[Broken]:
    mount = entry.get("mount")
    if (mount is None) == ("path" not in entry):
        yield (), "a filesystem has a path or a mount"
    if problem := _path(entry.get("path", "/")):
        yield ("path",), problem


def _mount(entry: Config, _: Version) -> Iterator[Broken]:
    if entry["format"] not in FORMATS:
        yield ("format",), "unknown format"
    if problem := _path(entry["device"]):
        yield ("device",), problem


def _raid(entry: Config, _: Version) -> Iterator[Broken]:
    if problem := problem_of_level(entry):
        yield ("level",), problem
    for index, device in enumerate(entry.get("devices") or ()):
        if problem := _path(device):
            yield ("devices", index), problem


def _disk(entry: Config, _: Version) -> Iterator[Broken]:
    if problem := _path(entry.get("device", "")):
        yield ("device",), problem


def _user(entry: Config, _: Version) -> Iterator[Broken]:
    if "create" in entry and ("uid" in entry or any(map(entry.get, _NOT_BESIDE_CREATE))):
        yield ("create",), "`create` beside fields that replace it"


#: By the name of the section's type.
RULES_2: Mapping[str, Rule] = {
    **{name: RULES[name] for name in ("Unit", "Dropin", "NodeUser", "Verification")},
    "File": _check_file,
    "Directory": _check_node,
    "Link": _check_node,
    "Contents": _reference,
    "Reference": _reference,
    "Filesystem": _filesystem,
    "Mount": _mount,
    "Raid": _raid,
    "Disk": _disk,
    "PasswdUser": _user,
}


FIRST_2, LAST_2 = (2, 0), (2, 2)


def _field(
    kind: Scalar | Many | Struct, since: Version = FIRST_2, plain_before: Version = FIRST_2
) -> Field:
    return Field(kind, since, plain_before)


def _one(struct: str, **fields: Field) -> Field:
    return _field(Struct(struct, fields))


def _many(struct: str, **fields: Field) -> Field:
    """What stands twice in a list is united later."""
    return _field(Many(Struct(struct, fields), joined=True))


def _later(field: Field, since: Version) -> Field:
    return _field(field.kind, since)


_NAME = _field(Scalar(str, plain=True))
_TEXT, _NUMBER, _FLAG = _field(Scalar(str)), _field(Scalar(int)), _field(Scalar(bool))
_TEXTS = _field(Many(Scalar(str), joined=True))
#: Before 2.2 a file without a mode has mode 0.
_MODE = _field(Scalar(int), plain_before=(2, 2))
#: In 2.0 owners have an id only, 0 without one.
_OWNER = _one("NodeUser", id=_field(Scalar(int), plain_before=(2, 1)), name=_later(_TEXT, (2, 1)))
_VERIFICATION = _one("Verification", hash=_TEXT)
_REFERENCE = {"source": _NAME, "verification": _VERIFICATION}
_NODE = {
    "filesystem": _TEXT,
    "path": _NAME,
    "overwrite": _later(_FLAG, (2, 2)),
    "user": _OWNER,
    "group": _OWNER,
}

_STORAGE = _one(
    "Storage",
    directories=_later(_many("Directory", **_NODE, mode=_MODE), (2, 1)),
    disks=_many(
        "Disk", device=_TEXT, wipeTable=_FLAG, partitions=_many("Partition", number=_NUMBER)
    ),
    files=_many(
        "File",
        **_NODE,
        mode=_MODE,
        append=_later(_FLAG, (2, 2)),
        contents=_one("Contents", compression=_TEXT, **_REFERENCE),
    ),
    filesystems=_many(
        "Filesystem", name=_TEXT, path=_TEXT, mount=_one("Mount", device=_NAME, format=_NAME)
    ),
    links=_later(_many("Link", **_NODE, hard=_FLAG, target=_TEXT), (2, 1)),
    raid=_many(
        "Raid",
        devices=_TEXTS,
        level=_TEXT,
        name=_TEXT,
        options=_later(_TEXTS, (2, 2)),
        spares=_NUMBER,
    ),
)
_USER = {
    "gecos": _TEXT,
    "groups": _TEXTS,
    "homeDir": _TEXT,
    "noCreateHome": _FLAG,
    "noLogInit": _FLAG,
    "noUserGroup": _FLAG,
    "primaryGroup": _TEXT,
    "shell": _TEXT,
    "system": _FLAG,
    "uid": _NUMBER,
}
_PASSWD = _one(
    "Passwd",
    groups=_many("PasswdGroup", gid=_NUMBER, name=_TEXT, passwordHash=_TEXT, system=_FLAG),
    users=_many(
        "PasswdUser",
        name=_TEXT,
        passwordHash=_TEXT,
        sshAuthorizedKeys=_TEXTS,
        create=_one("Usercreate", name=_NAME),  # only whether it is there
        **{name: _later(field, (2, 1)) for name, field in _USER.items()},
    ),
)
_DROP_INS = _many("Dropin", name=_NAME, contents=_TEXT)
_UNITS = _many(
    "Unit",
    name=_NAME,
    contents=_TEXT,
    enable=_FLAG,
    enabled=_later(_FLAG, (2, 1)),
    mask=_FLAG,
    dropins=_DROP_INS,
)
_REFERENCES = _many("Reference", **_REFERENCE)
_IGNITION = _one(
    "Ignition",
    config=_one("IgnitionConfig", append=_REFERENCES, replace=_one("Reference", **_REFERENCE)),
    security=_later(_one("Security", tls=_one("TLS", certificateAuthorities=_REFERENCES)), (2, 2)),
    timeouts=_later(_one("Timeouts", httpResponseHeaders=_NUMBER, httpTotal=_NUMBER), (2, 1)),
)
CONFIG_2 = Struct(
    "Config",
    {
        "ignition": _IGNITION,
        "networkd": _one("Networkd", units=_many("NetworkUnit", name=_TEXT)),
        "passwd": _PASSWD,
        "storage": _STORAGE,
        "systemd": _one("Systemd", units=_UNITS),
    },
)


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
            if drop_in.get("name") not in {known.get("name") for known in added}:
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
