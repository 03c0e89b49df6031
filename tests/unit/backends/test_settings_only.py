"""Talos and Bottlerocket, which take settings and no files."""

import tomllib
from typing import Any

import pytest
import yaml

from cpuplan import backends
from cpuplan.backends import bottlerocket, check, talos
from cpuplan.plan import ConfiguredPlan, Plan
from tests.machines.plans import no_position, plan

RELEASES = {"talos": "1.13", "bottlerocket": "1.35"}
EACH = pytest.mark.parametrize("platform", RELEASES)
SYSCTLS = [{"enable": "dirty-pages", "because": "short pauses"}]


def planned(platform: str, version: str = "", **spec: Any) -> ConfiguredPlan:
    return plan(platform=platform, version=version or RELEASES[platform], spec=spec)


def codes(made: ConfiguredPlan) -> list[str]:
    return [finding.code for finding in check(made, no_position)]


def patches(made: ConfiguredPlan) -> list[dict[str, Any]]:
    (data,) = (data for path, data in talos.delivered(made).items() if path.endswith(".talos.yaml"))
    return list(yaml.safe_load_all(data))


def settings(made: ConfiguredPlan) -> dict[str, Any]:
    (data,) = bottlerocket.delivered(made).values()
    read: dict[str, Any] = tomllib.loads(data.decode())["settings"]
    return read


def test_a_patch_of_talos() -> None:
    (patch,) = patches(planned("talos", defaults=SYSCTLS))
    assert patch["machine"]["kubelet"]["extraConfig"]["reservedSystemCPUs"] == "0-1"
    assert "apiVersion" not in patch["machine"]["kubelet"]["extraConfig"]
    assert patch["machine"]["sysctls"]["vm.dirty_ratio"] == "10"


def test_documents_of_talos() -> None:
    kubelet, sysctls = patches(planned("talos", "1.14", defaults=SYSCTLS))
    assert (kubelet["kind"], sysctls["kind"]) == ("KubeletConfig", "SysctlConfig")
    assert kubelet["config"]["cpuManagerPolicy"] == "static"
    assert sysctls["params"]["vm.dirty_ratio"] == "10"


def test_a_schematic_has_no_argument_for_systemd() -> None:
    made = planned("talos")
    files = talos.delivered(made)
    (data,) = (data for path, data in files.items() if path.endswith(".schematic.yaml"))
    arguments = yaml.safe_load(data)["customization"]["extraKernelArgs"]
    assert "irqaffinity=0-1" in arguments
    assert not any(word.startswith("systemd.") for word in arguments)
    (note,) = check(made, no_position)
    assert "kernel systemd.cpu_affinity" in note.message


def test_huge_pages_of_the_machine_on_talos() -> None:
    pages = {"pages": [{"size": "1G", "count": 4}]}
    assert codes(planned("talos", hugePages=pages)) == ["CP599"]


def test_fields_that_talos_keeps_to_itself() -> None:
    assert "CP598" in codes(planned("talos", kubelet={"configuration": {"seccompDefault": True}}))


def test_user_data_of_bottlerocket() -> None:
    kubelet = {
        "cpuManagerPolicyOptions": {"full-pcpus-only": "true"},
        "systemReserved": {"memory": "1Gi"},
        "reservedMemory": [{"numaNode": 0, "memory": "2Gi"}],
    }
    read = settings(planned("bottlerocket", kubelet=kubelet, defaults=SYSCTLS))
    assert read["kubernetes"] == {
        "cpu-manager-policy": "static",
        "cpu-manager-policy-options": ["full-pcpus-only"],
        "memory-manager-reserved-memory": {"0": {"enabled": True, "memory": "2Gi"}},
        "reserved-cpus": "0-1",
        "system-reserved": {"memory": "1Gi"},
    }
    assert read["boot"]["reboot-to-reconcile"] is True
    assert read["boot"]["kernel-parameters"]["irqaffinity"] == ["0-1"]
    assert read["kernel"]["sysctl"]["vm.dirty_ratio"] == "10"


def test_options_of_bottlerocket() -> None:
    kubelet = {
        "cpuManagerPolicyOptions": {
            "full-pcpus-only": "false",
            "distribute-cpus-across-numa": "1",
            "strict-cpu-reservation": "true",
            "prefer-align-cpus-by-uncorecache": "false",
        },
        "topologyManagerPolicy": "best-effort",
        "topologyManagerPolicyOptions": {
            "prefer-closest-numa-nodes": "true",
            "max-allowable-numa-nodes": "16",
        },
    }
    made = planned("bottlerocket", kubelet=kubelet)
    assert "CP598" not in codes(made)
    read = settings(made)["kubernetes"]
    on = ["distribute-cpus-across-numa", "strict-cpu-reservation"]
    assert sorted(read["cpu-manager-policy-options"]) == on
    assert read["topology-manager-policy-options"] == {
        "prefer-closest-numa-nodes": True,
        "max-allowable-numa-nodes": 16,
    }


@pytest.mark.parametrize(
    "spec",
    [
        {"kubelet": {"topologyManagerPolicyOptions": {"prefer-nearest": "true"}}},
        {"kubelet": {"cpuManagerPolicyOptions": {"align-by-socket": "true"}}},
        {"kubelet": {"configuration": {"nodeStatusMaxImages": 10}}},
        {"hugePages": {"pages": [{"size": "1G", "count": 4}]}},
    ],
)
def test_what_bottlerocket_has_no_setting_for(spec: dict[str, Any]) -> None:
    assert "CP598" in codes(planned("bottlerocket", **spec))


@EACH
def test_what_needs_files_is_an_error(platform: str) -> None:
    pages = {"pages": [{"size": "2M", "count": 512, "numaNode": 0}]}
    assert "CP598" in codes(planned(platform, hugePages=pages))
    off = plan(platform=platform, version=RELEASES[platform], offlined="3")
    assert "CP598" in codes(off)


@EACH
def test_defaults_that_it_does_not_get(platform: str) -> None:
    assert codes(planned(platform)) == ["CP599"]


@EACH
def test_files_in_out(platform: str) -> None:
    made = planned(platform)
    paths = backends.tree(Plan((made,)))
    place = f"nodes/site-a/{made.node_class.name}"
    assert f"{place}.json" in paths
    assert not any(path.startswith(f"{place}/") for path in paths)
