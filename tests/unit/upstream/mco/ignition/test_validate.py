"""What makes an Ignition config invalid."""

from typing import Any

import pytest

from cpuplan.upstream.mco.common import IgnitionError
from cpuplan.upstream.mco.ignition.config import parse
from tests.unit.upstream.mco.objects import Json, file, files, ignition, units

UNIT = {"name": "a.service", "contents": "[Service]\nExecStart=/bin/true\n"}


def storage(**sections: Any) -> Json:
    return ignition("3.5.0", storage=sections)


def source(text: str, version: str = "3.5.0", **fields: Any) -> Json:
    return files({"path": "/a", "contents": {"source": text, **fields}}, version=version)


def disk(*partitions: Json) -> Json:
    return storage(disks=[{"device": "/dev/a", "partitions": list(partitions)}])


def raid(**fields: Any) -> Json:
    return storage(raid=[{"name": "a", "level": "raid1", "devices": ["/dev/a"], **fields}])


def filesystem(**fields: Any) -> Json:
    return storage(filesystems=[{"device": "/dev/a", **fields}])


def luks(**fields: Any) -> Json:
    return storage(luks=[{"name": "a", "device": "/dev/a", **fields}])


TANG = {"url": "https://a.test/", "thumbprint": "t"}
CUSTOM = {"pin": "tpm2", "config": "{}"}

VALID = [
    units(UNIT),
    units({"name": "a.service", "contents": "junk before\n# a comment\n[A]\nb = c \\\n d\n\n"}),
    source("data:,a%20b"),
    source("data:text/plain;charset=utf-8;base64,YQ=="),
    source("data:;base64,YQ=="),
    source("http://a.test/"),
    source("gs://a/b"),
    source("arn:aws:s3:::bucket/object"),
    source("data:,x", verification={"hash": "sha256-" + "a" * 64}),
    storage(links=[{"path": "/a", "target": "/b"}], files=[file("/ab")]),
    disk({"number": 1, "startMiB": 1, "sizeMiB": 2}, {"number": 2, "startMiB": 3, "sizeMiB": 2}),
    disk({"label": "a"}, {"label": "b"}),
    raid(),
    filesystem(format="none"),
    filesystem(format="xfs", label="x" * 12),
    luks(clevis={"tang": [TANG]}),
    luks(clevis={"custom": CUSTOM}),
    files(file(user={"id": 1}, group={"name": "g"})),
]


@pytest.mark.parametrize("config", VALID)
def test_valid(config: Json) -> None:
    parse(config, (5, 1))


INVALID = [
    files(file("")),
    files(file("a")),
    files(file("/a/../b")),
    files(file("//a")),
    files(file(mode=0o10000)),
    files(file(mode=-1)),
    files(file(text=None, overwrite=True)),
    files(file(), file()),
    files(file(user={"id": 1, "name": "u"})),
    units({"name": "a.txt"}),
    units({"name": "a"}),
    units(UNIT, UNIT),
    units({"name": "a.service", "dropins": [{"name": "a.txt"}]}),
    units({"name": "a.service", "dropins": [{"name": "a.conf"}, {"name": "a.conf"}]}),
    units({"name": "a.service", "contents": "[A"}),
    units({"name": "a.service", "contents": "[A] b"}),
    units({"name": "a.service", "contents": "[A]\nb"}),
    units({"name": "a.service", "contents": "[A]\nb\nc=d"}),
    units({"name": "a.service", "contents": "[A]\nb=" + "x" * 3000}),
    units({"name": "a.service", "dropins": [{"name": "a.conf", "contents": "[A"}]}),
    source("x"),
    source("file:///a"),
    source("data:x"),
    source("data:,%"),
    source("data:,a b"),
    source("data:nonsense,a"),
    source("data:;base64,YQ"),
    source("data:;base64,Y*Q="),
    source("http://a.test/%zz"),
    source("http://a.test/\n"),
    source("gs://a/b", "3.1.0"),
    source("arn:aws:s3:::bucket/object", "3.3.0"),
    source("arn:aws:ec2:::bucket/object"),
    source("s3://a/b?versionId="),
    source("data:,x", compression="xz"),
    source("data:,x", verification={"hash": "sha256-a"}),
    source("data:,x", verification={"hash": "md5-" + "a" * 32}),
    source("data:,x", "3.0.0", verification={"hash": "sha256-" + "a" * 64}),
    source("data:,x", httpHeaders=[{"name": "A", "value": "1"}]),
    source("http://a.test/", httpHeaders=[{"name": "", "value": "1"}]),
    source("http://a.test/", httpHeaders=[{"name": "A", "value": ""}]),
    files({"path": "/a", "contents": {"verification": {"hash": "sha512-" + "a" * 128}}}),
    ignition(
        "3.5.0",
        systemd={"units": [UNIT]},
        storage={"files": [file("/etc/systemd/system/a.service")]},
    ),
    storage(links=[{"path": "/a", "target": "/b"}], files=[file("/a/b")]),
    storage(links=[{"path": "/a"}]),
    storage(links=[{"path": "/a", "target": "/b", "hard": True}], directories=[{"path": "/b"}]),
    storage(directories=[{"path": "/a", "mode": 0o10000}]),
    storage(directories=[{"path": "/a"}], files=[file("/a")]),
    storage(disks=[{"device": ""}]),
    disk({"number": 1}, {"number": 1, "label": "a"}),
    disk({"number": 1, "label": "a"}, {"number": 2, "label": "a"}),
    disk({"number": 1, "startMiB": 1, "sizeMiB": 3}, {"number": 2, "startMiB": 3, "sizeMiB": 2}),
    disk({"number": 1, "shouldExist": False}, {"label": "a"}),
    disk({"number": 1, "shouldExist": False, "label": "a"}),
    disk({}),
    disk({"label": "a:b"}),
    disk({"label": "x" * 37}),
    disk({"number": 1, "guid": "x"}),
    raid(level="raid7"),
    raid(level="raid0", spares=1),
    raid(devices=[]),
    raid(devices=["a"]),
    filesystem(format="zfs"),
    filesystem(path="/a"),
    filesystem(format="xfs", path="a"),
    filesystem(format="xfs", label="x" * 13),
    ignition("3.2.0", storage={"filesystems": [{"device": "/dev/a", "format": "none"}]}),
    luks(name="a/b"),
    luks(device=""),
    luks(label="x" * 48),
    luks(keyFile={"source": "x"}),
    luks(clevis={"tang": [{**TANG, "url": "x"}]}),
    luks(clevis={"tang": [{"url": "https://a.test/"}]}),
    luks(clevis={"tang": [{**TANG, "advertisement": "{"}]}),
    luks(clevis={"custom": CUSTOM, "tpm2": True}),
    luks(clevis={"custom": {**CUSTOM, "pin": "x"}}),
    luks(clevis={"custom": {"pin": "tpm2"}}),
    luks(clevis={"tpm2": True}, cex={"enabled": True}),
    {"ignition": {"version": "3.5.0", "config": {"merge": [{}]}}},
    {"ignition": {"version": "3.5.0", "security": {"tls": {"certificateAuthorities": [{}]}}}},
    {"ignition": {"version": "3.5.0", "proxy": {"httpProxy": "a.test"}}},
    ignition("3.3.0", kernelArguments={"shouldExist": ["a"], "shouldNotExist": ["a"]}),
]


@pytest.mark.parametrize("config", INVALID)
def test_invalid(config: Json) -> None:
    with pytest.raises(IgnitionError) as caught:
        parse(config, (5, 1))
    assert caught.value.problems
