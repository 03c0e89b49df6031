"""The fields of an Ignition config, spec 2.0 to 2.2, as far as they are converted or checked."""

from cpuplan.upstream.mco.ignition.schema import Field, Many, Scalar, Struct, Version

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
