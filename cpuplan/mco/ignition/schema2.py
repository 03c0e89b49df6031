"""The fields of an Ignition config, spec 2.2, as far as they are converted."""

from cpuplan.mco.ignition.schema import Field, Many, Scalar, Struct

_TEXT, _NUMBER, _FLAG = Field(Scalar(str)), Field(Scalar(int)), Field(Scalar(bool))
_TEXTS = Field(Many(Scalar(str)))


def _struct(**fields: Field) -> Struct:
    return Struct("", fields)


def _many(**fields: Field) -> Field:
    return Field(Many(_struct(**fields)))


_OWNER = Field(_struct(id=_NUMBER, name=_TEXT))
_VERIFICATION = Field(_struct(hash=_TEXT))
_CONTENTS = Field(_struct(compression=_TEXT, source=_TEXT, verification=_VERIFICATION))
_NODE = {
    "filesystem": _TEXT,
    "path": _TEXT,
    "overwrite": _FLAG,
    "user": _OWNER,
    "group": _OWNER,
}
_REFERENCE = {"source": _TEXT, "verification": _VERIFICATION}

_STORAGE = _struct(
    directories=_many(**_NODE, mode=_NUMBER),
    disks=_many(
        device=_TEXT,
        wipeTable=_FLAG,
        partitions=_many(
            guid=_TEXT, label=_TEXT, number=_NUMBER, size=_NUMBER, start=_NUMBER, typeGuid=_TEXT
        ),
    ),
    files=_many(**_NODE, mode=_NUMBER, append=_FLAG, contents=_CONTENTS),
    filesystems=_many(name=_TEXT, path=_TEXT),
    links=_many(**_NODE, hard=_FLAG, target=_TEXT),
    raid=_many(devices=_TEXTS, level=_TEXT, name=_TEXT, options=_TEXTS, spares=_NUMBER),
)
_PASSWD = _struct(
    groups=_many(gid=_NUMBER, name=_TEXT, passwordHash=_TEXT, system=_FLAG),
    users=_many(
        gecos=_TEXT,
        groups=_TEXTS,
        homeDir=_TEXT,
        name=_TEXT,
        noCreateHome=_FLAG,
        noLogInit=_FLAG,
        noUserGroup=_FLAG,
        passwordHash=_TEXT,
        primaryGroup=_TEXT,
        shell=_TEXT,
        sshAuthorizedKeys=_TEXTS,
        system=_FLAG,
        uid=_NUMBER,
    ),
)
_UNIT = {
    "name": _TEXT,
    "contents": _TEXT,
    "enable": _FLAG,
    "enabled": _FLAG,
    "mask": _FLAG,
    "dropins": _many(name=_TEXT, contents=_TEXT),
}
_IGNITION = _struct(
    config=Field(_struct(append=_many(**_REFERENCE), replace=Field(_struct(**_REFERENCE)))),
    security=Field(_struct(tls=Field(_struct(certificateAuthorities=_many(**_REFERENCE))))),
    timeouts=Field(_struct(httpResponseHeaders=_NUMBER, httpTotal=_NUMBER)),
)
CONFIG_2 = _struct(
    ignition=Field(_IGNITION),
    networkd=Field(_struct(units=_many(name=_TEXT))),
    passwd=Field(_PASSWD),
    storage=Field(_STORAGE),
    systemd=Field(_struct(units=_many(**_UNIT))),
)
