"""The fields of an Ignition config, spec 3.0 to 3.5, and how lists of them merge.

What an older spec lacks is dropped from a config of that spec, as Ignition's parsers do.

Upstream: openshift/machine-config-operator
  vendor/github.com/coreos/ignition/v2/config/v3_5/types/schema.go
  vendor/github.com/coreos/ignition/v2/config/v3_5/types/path.go
  vendor/github.com/coreos/ignition/v2/config/v3_5/config.go
  @ 7ff337a4ffac8e7562692181178ede61e4b2eec5
"""

import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from cpuplan.upstream.mco.common import IgnitionError, Problem

Config: TypeAlias = dict[str, Any]
Version: TypeAlias = tuple[int, int]

FIRST: Version = (3, 0)


@dataclass(frozen=True)
class Scalar:
    """A value; a `plain` one is never absent, its zero value is "" or 0.

    `hides_zero`: the zero value is not written.
    """

    type: type
    plain: bool = False
    hides_zero: bool = False


@dataclass(frozen=True)
class Many:
    """A list: items with the same key merge, unless it is `joined`, then all are kept.

    Lists of one struct with the same `namespace` share their keys.
    """

    item: "Struct | Scalar"
    joined: bool = False
    namespace: str = ""


@dataclass(frozen=True)
class Field:
    """A field since a spec; before `plain_before` it is a string that is never absent."""

    kind: "Scalar | Many | Struct"
    since: Version = FIRST
    plain_before: Version = FIRST


@dataclass(frozen=True)
class Struct:
    """A mapping; `key` tells its items in a list apart."""

    name: str
    fields: Mapping[str, Field]
    key: Callable[[Config], str] = str

    @cached_property
    def lists(self) -> Mapping[str, Many]:
        """The lists whose items have keys."""
        kinds = ((name, field.kind) for name, field in self.fields.items())
        return {name: kind for name, kind in kinds if isinstance(kind, Many) and not kind.joined}


def _by(field: str) -> Callable[[Config], str]:
    return lambda item: str(item.get(field) or "")


def _partition_key(item: Config) -> str:
    if item.get("number"):
        return f"number:{item['number']}"
    return f"label:{item['label']}" if "label" in item else ""


_NAME = Field(Scalar(str, plain=True))
_TEXT, _NUMBER, _FLAG = Field(Scalar(str)), Field(Scalar(int)), Field(Scalar(bool))
_TEXTS = Field(Many(Scalar(str)))
_JOINED_TEXTS = Field(Many(Scalar(str), joined=True))

