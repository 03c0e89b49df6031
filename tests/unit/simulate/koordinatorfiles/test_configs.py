"""ConfigMaps of users, as Koordinator takes them."""

from typing import Any

import pytest

from cpuplan.base.emit import to_yaml
from tests.unit.simulate.koordinatorfiles.given import config_map, found

THRESHOLD = "resource-threshold-config"


def _slo(**data: Any) -> dict[str, Any]:
    return config_map(
        "slo-controller-config", {key.replace("_", "-"): value for key, value in data.items()}
    )


def _scheduler(**arguments: Any) -> dict[str, Any]:
    plugin = {"name": "NodeNUMAResource", "args": arguments}
    profile = {"schedulerName": "koord-scheduler", "pluginConfig": [{"name": "Other"}, plugin]}
    return config_map(
        "koord-scheduler-config",
        {"koord-scheduler-config": to_yaml({"profiles": [profile]}), "other": "{"},
    )


@pytest.mark.parametrize(
    "given",
    [
        _slo(
            resource_threshold_config={
                "clusterStrategy": {"enable": True, "cpuSuppressPolicy": "cfsQuota"}
            },
            colocation_config={"enable": True},
            system_config={},
            resource_qos_config={},
            resource_amplification_config={"resourceAmplificationRatio": {"cpu": 1.5}},
            cpu_burst_config="",
        ),
        _scheduler(),
        _scheduler(defaultCPUBindPolicy="SpreadByPCPUs"),
        config_map("mine", {"resource-threshold-config": "{"}),
    ],
)
def test_configurations_without_a_fault(given: Any) -> None:
    assert found(given) == []


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            _slo(cpu_burst_config={"clusterStrategy": {"cpuBurstPercent": 0}}),
            "CP642: cpu-burst-config of slo-controller-config is refused: CPUBurstPercent must be",
        ),
        (
            _slo(system_config="{"),
            "CP642: system-config of slo-controller-config is refused: Failed to parse System",
        ),
        (
            _slo(
                resource_threshold_config={
                    "nodeStrategies": [
                        {"name": "a", "nodeSelector": {"matchLabels": {"x": "1"}}},
                        {"name": "b", "nodeSelector": {"matchLabels": {"x": "1"}}},
                    ]
                }
            ),
            "CP642: resource-threshold-config of slo-controller-config is refused: strategies a a",
        ),
        (
            _slo(
                system_config={"clusterStrategy": {"totalNetworkBandwidth": "10M"}},
                resource_qos_config={
                    "clusterStrategy": {"lsClass": {"networkQOS": {"ingressRequest": 101}}}
                },
            ),
            "CP642: resource-qos-config of slo-controller-config is refused: ResourceQOSCfg",
        ),
        (
            _slo(resource_threshold_config="null"),
            "CP643: resource-threshold-config of ConfigMap slo-controller-config is null",
        ),
        (
            _slo(resource_treshold_config={}),
            "CP644: Koordinator 1.8 does not read resource-treshold-config of ConfigMap",
        ),
        (
            _slo(resource_amplification_config={"enable": "yes"}),
            "CP648: resource-amplification-config of slo-controller-config passes every check, an",
        ),
        (
            _slo(cpu_normalization_config="{"),
            "CP648: cpu-normalization-config of slo-controller-config passes every check",
        ),
        (
            _slo(cpu_normalization_config={"ratioModel": {"m": {"baseRatio": 0.9}}}),
            "CP648: cpu-normalization-config of slo-controller-config passes every check, and koo",
        ),
        (
            _slo(
                cpu_burst_config={
                    "nodeStrategies": [
                        {"name": "a", "nodeSelector": {"matchLabels": {"x": ""}}, "policy": "on"}
                    ]
                }
            ),
            "CP645: policy of ConfigMap slo-controller-config is on: any text passes, and it is t",
        ),
        (
            _scheduler(defaultCPUBindPolicy="Packed"),
            "CP649: koord-scheduler does not start with ConfigMap koord-scheduler-config: default",
        ),
        (
            _scheduler(scoringStrategy="LeastAllocated"),
            "CP649: koord-scheduler does not start with ConfigMap koord-scheduler-config",
        ),
        (
            _scheduler(defaultCPUBindPolicy=""),
            "CP645: defaultCPUBindPolicy of ConfigMap koord-scheduler-config is",
        ),
        (
            _scheduler(
                numaScoringStrategy={
                    "type": "MostAllocated",
                    "resources": [{"name": "cpu", "weight": 5}],
                }
            ),
            "CP645: numaScoringStrategy.resources of ConfigMap koord-scheduler-config is cpu 5: t",
        ),
    ],
)
def test_faults(given: Any, expected: str) -> None:
    messages = found(given)
    assert len(messages) == 1
    assert messages[0].startswith(expected)


def test_keys_by_release() -> None:
    given = _slo(resource_amplification_config={})
    assert found(given, release=(1, 6)) == []
    assert found(given, release=(1, 5))[0].startswith("CP644")


def test_a_configuration_that_is_no_yaml_is_passed_over() -> None:
    given = config_map("koord-scheduler-config", {"koord-scheduler-config": "a: [", "b": "1"})
    assert found(given) == []
