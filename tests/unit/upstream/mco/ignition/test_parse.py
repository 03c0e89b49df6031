"""Reading Ignition configs of every spec."""

import pytest

from cpuplan.upstream.mco.common import ConversionError, IgnitionError
from cpuplan.upstream.mco.ignition.config import parse
from cpuplan.upstream.mco.ignition.types import encode
from tests.unit.upstream.mco.objects import Json, file, files, ignition, units


def parsed(config: object, release: tuple[int, int] = (5, 1)) -> Json:
    return encode(parse(config, release))


def rejected(config: object, release: tuple[int, int] = (5, 1)) -> IgnitionError:
    with pytest.raises(IgnitionError) as caught:
        parse(config, release)
    return caught.value


@pytest.mark.parametrize("version", ["3.0.0", "3.1.0", "3.2.0", "3.3.0", "3.4.0", "3.5.0"])
def test_every_spec_becomes_the_newest(version: str) -> None:
    assert parsed(ignition(version)) == ignition("3.5.0")


@pytest.mark.parametrize(
    "version", ["3.6.0", "1.0.0", "2.3.0", "3.2.1", "3.5.0-experimental", "3.2", "abc", "", None]
)
def test_unknown_versions(version: object) -> None:
    assert rejected({"ignition": {"version": version}})


@pytest.mark.parametrize("config", [{}, [], "x", {"ignition": "3.2.0"}, {"ignition": None}])
def test_no_version(config: object) -> None:
    assert rejected(config)


def test_unknown_fields_are_dropped() -> None:
    config = files({"path": "/a", "contents": {"inline": "x"}})
    assert parsed(config)["storage"]["files"] == [{"path": "/a"}]


def test_fields_of_a_newer_spec_are_dropped() -> None:
    arguments = {"shouldExist": ["a"]}
    assert "kernelArguments" in parsed(ignition("3.3.0", kernelArguments=arguments))
    assert "kernelArguments" not in parsed(ignition("3.2.0", kernelArguments=arguments))


def test_keys_are_taken_whatever_their_case() -> None:
    assert parsed({"ignition": {"Version": "3.2.0"}}) == ignition("3.5.0")
    assert parsed(ignition(Storage={"FILES": [file()]}))["storage"]["files"] == [file()]


def test_null_is_absent() -> None:
    assert parsed(ignition(storage=None)) == ignition("3.5.0")


@pytest.mark.parametrize(
    "section",
    [{"files": {}}, {"files": [{"path": 1}]}, {"files": [{"path": "/a", "mode": "0644"}]}, []],
)
def test_wrong_types(section: object) -> None:
    assert rejected(ignition(storage=section)).problems[0].cause == "wrong type"


def test_a_link_of_an_older_spec_may_lack_its_target() -> None:
    link: Json = {"path": "/a"}
    storage = parsed(ignition("3.2.0", storage={"links": [link]}))["storage"]
    assert storage["links"] == [{"path": "/a", "target": ""}]
    assert rejected(ignition("3.3.0", storage={"links": [link]}))


def spec2(**sections: object) -> Json:
    return {"ignition": {"version": "2.2.0"}, **sections}


ENABLED: Json = {"name": "a.service", "enabled": True}
DROP_IN = {"name": "a.conf", "contents": "[A]"}


def node(path: str, **fields: object) -> Json:
    return {"filesystem": "root", "path": path, **fields}


def test_the_last_file_of_spec_2_counts() -> None:
    entries = [node("/a", mode=1), node("/b"), node("/a", mode=2, contents={"source": "data:,x"})]
    assert parsed(spec2(storage={"files": entries}))["storage"]["files"] == [
        {"path": "/a", "mode": 2, "overwrite": True, "contents": {"source": "data:,x"}},
        {"path": "/b", "overwrite": True, "contents": {"source": ""}},
    ]


def test_units_of_spec_2_unite_their_drop_ins() -> None:
    first = {"name": "a.service", "enable": True, "dropins": [{"name": "a.conf"}]}
    last = {"name": "a.service", "mask": False, "dropins": [{"name": "b.conf", "contents": "[A]"}]}
    assert parsed(spec2(systemd={"units": [first, last]}))["systemd"]["units"] == [
        {
            "name": "a.service",
            "dropins": [{"name": "b.conf", "contents": "[A]"}, {"name": "a.conf"}],
        }
    ]


def test_a_drop_in_that_stands_twice_in_an_earlier_unit_counts_once() -> None:
    first, second = {**DROP_IN, "contents": "[B]"}, DROP_IN
    entries = [{"name": "a.service", "dropins": [first, second]}, {"name": "a.service"}]
    (unit,) = parsed(spec2(systemd={"units": entries}))["systemd"]["units"]
    assert unit["dropins"] == [first]


def test_enable_of_spec_2_is_enabled() -> None:
    (unit,) = parsed(spec2(systemd={"units": [{"name": "a.service", "enable": True}]}))["systemd"][
        "units"
    ]
    assert unit == {"name": "a.service", "enabled": True}


