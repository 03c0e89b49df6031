"""What the node tuning operator makes of a profile: the objects of mode mco, in its own ways."""

from typing import Any

import pytest

from cpuplan.backends import openshift
from cpuplan.backends.openshift import objects as predicted
from tests.machines.plans import plan, regular

PROFILE = {"mode": "performanceProfile"}


def objects(**target: Any) -> dict[str, dict[str, Any]]:
    node = plan(
        regular(cores=8), offlined="6-7", version="5.1", platform="openshift", target=target
    )
    return {
        manifest.data["metadata"]["name"]: manifest.data
        for manifest in predicted.predicted_manifests(node)
    }


def written() -> dict[str, dict[str, Any]]:
    """The same plan in mode mco."""
    node = plan(regular(cores=8), offlined="6-7", version="5.1", platform="openshift")
    return {
        manifest.data["metadata"]["name"]: manifest.data for manifest in openshift.manifests(node)
    }


def test_the_objects_have_the_names_of_mode_mco_and_one_for_boot_arguments() -> None:
    expected, own = objects(**PROFILE), written()
    pool = next(name for name, data in own.items() if data["kind"] == "MachineConfigPool")
    assert expected.keys() == own.keys() - {pool} | {f"50-nto-{pool}"}
    assert all(expected[name]["kind"] == own[name]["kind"] for name in expected.keys() & own.keys())


def test_boot_arguments_stand_in_a_machine_config_of_their_own() -> None:
    expected, own = objects(**PROFILE), written()
    (files,) = (data for name, data in expected.items() if name.startswith("50-performance-"))
    (boot,) = (data for name, data in expected.items() if name.startswith("50-nto-"))
    assert "kernelArguments" not in files["spec"]
    assert (
        boot["spec"]["kernelArguments"] == own[files["metadata"]["name"]]["spec"]["kernelArguments"]
    )
    assert boot["metadata"]["labels"] == files["metadata"]["labels"]


def file_paths(config: dict[str, Any]) -> set[str]:
    """The paths of the files that a MachineConfig writes."""
    return {file["path"] for file in config["spec"]["config"]["storage"]["files"]}


def test_the_operators_own_scripts_are_left_out() -> None:
    expected, own = objects(**PROFILE), written()
    name = next(name for name in expected if name.startswith("50-performance-"))
    paths, all_paths = file_paths(expected[name]), file_paths(own[name])
    assert (
        all_paths - paths
        == {path for path in all_paths if path.startswith("/usr/local/bin/")}
        != set()
    )
    assert "set-cpus-offline.service" in {
        unit["name"] for unit in expected[name]["spec"]["config"]["systemd"]["units"]
    }


def test_tuned_computes_boot_arguments_itself() -> None:
    (tuned,) = (data for data in objects(**PROFILE).values() if data["kind"] == "Tuned")
    text = tuned["spec"]["profile"][0]["data"]
    assert "[variables]\nisolated_cores=2-5\n" in text
    assert "bootloader" not in text


def test_durations_are_those_of_go() -> None:
    webhook = {"authentication": {"webhook": {"cacheTTL": "120s"}}}
    configuration = {"shutdownGracePeriod": "90s", "syncFrequency": "1m0s", **webhook}
    node = plan(spec={"kubelet": {"configuration": configuration}}, target=PROFILE)
    (kubelet,) = (
        manifest.data["spec"]["kubeletConfig"]
        for manifest in predicted.predicted_manifests(node)
        if manifest.data["kind"] == "KubeletConfig"
    )
    assert kubelet["shutdownGracePeriod"] == "1m30s"
    assert kubelet["syncFrequency"] == "1m0s"
    assert kubelet["authentication"]["webhook"]["cacheTTL"] == "2m0s"
    assert kubelet["cpuManagerReconcilePeriod"] == "5s"


def test_argo_cd_never_sees_them() -> None:
    assert all("annotations" not in data["metadata"] for data in objects(**PROFILE).values())


@pytest.mark.parametrize(
    "target", [{"mode": "mco"}, {**PROFILE, "controlPlaneTopology": "External"}]
)
def test_where_nothing_is_expected(target: dict[str, Any]) -> None:
    assert objects(**target) == {}