_HEADER = Struct("HTTPHeader", {"name": _NAME, "value": _TEXT}, _by("name"))
_VERIFICATION = Struct("Verification", {"hash": _TEXT})
RESOURCE = Struct(
    "Resource",
    {
        "compression": _TEXT,
        "httpHeaders": Field(Many(_HEADER), since=(3, 1)),
        "source": _TEXT,
        "verification": Field(_VERIFICATION),
    },
    _by("source"),
)
_OWNER = {"id": _NUMBER, "name": _TEXT}
_NODE = {
    "group": Field(Struct("NodeGroup", _OWNER)),
    "overwrite": _FLAG,
    "path": _NAME,
    "user": Field(Struct("NodeUser", _OWNER)),
}
FILE = Struct(
    "File",
    {
        **_NODE,
        "append": Field(Many(RESOURCE, joined=True)),
        "contents": Field(RESOURCE),
        "mode": _NUMBER,
    },
    _by("path"),
)
DIRECTORY = Struct("Directory", {**_NODE, "mode": _NUMBER}, _by("path"))
LINK = Struct(
    "Link",
    {**_NODE, "hard": _FLAG, "target": Field(Scalar(str), plain_before=(3, 3))},
    _by("path"),
)
_PARTITION = Struct(
    "Partition",
    {
        "guid": _TEXT,
        "label": _TEXT,
        "number": Field(Scalar(int, plain=True, hides_zero=True)),
        "resize": Field(Scalar(bool), since=(3, 2)),
        "shouldExist": _FLAG,
        "sizeMiB": _NUMBER,
        "startMiB": _NUMBER,
        "typeGuid": _TEXT,
        "wipePartitionEntry": _FLAG,
    },
    _partition_key,
)
_DISK = Struct(
    "Disk",
    {"device": _NAME, "partitions": Field(Many(_PARTITION)), "wipeTable": _FLAG},
    _by("device"),
)
_FILESYSTEM = Struct(
    "Filesystem",
    {
        "device": _NAME,
        "format": _TEXT,
        "label": _TEXT,
        "mountOptions": Field(Many(Scalar(str), joined=True), since=(3, 1)),
        "options": _JOINED_TEXTS,
        "path": _TEXT,
        "uuid": _TEXT,
        "wipeFilesystem": _FLAG,
    },
    _by("device"),
)
_RAID = Struct(
    "Raid",
    {
        "devices": _TEXTS,
        "level": Field(Scalar(str), plain_before=(3, 3)),
        "name": _NAME,
        "options": _JOINED_TEXTS,
        "spares": _NUMBER,
    },
    _by("name"),
)
_TANG = Struct(
    "Tang",
    {
        "advertisement": Field(Scalar(str), since=(3, 4)),
        "thumbprint": _TEXT,
        "url": Field(Scalar(str, plain=True, hides_zero=True)),
    },
    _by("url"),
)
_CUSTOM = Struct(
    "ClevisCustom",
    {
        "config": Field(Scalar(str), plain_before=(3, 3)),
        "needsNetwork": _FLAG,
        "pin": Field(Scalar(str), plain_before=(3, 3)),
    },
)
_CLEVIS = Struct(
    "Clevis",
    {"custom": Field(_CUSTOM), "tang": Field(Many(_TANG)), "threshold": _NUMBER, "tpm2": _FLAG},
)
_LUKS = Struct(
    "Luks",
    {
        "cex": Field(Struct("Cex", {"enabled": _FLAG}), since=(3, 5)),
        "clevis": Field(_CLEVIS),
        "device": _TEXT,
        "discard": Field(Scalar(bool), since=(3, 4)),
        "keyFile": Field(RESOURCE),
        "label": _TEXT,
        "name": _NAME,
        "openOptions": Field(Many(Scalar(str)), since=(3, 4)),
        "options": _JOINED_TEXTS,
        "uuid": _TEXT,
        "wipeVolume": _FLAG,
    },
    _by("name"),
)
_STORAGE = Struct(
    "Storage",
    {
        "directories": Field(Many(DIRECTORY, namespace="node")),
        "disks": Field(Many(_DISK)),
        "files": Field(Many(FILE, namespace="node")),
        "filesystems": Field(Many(_FILESYSTEM)),
        "links": Field(Many(LINK, namespace="node")),
        "luks": Field(Many(_LUKS), since=(3, 2)),
        "raid": Field(Many(_RAID)),
    },
)
_DROP_IN = Struct("Dropin", {"contents": _TEXT, "name": _NAME}, _by("name"))
_UNIT = Struct(
    "Unit",
    {
        "contents": _TEXT,
        "dropins": Field(Many(_DROP_IN)),
        "enabled": _FLAG,
        "mask": _FLAG,
        "name": _NAME,
    },
    _by("name"),
)
_GROUP = Struct(
    "PasswdGroup",
    {
        "gid": _NUMBER,
        "name": _NAME,
        "passwordHash": _TEXT,
        "shouldExist": Field(Scalar(bool), since=(3, 2)),
        "system": _FLAG,
    },
    _by("name"),
)
_USER = Struct(
    "PasswdUser",
    {
        "gecos": _TEXT,
        "groups": _TEXTS,
        "homeDir": _TEXT,
        "name": _NAME,
        "noCreateHome": _FLAG,
        "noLogInit": _FLAG,
        "noUserGroup": _FLAG,
        "passwordHash": _TEXT,
        "primaryGroup": _TEXT,
        "sshAuthorizedKeys": _TEXTS,
        "shell": _TEXT,
        "shouldExist": Field(Scalar(bool), since=(3, 2)),
        "system": _FLAG,
        "uid": _NUMBER,
    },
    _by("name"),
)
_PROXY = Struct("Proxy", {"httpProxy": _TEXT, "httpsProxy": _TEXT, "noProxy": _TEXTS})
#: In 3.0 only files can be compressed.
_PLAIN_RESOURCE = {**RESOURCE.fields, "compression": Field(Scalar(str), since=(3, 1))}
_REFERENCE = Struct("Resource", _PLAIN_RESOURCE, _by("source"))
_AUTHORITY_SOURCE = Field(Scalar(str), plain_before=(3, 1))
_AUTHORITY = Struct("Resource", {**_PLAIN_RESOURCE, "source": _AUTHORITY_SOURCE}, _by("source"))
_TLS = Struct("TLS", {"certificateAuthorities": Field(Many(_AUTHORITY))})
_IGNITION = Struct(
    "Ignition",
    {
        "config": Field(
            Struct(
                "IgnitionConfig", {"merge": Field(Many(_REFERENCE)), "replace": Field(_REFERENCE)}
            )
        ),
        "proxy": Field(_PROXY, since=(3, 1)),
        "security": Field(Struct("Security", {"tls": Field(_TLS)})),
        "timeouts": Field(
            Struct("Timeouts", {"httpResponseHeaders": _NUMBER, "httpTotal": _NUMBER})
        ),
        "version": _NAME,
    },
)
_ARGUMENTS = Field(Many(Scalar(str), namespace="argument"))
CONFIG = Struct(
    "Config",
    {
        "ignition": Field(_IGNITION),
        "kernelArguments": Field(
            Struct("KernelArguments", {"shouldExist": _ARGUMENTS, "shouldNotExist": _ARGUMENTS}),
            since=(3, 3),
        ),
        "passwd": Field(
            Struct("Passwd", {"groups": Field(Many(_GROUP)), "users": Field(Many(_USER))})
        ),
        "storage": Field(_STORAGE),
        "systemd": Field(Struct("Systemd", {"units": Field(Many(_UNIT))})),
    },
)


