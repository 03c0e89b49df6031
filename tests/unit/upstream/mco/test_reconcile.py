"""Steps that no node takes."""

from typing import Any

import pytest

from cpuplan.upstream.mco.reconcile import refusal_against_current
from cpuplan.upstream.mco.render_controller import render
from tests.unit.upstream.mco.objects import Json, file, files, ignition, machine_config, pool

CORE = {"name": "core", "sshAuthorizedKeys": ["k"]}


def cause(old: Json, new: Json, release: tuple[int, int] = (5, 1), **options: Any) -> str:
    rendered = render(pool(), [machine_config("a", config=new, **options)], release)
    assert rendered is not None
    refusal = refusal_against_current(machine_config("old", config=old), rendered, release)
    return refusal.cause if refusal else ""


def storage(**sections: Any) -> Json:
    return ignition(storage=sections)


def users(*entries: Json) -> Json:
    return ignition(passwd={"users": list(entries)})


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (ignition(), storage(disks=[{"device": "/dev/sdb"}])),
        (ignition(), storage(filesystems=[{"device": "/dev/sdb"}])),
        (ignition(), storage(raid=[{"name": "a", "level": "raid1", "devices": ["/dev/a"]}])),
        (ignition(), storage(directories=[{"path": "/a"}])),
        (ignition(), storage(links=[{"path": "/a", "target": "/b"}])),
        (ignition(), files(file("/run/machine-config-daemon-force"))),
        (ignition(), files(file(text=None))),
        (ignition(), files(file(append=[{"source": "data:,x"}]))),
        (ignition(), ignition("3.3.0", kernelArguments={"shouldExist": ["a"]})),
        (ignition(), users({"name": "admin"})),
        (ignition(), users({"name": "core"})),
        (ignition(), users({**CORE, "uid": 1})),
        (ignition(), ignition(passwd={"groups": [{"name": "g"}]})),
    ],
)
def test_refused(old: Json, new: Json) -> None:
    assert cause(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (files(file(text="a")), files(file(text="b"))),
        (ignition(), users(CORE)),
        (users(CORE), ignition()),
        (ignition(), users({"name": "core", "passwordHash": "x"})),
        (storage(links=[{"path": "/a", "target": "/b"}]), ignition()),
        (ignition(), storage(luks=[{"name": "a", "device": "/dev/a"}])),
    ],
)
def test_accepted(old: Json, new: Json) -> None:
    assert not cause(old, new)


def test_fips_does_not_change() -> None:
    assert cause(ignition(), ignition(), fips=True) == "FIPS changes"


def test_before_4_16_rendering_looks_at_no_current_object() -> None:
    disks = storage(disks=[{"device": "/dev/sdb"}])
    assert not cause(ignition(), disks, release=(4, 15))
    assert cause(ignition(), disks, release=(4, 16))
