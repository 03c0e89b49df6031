"""The webhook's rules at their edges; the recorded verdicts are those of vectors/nto/validate."""

from typing import Any

import pytest

from tests.unit.profiles.test_intents import profile, read_all


def node(name: str, architecture: str = "amd64", cpus: str = "8", **labels: str) -> dict[str, Any]:
    """A Node of the profiles' selector, with other labels where some are given."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels or {"node-role.kubernetes.io/worker-cnf": ""}},
        "status": {"capacity": {"cpu": cpus}, "nodeInfo": {"architecture": architecture}},
    }


def refusals(spec: dict[str, Any], *nodes: dict[str, Any]) -> list[str]:
    """Code and field of each."""
    return [
        f"{diagnostic.code} {diagnostic.message.split()[0]}"
        for diagnostic in read_all(profile(spec), *nodes).diagnostics
    ]


def pages(size: str, kernel: str | None = None) -> dict[str, Any]:
    huge = {"hugepages": {"defaultHugepagesSize": size, "pages": [{"size": size, "count": 1}]}}
    return huge if kernel is None else huge | {"kernelPageSize": kernel}


DEFAULT, PAGES, KERNEL = (
    "CP266 spec.hugepages.defaultHugepagesSize",
    "CP266 spec.hugepages.pages.0.size",
    "CP266 spec.kernelPageSize",
)


@pytest.mark.parametrize(
    ("architecture", "spec", "expected"),
    [
        ("amd64", pages("1G", "64k"), [KERNEL]),
        ("amd64", pages("1G", ""), [KERNEL]),
        ("amd64", pages("16G", ""), [KERNEL, DEFAULT, PAGES]),
        ("arm64", pages("512M", "64k"), []),
        ("arm64", pages("1G", "64k"), [DEFAULT, PAGES]),
        ("arm64", pages("2M", ""), [KERNEL, DEFAULT, PAGES]),
        ("s390x", pages("16G"), []),
        ("s390x", pages("16M"), [DEFAULT, PAGES]),
        ("amd64", {"hugepages": {"defaultHugepagesSize": ""}}, [DEFAULT]),
        ("amd64", {"hugepages": {"defaultHugepagesSize": None}}, []),
    ],
)
def test_pages(architecture: str, spec: dict[str, Any], expected: list[str]) -> None:
    assert refusals(spec, node("worker-0", architecture)) == expected


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ([node("worker-0", "")], ["CP270 spec.nodeSelector"]),
        (
            [node("worker-0", ""), node("worker-1")],
            ["CP270 spec.nodeSelector", "CP265 spec.nodeSelector"],
        ),
        ([node("worker-0"), node("worker-1", "")], ["CP265 spec.nodeSelector"]),
        ([node("worker-0", cpus="8000m"), node("worker-1", cpus="8")], []),
        ([node("worker-0", cpus="1k"), node("worker-1", cpus="8")], ["CP265 spec.nodeSelector"]),
        ([node("worker-0"), node("other", cpus="64", zone="a")], []),
    ],
)
def test_nodes(nodes: list[dict[str, Any]], expected: list[str]) -> None:
    assert refusals({}, *nodes) == expected


def test_a_selector_without_labels_selects_all_nodes() -> None:
    spec = {
        "nodeSelector": {},
        "machineConfigLabel": {"a/b": ""},
        "machineConfigPoolSelector": {"c/d": ""},
    }
    assert refusals(spec, node("worker-0", zone="a"), node("worker-1", "arm64", zone="b")) == [
        "CP265 spec.nodeSelector"
    ]


@pytest.mark.parametrize(
    ("tuning", "expected"),
    [
        (
            {"isolatedCpuFreq": 0, "reservedCpuFreq": 1},
            ["CP270 spec.hardwareTuning.isolatedCpuFreq"],
        ),
        (
            {"isolatedCpuFreq": 1, "reservedCpuFreq": 0},
            ["CP270 spec.hardwareTuning.reservedCpuFreq"],
        ),
        ({"reservedCpuFreq": 0}, ["CP270 spec.hardwareTuning"]),
        ({}, ["CP270 spec.hardwareTuning"]),
        (
            {"isolatedCpuFreq": -1, "reservedCpuFreq": 1},
            ["CP276 spec.hardwareTuning.isolatedCpuFreq"],
        ),
    ],
)
def test_frequencies(tuning: dict[str, int], expected: list[str]) -> None:
    assert refusals({"hardwareTuning": tuning}) == expected


POWER, PODS = {"highPowerConsumption": True}, {"perPodPowerManagement": True}


@pytest.mark.parametrize(
    ("hints", "expected"),
    [
        (POWER, []),
        (PODS, []),
        ({**POWER, "perPodPowerManagement": False}, []),
        ({**POWER, **PODS}, ["CP270 spec.workloadHints.highPowerConsumption"]),
        ({"realTime": False}, []),
        ({"mixedCpus": True}, ["CP270 spec.workloadHints.mixedCpus"]),
    ],
)
def test_hints_that_exclude_each_other(hints: dict[str, bool], expected: list[str]) -> None:
    assert refusals({"workloadHints": hints}) == expected


@pytest.mark.parametrize(
    ("device", "expected"),
    [
        ({"vendorID": "0x8086", "deviceID": "0x1572"}, []),
        ({"vendorID": "0x8086"}, []),
        ({"deviceID": "0x1572"}, ["CP269 spec.net.devices.0"]),
        ({"vendorID": "8086"}, ["CP269 spec.net.devices.0"]),
    ],
)
def test_devices(device: dict[str, str], expected: list[str]) -> None:
    refused = refusals({"net": {"userLevelNetworking": True, "devices": [device]}})
    assert [item.removesuffix(",") for item in refused] == expected


@pytest.mark.parametrize(
    ("isolated", "said"), [("1-7", "remove it from"), ("0-7", "remove them from")]
)
def test_cpus_in_two_sets(isolated: str, said: str) -> None:
    [twice] = read_all(profile({"cpu": {"reserved": "0-1", "isolated": isolated}})).diagnostics
    assert twice.code == "CP261"
    assert said in twice.remedy


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"hugepages": {"defaultHugepagesSize": "1G", "pages": [{"size": "1G", "count": 0}]}}, []),
        ({"nodeSelector": {"a/b": "c d"}}, ["CP270 spec.nodeSelector"]),
        ({"nodeSelector": {"a b/c": ""}}, ["CP270 spec.nodeSelector"]),
        (
            {"nodeSelector": {"rack": ""}, "machineConfigLabel": {"a/b": ""}},
            ["CP263 spec.nodeSelector"],
        ),
        (
            {
                "nodeSelector": {"rack": ""},
                "machineConfigLabel": {},
                "machineConfigPoolSelector": {},
            },
            ["CP276 spec.machineConfigLabel", "CP276 spec.machineConfigPoolSelector"],
        ),
        ({"cpu": {"reserved": "0", "isolated": "1", "offlined": ""}}, ["CP276 spec.cpu.offlined"]),
        (
            {"hugepages": {"pages": [{"size": "1G", "count": 2**31}]}},
            ["CP203 spec.hugepages.pages.0.count"],
        ),
    ],
)
def test_values_at_their_edges(spec: dict[str, Any], expected: list[str]) -> None:
    assert refusals(spec) == expected
