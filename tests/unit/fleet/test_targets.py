"""Targets: pools that may be split, fields that a platform does not read."""

from typing import Any

import pytest

from cpuplan.fleet import targets
from cpuplan.language.model import vocabulary
from cpuplan.language.model.intent import IntentSpec

POOL = {"platform": "openshift", "version": "4.20", "pool": "du"}
KUBERNETES = {"platform": "kubernetes", "version": "1.33"}


def spec(*given: dict[str, Any]) -> IntentSpec:
    pools = {"reserved": {"cores": 1}}
    return IntentSpec.model_validate({"selector": {}, "targets": list(given), "pools": pools})


@pytest.mark.parametrize(
    ("target", "wanted"),
    [
        ({**POOL, "mixedHardware": "split"}, True),
        (POOL, False),
        ({**POOL, "mixedHardware": "split", "pool": "master"}, False),
        ({**POOL, "mixedHardware": "split", "nodeSelector": {"site": "a"}}, False),
        ({**POOL, "mixedHardware": "split", "machineConfigLabel": {"role": "a"}}, False),
    ],
)
def test_a_pool_is_split_where_its_parts_can_differ(target: dict[str, Any], wanted: bool) -> None:
    [only] = spec(target).targets
    assert targets.is_split(only) is wanted


def test_one_target_of_several_gets_the_pool_of_a_part() -> None:
    parts = targets.split(spec(POOL, {**POOL, "pool": "cu"}, {**POOL, "pool": "ru"}), 1, "xeon")
    assert [target.pool for target in parts.targets] == ["du", "cu-xeon", "ru"]


@pytest.mark.parametrize(
    ("clusters", "index"),
    [([["a"], ["b"], []], 1), ([["a"], [], ["b"]], 1), ([["a"], ["c"]], None)],
)
def test_the_first_target_for_a_cluster(clusters: list[list[str]], index: int | None) -> None:
    given = [{**POOL, "clusters": names} if names else POOL for names in clusters]
    chosen = targets.target_for(spec(*given), "b")
    assert (chosen and chosen[0]) == index


@pytest.mark.parametrize(
    ("target", "labels"),
    [
        (POOL, {"node-role.kubernetes.io/du": ""}),
        ({**POOL, "nodeSelector": {"site": "a"}}, {"site": "a"}),
    ],
)
def test_labels_of_the_nodes_of_a_pool(target: dict[str, Any], labels: dict[str, str]) -> None:
    assert vocabulary.node_selector(spec(target).targets[0]) == labels


@pytest.mark.parametrize(
    ("target", "wanted"),
    [
        (POOL, True),
        ({**KUBERNETES, "pool": "du"}, False),
        ({**POOL, "mixedHardware": "split"}, False),
        ({**POOL, "controlPlaneTopology": "External", "mode": "performanceProfile"}, False),
    ],
)
def test_nodes_of_one_machine_config_pool_need_its_labels(
    target: dict[str, Any], wanted: bool
) -> None:
    assert targets._needs_labels(spec(target).targets[0]) is wanted