def key_of(kind: Struct | Scalar, item: Any) -> str:
    """What tells the items of a list apart."""
    return kind.key(item) if isinstance(kind, Struct) else str(item)


#: Where, below the section, and the rule.
Broken: TypeAlias = tuple[tuple[str | int, ...], str]


def problem_of_path(path: str) -> str | None:
    """Why text is not an absolute path in its shortest form, if it is not."""
    if not path:
        return "a path is required"
    if not path.startswith("/"):
        return "the path is not absolute"
    return None if clean(path) == path else "the path is not in its shortest form"


def clean(path: str) -> str:
    """Go's path.Clean; unlike Python's, two leading slashes are one."""
    shortest = posixpath.normpath(path)
    return "/" + shortest.lstrip("/") if shortest.startswith("/") else shortest


def below(broken: Iterable[Broken], field: str) -> Iterator[Broken]:
    """The same, one level up."""
    for place, cause in broken:
        yield (field, *place), cause


Place = tuple[str | int, ...]


def decode(value: Any, version: Version, struct: Struct = CONFIG) -> Config:
    """The config with the fields of `version` alone; IgnitionError for a value of a wrong type.

    Absent and empty sections are equal, so empty ones are left out.
    """
    return _decode_struct(value, struct, version, ())


def _decode_struct(value: Any, struct: Struct, version: Version, place: Place) -> Config:
    if value is not None and not isinstance(value, Mapping):
        raise _wrong_type(place)
    given = _by_field(value or {}, struct)
    fields: Config = {}
    for name, field in struct.fields.items():
        entry = given.get(name)
        if field.since <= version and (entry is not None or isinstance(field.kind, Scalar)):
            decoded = _decode_field(entry, field, version, (*place, name))
            if decoded is not None and decoded != {}:
                fields[name] = decoded
    return fields


def _by_field(value: Mapping[str, Any], struct: Struct) -> Mapping[str, Any]:
    """The entries of a struct by the names of its fields, which most configs have as they are."""
    if value.keys() <= struct.fields.keys():
        return value
    return {name: get_field(value, name) for name in struct.fields}


def get_field(value: Mapping[str, Any], name: str) -> Any:
    """Go takes keys whatever their case, the exact one first."""
    if name in value:
        return value[name]
    folded = name.casefold()
    return next((value[key] for key in value if str(key).casefold() == folded), None)


def _decode_field(value: Any, field: Field, version: Version, place: Place) -> Any:
    kind = field.kind
    if isinstance(kind, Struct):
        return None if value is None else _decode_struct(value, kind, version, place)
    if isinstance(kind, Many):
        return _list(value, kind, version, place)
    if value is None:
        is_plain = kind.plain or version < field.plain_before
        return kind.type() if is_plain else None
    return _scalar(value, kind, place)


def _list(value: Any, kind: Many, version: Version, place: Place) -> list[Any] | None:
    if value is None:
        return None
    if not isinstance(value, list):
        raise _wrong_type(place)
    item = kind.item
    if isinstance(item, Struct):
        return [
            _decode_struct(entry, item, version, (*place, index))
            for index, entry in enumerate(value)
        ]
    return [_scalar(entry, item, (*place, index)) for index, entry in enumerate(value)]


def _scalar(value: Any, kind: Scalar, place: Place) -> Any:
    if value is None:
        return kind.type()
    is_number = kind.type is int and isinstance(value, bool)  # a bool is an int only to Python
    if is_number or not isinstance(value, kind.type):
        raise _wrong_type(place)
    return value


def _wrong_type(place: Place) -> IgnitionError:
    return IgnitionError("config is not valid", (Problem(place, "wrong type"),))


def encode(config: Config) -> Config:
    """The config as a rendered MachineConfig holds it."""
    return _encode_struct(config, CONFIG)


def _encode_struct(value: Config, struct: Struct) -> Config:
    encoded: Config = {}
    for name, field in struct.fields.items():
        if name in value:
            entry = _encode_field(value[name], field.kind)
            if not _is_left_out(entry, field.kind):
                encoded[name] = entry
    return encoded


def _encode_field(value: Any, kind: Scalar | Many | Struct) -> Any:
    if isinstance(kind, Struct):
        return _encode_struct(value, kind)
    if isinstance(kind, Many) and isinstance(kind.item, Struct):
        return [_encode_struct(item, kind.item) for item in value]
    return value


def _is_left_out(value: Any, kind: Scalar | Many | Struct) -> bool:
    if isinstance(kind, Scalar):
        return kind.hides_zero and not value
    return not value
