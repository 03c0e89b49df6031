"""What a step from one rendered MachineConfig to another costs."""

from typing import Any

import pytest

from cpuplan.upstream.mco import update
from cpuplan.upstream.mco.apihelpers import NONE, REBOOT, RELOAD_CRIO, RESTART_CRIO, Action
from cpuplan.upstream.mco.update import Impact, Node, Update, impact
from tests.unit.upstream.mco.objects import Json, file, files, ignition, machine_config, units

RELOADED = Action("Reload", "crio.service")
REBOOTED = Update((REBOOT,), True)
FREE = Update((NONE,), False)


def cost(old: Json, new: Json, **node: Any) -> Impact:
    return impact(rendered(old), rendered(new), Node(**node))


def rendered(spec: Json) -> Json:
    return machine_config("rendered", **{"config": ignition("3.4.0"), **spec})


def file_cost(path: str, **node: Any) -> Impact:
    old, new = (files(file(path, text), version="3.4.0") for text in ("a", "b"))
    return cost({"config": old}, {"config": new}, **node)


@pytest.mark.parametrize(
    ("old", "new", "section"),
    [
        ({"kernelArguments": ["a", "b"]}, {"kernelArguments": ["b", "a"]}, "kernelArguments"),
        ({"kernelArguments": ["a"]}, {"kernelArguments": ["a", "a"]}, "kernelArguments"),
        ({"kernelArguments": ["a", "b"]}, {"kernelArguments": ["a b"]}, "kernelArguments"),
        ({"kernelType": "default"}, {"kernelType": "realtime"}, "kernelType"),
        ({"extensions": []}, {"extensions": ["ipsec"]}, "extensions"),
        ({"osImageURL": "a"}, {"osImageURL": "b"}, "osUpdate"),
    ],
)
def test_changes_that_no_policy_avoids(old: Json, new: Json, section: str) -> None:
    everything = {"path": "/etc", "actions": [{"type": "None"}]}
    configuration = {"spec": {"nodeDisruptionPolicy": {"files": [everything]}}}
    costs = cost(old, new, configuration=configuration)
    assert costs.sections == (section,)
    assert costs.update == costs.first_boot == REBOOTED


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"kernelArguments": None}, {"kernelArguments": []}),
        ({"kernelType": ""}, {"kernelType": "default"}),
        ({"kernelType": "word"}, {"kernelType": "default"}),
        ({"baseOSExtensionsContainerImage": "a"}, {"baseOSExtensionsContainerImage": "b"}),
        ({"config": ignition("3.2.0")}, {"config": ignition("3.4.0")}),
    ],
)
def test_changes_that_no_node_looks_at(old: Json, new: Json) -> None:
    costs = cost(old, new)
    assert costs.sections == ()
    assert costs.update == FREE


@pytest.mark.parametrize(
    "other",
    [
        file(mode=0o600),
        file(overwrite=True),
        {"path": "/etc/x", "contents": {"source": "data:;base64,eA=="}},
        {"path": "/etc/x", "contents": {"source": "data:,x", "compression": ""}},
        file(user={"name": "u"}),
    ],
)
def test_files_compare_as_objects(other: Json) -> None:
    costs = cost({"config": files(file())}, {"config": files(other)})
    assert (costs.files, costs.update) == (("/etc/x",), REBOOTED)


def test_bug_another_order_of_files_does_nothing_at_all() -> None:
    first, other = file("/a"), file("/b")
    costs = cost({"config": files(first, other)}, {"config": files(other, first)})
    assert costs.sections == ("files",)
    assert costs.update == Update((), False)
    assert costs.first_boot == FREE


def test_units() -> None:
    old, new = {"name": "a.service"}, {"name": "a.service", "enabled": False}
    costs = cost({"config": units(old)}, {"config": units(new)})
    assert (costs.units, costs.update) == (("a.service",), REBOOTED)