def test_users_of_spec_2_unite_their_keys() -> None:
    entries = [
        {"name": "core", "sshAuthorizedKeys": ["a", "b"]},
        {"name": "core", "sshAuthorizedKeys": ["b"], "passwordHash": "x"},
    ]
    assert parsed(spec2(passwd={"users": entries}))["passwd"]["users"] == [
        {"name": "core", "passwordHash": "x", "sshAuthorizedKeys": ["b", "a"]}
    ]


def test_a_filesystem_of_spec_2_that_is_not_listed_is_the_root() -> None:
    (entry,) = parsed(spec2(storage={"files": [node("/a", filesystem="var")]}))["storage"]["files"]
    assert entry["path"] == "/a"


def test_older_specs_2_have_fewer_fields() -> None:
    entry = node("/a", overwrite=False, append=True, user={"name": "u"})
    config = spec2(storage={"files": [entry]}, systemd={"units": [ENABLED]})

    def of(version: str) -> Json:
        return parsed({**config, "ignition": {"version": version}})

    contents = {"source": ""}
    assert of("2.1.0")["storage"]["files"] == [
        {"path": "/a", "mode": 0, "overwrite": True, "contents": contents, "user": {"name": "u"}}
    ]
    assert of("2.1.0")["systemd"]["units"] == [ENABLED]
    assert of("2.0.0")["storage"]["files"][0]["user"] == {"id": 0}
    assert of("2.0.0")["storage"]["files"][0]["group"] == {"id": 0}
    assert of("2.0.0")["systemd"]["units"] == [{"name": "a.service"}]


def test_spec_2_0_does_not_tell_an_empty_password_from_none() -> None:
    user = {"name": "core", "passwordHash": ""}
    config = spec2(passwd={"users": [user]})
    assert parsed(config)["passwd"]["users"] == [user]
    config = {**config, "ignition": {"version": "2.0.0"}}
    assert parsed(config)["passwd"]["users"] == [{"name": "core"}]


def test_what_is_not_a_file_is_not_compressed_in_spec_3_0() -> None:
    reference = {"source": "https://a.test/", "compression": "gzip"}

    def merged(version: str) -> Json:
        header = {"version": version, "config": {"merge": [reference]}}
        config: Json = parsed({"ignition": header})["ignition"]["config"]
        return config

    assert merged("3.1.0") == {"merge": [reference]}
    assert merged("3.0.0") == {"merge": [{"source": "https://a.test/"}]}


@pytest.mark.parametrize(
    "config",
    [
        spec2(storage={"filesystems": [{"name": "var", "path": "/var"}]}),
        spec2(storage={"disks": [{"device": "/dev/a", "partitions": [{"number": 1}]}]}),
        spec2(storage={"files": [node("/a"), node("/a/")]}),
        spec2(storage={"files": [node("/a.conf")], "links": [node("/a", target="/b")]}),
        spec2(storage={"links": [node("/a", target="/b"), node("/a", target="/b")]}),
        spec2(systemd={"units": [{"name": "a.service", "dropins": [DROP_IN, DROP_IN]}]}),
        spec2(networkd={"units": [{"name": "a.network"}]}),
        spec2(passwd={"users": [{"name": "admin"}]}),
    ],
)
def test_what_spec_3_cannot_express(config: Json) -> None:
    assert isinstance(rejected(config), ConversionError)


@pytest.mark.parametrize(
    "config",
    [
        spec2(storage={"files": [node("a")]}),
        spec2(storage={"files": [node("/a", filesystem="")]}),
        spec2(storage={"files": [node("/a", append=True, overwrite=True)]}),
        spec2(storage={"files": [node("/a", mode=0o10000)]}),
        spec2(storage={"files": [node("/a", mode=0o1777), node("/a")]}),
        spec2(storage={"files": [node("/a", user={"id": 1, "name": "u"})]}),
        spec2(storage={"files": [node("/a", contents={"source": "gs://a/b"})]}),
        spec2(storage={"files": [node("/a", contents={"compression": "xz"})]}),
        spec2(storage={"filesystems": [{"name": "root"}]}),
        spec2(storage={"filesystems": [{"name": "root", "path": "x"}]}),
        spec2(storage={"filesystems": [{"name": "root", "mount": {"device": "/a"}}]}),
        spec2(storage={"filesystems": [{"name": "root", "mount": {"format": "xfs"}}]}),
        spec2(storage={"raid": [{"name": "a", "level": "raid7"}]}),
        spec2(storage={"raid": [{"name": "a", "level": "raid1", "devices": ["x"]}]}),
        spec2(storage={"disks": [{"device": "x"}]}),
        spec2(storage={"links": [node("/a", filesystem="")], "filesystems": [{"name": "var"}]}),
        spec2(passwd={"users": [{"name": "core", "create": {}, "shell": "/bin/sh"}]}),
        spec2(networkd={"units": [{"name": "a.network"}]}, systemd={"units": [{"name": "a"}]}),
        spec2(systemd={"units": [{"name": "a"}]}),
        spec2(storage={"files": {}}),
        spec2(storage=[]),
    ],
)
def test_invalid_in_spec_2(config: Json) -> None:
    assert not isinstance(rejected(config), ConversionError)


def test_problems_name_their_places() -> None:
    error = rejected(units({"name": "a.txt"}))
    assert error.problems == ((("systemd", "units", 0, "name"), "not the name of a unit"),)
    assert "systemd.units.0.name" in str(error)
