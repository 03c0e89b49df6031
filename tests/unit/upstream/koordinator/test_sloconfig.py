"""Admission of slo-controller-config."""

import json
from typing import Any

import pytest

from cpuplan.upstream.koordinator.webhook.slo_config_plugin import SloConfigError, check
from cpuplan.upstream.kubernetes.errors import PanicError

_GROUPS = "resource-threshold-config"


def _refusal(key: str, value: Any, **more: Any) -> str:
    with pytest.raises(SloConfigError) as raised:
        check({key: json.dumps(value), **more})
    assert raised.value.key == key
    return str(raised.value)


def _group(name: str, selector: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "nodeSelector": selector, **more}


@pytest.mark.parametrize(
    ("strategy", "field", "text"),
    [
        ({"cpuSuppressThresholdPercent": 101}, "CPUSuppressThresholdPercent", "100 or less"),
        ({"cpuSuppressThresholdPercent": -1}, "CPUSuppressThresholdPercent", "0 or greater"),
        ({"cpuEvictTimeWindowSeconds": 0}, "CPUEvictTimeWindowSeconds", "greater than 0"),
        (
            {"memoryEvictLowerPercent": 60},
            "MemoryEvictLowerPercent",
            "less than MemoryEvictThresholdPercent",
        ),
        (
            {"allocatableEvictPriorityThreshold": 8000},
            "AllocatableEvictPriorityThreshold",
            "7,999 or less",
        ),
    ],
)
def test_limits_of_fields(strategy: Any, field: str, text: str) -> None:
    message = {
        f"ResourceThresholdCfg.ClusterStrategy.{field}": f"{field} must be {text}",
    }
    body = json.dumps({"reason": "ConfigParamInvalid", "message": message}, separators=(",", ":"))
    assert _refusal(_GROUPS, {"clusterStrategy": strategy}) == f"___{body}___"


@pytest.mark.parametrize(
    ("key", "value", "path"),
    [
        (
            "colocation-config",
            {"nodeConfigs": [_group("a", {"matchLabels": {"x": "1"}}, degradeTimeMinutes=0)]},
            "ColocationCfg.NodeConfigs[0].ColocationStrategy.DegradeTimeMinutes",
        ),
        (
            "cpu-burst-config",
            {"nodeStrategies": [_group("a", {"matchLabels": {"x": "1"}}, cpuBurstPercent=0)]},
            "CPUBurstCfg.NodeStrategies[0].CPUBurstStrategy.CPUBurstConfig.CPUBurstPercent",
        ),
        (
            "system-config",
            {"clusterStrategy": {"watermarkScaleFactor": 401}},
            "SystemCfg.ClusterStrategy.WatermarkScaleFactor",
        ),
    ],
)
def test_paths_name_embedded_structs(key: str, value: Any, path: str) -> None:
    assert f'"{path}"' in _refusal(key, value)


def test_what_is_only_read_at_run_time_passes() -> None:
    check(
        {
            _GROUPS: '{"clusterStrategy": {"cpuSuppressPolicy": "bogus"}}',
            "resource-amplification-config": '{"enable": "yes"}',
            "cpu-normalization-config": "{",
        }
    )


def test_resource_qos_needs_a_system_config() -> None:
    text = _refusal("resource-qos-config", {"clusterStrategy": {}})
    assert "Failed to parse System config" in text
    check({"resource-qos-config": "{}", "system-config": "{}"})


@pytest.mark.parametrize("key", ["resource-threshold-config", "colocation-config"])
def test_null_crashes_the_webhook(key: str) -> None:
    with pytest.raises(PanicError):
        check({key: "null"})


def test_types_are_named_with_their_path() -> None:
    text = _refusal(_GROUPS, {"nodeStrategies": [{"enable": "true"}]})
    assert "Go struct field ResourceThresholdCfg.nodeStrategies.0.enable of type bool" in text


def test_what_an_update_leaves_alone_is_not_checked() -> None:
    bad = {_GROUPS: '{"clusterStrategy": {"cpuSuppressThresholdPercent": 165}}'}
    check(bad, bad)
    with pytest.raises(SloConfigError):
        check(bad, {})