@pytest.mark.parametrize(
    ("path", "action", "since"),
    [
        ("/etc/containers/policy.json", RELOADED, (4, 17)),
        ("/etc/crio/policies/a.json", RELOADED, (4, 18)),
        ("/etc/kubernetes/credential-providers/a", Action("Restart", "kubelet.service"), (4, 22)),
        ("/etc/iri-registry/a", Action("Restart", "iri-registry.service"), (4, 22)),
        ("/etc/nmstate/openshift/a/b.yml", NONE, (4, 17)),
    ],
)
def test_built_in_policies(path: str, action: Action, since: tuple[int, int]) -> None:
    assert file_cost(path, release=since).update == Update((action,), False)
    before = file_cost(path, release=(since[0], since[1] - 1)).update
    assert before is not None
    assert before.actions != (action,)


def test_the_legacy_path_of_4_15_knows_no_folders() -> None:
    for path in ("/etc/nmstate/openshift/a.yml", "/etc/containers/registries.d/a.yaml"):
        assert file_cost(path, release=(4, 15)).update == REBOOTED
        assert file_cost(path, release=(4, 16)).update != REBOOTED
    pull = "/etc/mco/internal-registry-pull-secret.json"
    assert file_cost(pull, release=(4, 15)).update == FREE
    assert file_cost(pull, release=(4, 16)).update == REBOOTED


def test_a_restart_is_not_taken_back_since_4_16() -> None:
    bundle = "/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt"
    paths = [bundle, "/etc/containers/policy.json"]
    assert update.legacy_action(["files"], paths, (4, 16)) == RESTART_CRIO
    assert update.legacy_action(["files"], paths, (4, 15)) == RELOAD_CRIO
    assert update.legacy_action(["files"], [*paths, "/etc/x"], (4, 16)) == REBOOT


def users(*keys: str, name: str = "core") -> Json:
    return ignition(passwd={"users": [{"name": name, "sshAuthorizedKeys": list(keys)}]})


def test_ssh_keys_cost_nothing() -> None:
    costs = cost({"config": users("a")}, {"config": users("b")})
    assert (costs.sections, costs.update) == (("passwd",), FREE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"config": users("a")}, {"config": users("b", name="admin")}),
        ({"fips": False}, {"fips": True}),
        ({}, {"config": files(file(mode=0o4755), version="3.4.0")}),
        ({}, {"config": files(file(text=None, overwrite=True))}),
        ({"config": files(file(text=None, overwrite=True))}, {}),
        ({}, {"config": None}),
    ],
)
def test_refused(old: Json, new: Json) -> None:
    costs = cost(old, new)
    assert costs.refusal is not None
    assert costs.update is None


def test_the_mode_of_the_node_counts_too() -> None:
    fips = {"fips": True}
    assert cost(fips, fips).refusal is None
    assert cost(fips, fips, fips=False).refusal is not None
    assert cost({}, fips, fips=True).refusal is not None
    before = cost({}, fips, fips=True, release=(4, 15))
    assert (before.refusal, before.update) == (None, FREE)


def test_overrides_of_storage_came_with_4_23() -> None:
    new = {"config": ignition(storage={"disks": [{"device": "/dev/sdb"}]})}
    configuration = {"spec": {"irreconcilableValidationOverrides": {"storage": ["Disks"]}}}
    assert cost({}, new).refusal is not None
    assert cost({}, new, configuration=configuration).update == FREE
    assert cost({}, new, configuration=configuration, release=(4, 22)).refusal is not None


def test_the_force_file_reboots() -> None:
    costs = cost({}, {}, is_forced=True)
    assert (costs.sections, costs.update, costs.first_boot) == (("osUpdate",), REBOOTED, REBOOTED)


def test_kernel_arguments_are_deleted_and_appended() -> None:
    old, new = {"kernelArguments": ['a="b c" d']}, {"kernelArguments": ["e", ""]}
    commands = ('--delete-if-present=a="b c"', "--delete-if-present=d", "--append=e")
    assert cost(old, new).kernel_commands == commands
    assert cost(old, new, release=(4, 17)).kernel_commands[0] == '--delete=a="b c"'
