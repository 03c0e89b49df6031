"""Node disruption policies of a user."""

import pytest

from cpuplan.upstream.mco.apihelpers import DRAIN, NONE, REBOOT, SPECIAL, Action, Policies, policies
from tests.unit.upstream.mco.objects import Json

RESTART = Action("Restart", "a.service")


def given(files: Json | None = None, units: Json | None = None, keys: str = "") -> Policies:
    """Policies with one action each: `a.service` is restarted for a name of a service."""
    policy: Json = {
        "files": [
            {"path": path, "actions": [action(kind)]} for path, kind in (files or {}).items()
        ],
        "units": [
            {"name": name, "actions": [action(kind)]} for name, kind in (units or {}).items()
        ],
    }
    if keys:
        policy["sshkey"] = {"actions": [action(keys)]}
    return policies({"spec": {"nodeDisruptionPolicy": policy}}, (5, 1))


def action(kind: str) -> Json:
    if kind.endswith(".service"):
        return {"type": "Restart", "restart": {"serviceName": kind}}
    return {"type": kind}


@pytest.mark.parametrize(
    ("policy_path", "path", "is_covered"),
    [
        ("/etc/app", "/etc/app", True),
        ("/etc/app", "/etc/app/a/b", True),
        ("/etc/app/", "/etc/app/a", True),
        ("/etc/app", "/etc/application", False),
        ("/etc/app/a", "/etc/app", False),
        ("/", "/etc/app", False),
    ],
)
def test_a_policy_covers_a_path_and_what_is_below(
    policy_path: str, path: str, is_covered: bool
) -> None:
    expected = (NONE,) if is_covered else (REBOOT,)
    assert given({policy_path: "None"}).actions([path], [], False) == expected


def test_the_longest_path_decides() -> None:
    policy = given({"/etc/app": "None", "/etc/app/a.d/b": "a.service", "/etc": "Reboot"})
    assert policy.for_file("/etc/app/a.d/b") == (RESTART,)
    assert policy.for_file("/etc/app/a.d/c") == (NONE,)


def test_a_policy_of_a_user_replaces_a_built_in_one() -> None:
    path = "/etc/containers/registries.conf"
    assert given().for_file(path) == (SPECIAL,)
    assert given({path: "None"}).for_file(path) == (NONE,)
    assert given({}, {"iri-registry.service": "Drain"}).units["iri-registry.service"] == (DRAIN,)


def test_units_go_by_their_exact_names() -> None:
    policy = given({}, {"a.service": "a.service"})
    assert policy.actions([], ["a.service"], False) == (RESTART,)
    assert policy.actions([], ["b.service"], False) == (REBOOT,)


def test_of_two_policies_for_a_unit_the_first_wins() -> None:
    entries = [{"name": "a", "actions": [action(kind)]} for kind in ("Drain", "None")]
    built = policies({"spec": {"nodeDisruptionPolicy": {"units": entries}}}, (5, 1))
    assert built.units["a"] == (DRAIN,)


def test_keys() -> None:
    assert given().actions([], [], True) == (NONE,)
    assert given(keys="Drain").actions([], [], True) == (DRAIN,)


def test_how_actions_combine() -> None:
    policy = given({"/a": "None", "/b": "a.service", "/c": "Reboot", "/d": "Drain"})
    assert policy.actions(["/a", "/a"], [], False) == (NONE,)
    assert policy.actions(["/a", "/b"], [], False) == (RESTART,)
    assert policy.actions(["/b", "/b"], [], True) == (RESTART, RESTART)
    assert policy.actions(["/b", "/c"], [], False) == (REBOOT,)
    assert policy.actions(["/d", "/b"], [], False) == (DRAIN, RESTART)
    assert policy.actions([], [], False) == ()


def test_a_policy_without_actions_does_nothing() -> None:
    built = policies({"spec": {"nodeDisruptionPolicy": {"files": [{"path": "/a"}]}}}, (5, 1))
    assert built.actions(["/a"], [], False) == ()