@pytest.mark.parametrize(
    "second",
    [
        {"matchLabels": {"x": "1", "y": "2"}},
        {"matchExpressions": [{"key": "x", "operator": "In", "values": ["0", "1"]}]},
        {"matchExpressions": [{"key": "x", "operator": "Exists"}]},
        {"matchExpressions": [{"key": "x", "operator": "NotIn", "values": ["2"]}]},
        {"matchExpressions": [{"key": "y", "operator": "DoesNotExist"}]},
    ],
)
def test_groups_must_not_overlap(second: Any) -> None:
    groups = [_group("a", {"matchLabels": {"x": "1"}}), _group("b", second)]
    assert '"reason":"NodeStrategiesOverlap"' in _refusal(_GROUPS, {"nodeStrategies": groups})


def test_a_node_must_not_be_in_two_groups() -> None:
    groups = [_group("a", {"matchLabels": {"x": "1"}}), _group("b", {"matchLabels": {"y": "1"}})]
    data = {_GROUPS: json.dumps({"nodeStrategies": groups})}
    check(data, nodes={"n1": {"x": "1"}, "n2": {"y": "1"}})
    with pytest.raises(SloConfigError, match=r'"exampleNodes":\["n3"\]'):
        check(data, nodes={"n3": {"x": "1", "y": "1"}})


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        ({}, "NodeSelector must not empty error!"),
        (
            {"matchExpressions": [{"key": "x", "operator": "Near"}]},
            '"Near\\" is not a valid label selector operator',
        ),
        ({"matchExpressions": [{"key": "x", "operator": "In"}]}, "values set can't be empty"),
        (
            {"matchExpressions": [{"key": "x", "operator": "Exists", "values": ["1"]}]},
            "values set must be empty for exists",
        ),
        ({"matchLabels": {"a b": "1"}}, "name part must consist of alphanumeric"),
        ({"matchLabels": {"A/b": "1"}}, "prefix part a lowercase RFC 1123 subdomain"),
        ({"matchLabels": {"/b": "1"}}, "prefix part must be non-empty"),
        ({"matchLabels": {"x": "a b"}}, "a valid label must be an empty string"),
        ({"matchLabels": {"x": "a" * 64}}, "must be no more than 63 bytes"),
        ({"matchLabels": {"x" * 64: "a"}}, "name part must be no more than 63 bytes"),
    ],
)
def test_selectors_that_are_refused(selector: Any, text: str) -> None:
    assert text in _refusal(_GROUPS, {"nodeStrategies": [_group("a", selector)]})


def _network(**values: Any) -> dict[str, Any]:
    return {"clusterStrategy": {"lsClass": {"networkQOS": values}, "beClass": {"networkQOS": {}}}}


@pytest.mark.parametrize(
    ("values", "bandwidth", "text"),
    [
        ({"ingressLimit": 101}, "", "LSClass.IngressLimit: Invalid value: 101: must be percentage"),
        ({"egressLimit": "x"}, "", 'LSClass.EgressLimit: Invalid value: \\"x\\": quantities must'),
        (
            {"ingressRequest": 10, "egressRequest": "5M"},
            "",
            "only one type can be used for percentages or quantity in clusterStrategy",
        ),
        ({"egressRequest": "101"}, "", "ClusterStrategy total net bandwidth percentage already"),
        (
            {"egressRequest": 60},
            "50",
            "total net bandwidth over total network bandwidth in clusterStrategy",
        ),
    ],
)
def test_shares_of_the_network(values: Any, bandwidth: str, text: str) -> None:
    system = {"clusterStrategy": {"totalNetworkBandwidth": bandwidth}} if bandwidth else {}
    refusal = _refusal(
        "resource-qos-config", _network(**values), **{"system-config": json.dumps(system)}
    )
    assert text.replace('\\"', '"') in refusal


def test_shares_of_groups_of_nodes() -> None:
    selector = {"matchLabels": {"x": "1"}}
    group = _group("a", selector, lsClass={"networkQOS": {"ingressRequest": 60}})
    system = {"nodeStrategies": [_group("b", selector, totalNetworkBandwidth="50")]}
    refusal = _refusal(
        "resource-qos-config",
        {"nodeStrategies": [group]},
        **{"system-config": json.dumps(system)},
    )
    assert refusal.endswith("already over total network bandwidth in cfg.NodeStrategies[0]")
    with pytest.raises(PanicError):
        check(
            {
                "resource-qos-config": json.dumps({"nodeStrategies": [group]}),
                "system-config": json.dumps({"nodeStrategies": [_group("b", selector)]}),
            }
        )


def test_durations_are_read() -> None:
    check({"colocation-config": '{"metricAggregatePolicy": {"durations": ["5m"]}}'})
    text = _refusal("colocation-config", {"metricAggregatePolicy": {"durations": ["5 m"]}})
    assert "time: unknown unit" in text
