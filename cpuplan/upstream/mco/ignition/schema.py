"""The fields of an Ignition config, spec 3.0 to 3.5, and how lists of them merge.

What an older spec lacks is dropped from a config of that spec, as Ignition's parsers do.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

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
