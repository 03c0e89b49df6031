"""Merging Ignition configs by key, field by field."""

from typing import Any

import pytest

from cpuplan.upstream.mco.ignition.config import parse
from cpuplan.upstream.mco.ignition.merge import merge
from cpuplan.upstream.mco.ignition.types import encode
from tests.unit.upstream.mco.objects import Json, file, files, ignition, units


def merged(*configs: Json) -> Json:
    result, *others = [parse(config, (5, 1)) for config in configs]
    for other in others:
        result = merge(result, other)
    return encode(result)


def merged_files(*configs: Json) -> list[Json]:
    entries: list[Json] = merged(*configs)["storage"]["files"]
    return entries


def test_a_file_is_replaced_field_by_field() -> None:
    old = files(file(text="a", mode=0o600, user={"name": "u"}))
    new = files(file(text=None, mode=0o644, user={"id": 1}))
    (entry,) = merged_files(old, new)
    assert entry == file(text="a", mode=0o644, user={"name": "u", "id": 1})


def test_files_keep_their_places() -> None:
    entries = merged_files(files(file("/b"), file("/a")), files(file("/c"), file("/b", "y")))
    assert entries == [file("/b", "y"), file("/a"), file("/c")]


def test_what_is_appended_adds_up() -> None:
    appended = [{"source": "data:,a"}]
    (entry,) = merged_files(*[files(file(text=None, append=appended))] * 2)
    assert entry["append"] == appended * 2


def test_files_directories_and_links_share_one_name_space() -> None:
    link = {"path": "/etc/x", "target": "/y"}
    storage = merged(files(file()), ignition(storage={"links": [link]}))["storage"]
    assert storage == {"links": [link]}


def test_units_merge_by_name_and_drop_ins_too() -> None:
    old = {"name": "a.service", "enabled": True, "dropins": [{"name": "a.conf", "contents": "[A]"}]}
    new = {
        "name": "a.service",
        "mask": True,
        "dropins": [{"name": "a.conf"}, {"name": "b.conf", "contents": ""}],
    }
    (unit,) = merged(units(old), units(new))["systemd"]["units"]
    assert unit == {
        "name": "a.service",
        "enabled": True,
        "mask": True,
        "dropins": [{"name": "a.conf", "contents": "[A]"}, {"name": "b.conf", "contents": ""}],
    }


def keys(*names: str) -> Json:
    return ignition(passwd={"users": [{"name": "core", "sshAuthorizedKeys": list(names)}]})


def test_ssh_keys_are_united() -> None:
    (user,) = merged(keys("a", "b"), keys("b", "c"))["passwd"]["users"]
    assert user["sshAuthorizedKeys"] == ["a", "b", "c"]


def test_a_header_without_value_removes_the_header() -> None:
    def config(*headers: Json) -> Json:
        contents = {"source": "http://a.test/", "httpHeaders": list(headers)}
        return files({"path": "/a", "contents": contents})

    old = config({"name": "A", "value": "1"}, {"name": "B", "value": "2"})
    (entry,) = merged_files(old, config({"name": "A"}))
    assert entry["contents"]["httpHeaders"] == [{"name": "B", "value": "2"}]


@pytest.mark.parametrize(
    ("section", "item", "other"),
    [
        ("disks", {"device": "/dev/a", "wipeTable": True}, {"device": "/dev/a"}),
        (
            "luks",
            {"name": "a", "device": "/dev/a", "label": "l"},
            {"name": "a", "device": "/dev/a"},
        ),
        ("filesystems", {"device": "/dev/a", "format": "xfs"}, {"device": "/dev/a"}),
    ],
)
def test_storage_merges_by_its_keys(section: str, item: Json, other: Json) -> None:
    old, new = (ignition(storage={section: [entry]}) for entry in (item, other))
    assert merged(old, new)["storage"] == {section: [item]}


def test_partitions_merge_by_number_or_label() -> None:
    def disk(*partitions: Any) -> Json:
        return ignition(storage={"disks": [{"device": "/dev/a", "partitions": list(partitions)}]})

    parts = [{"number": 1, "sizeMiB": 5}, {"label": "x", "sizeMiB": 6}]
    (entry,) = merged(disk(*parts), disk({"number": 1}, {"label": "x"}))["storage"]["disks"]
    assert entry["partitions"] == parts
