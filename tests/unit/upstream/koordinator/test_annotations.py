"""Values of annotations: read with Koordinator's errors."""

import pytest

from cpuplan.upstream.koordinator.extension import constants, node, numa_aware
from cpuplan.upstream.koordinator.util import parse_cpus
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.json import dump


def test_a_pod_says_how_its_cpus_are_bound() -> None:
    text = '{"requiredCPUBindPolicy": "FullPCPUs", "PreferredCPUExclusivePolicy": "PCPULevel"}'
    spec = numa_aware.read_resource_spec({constants.RESOURCE_SPEC: text})
    assert spec == numa_aware.ResourceSpec("FullPCPUs", "", "PCPULevel")
    assert numa_aware.read_resource_spec({}) == numa_aware.ResourceSpec()


def test_a_status_is_written_as_it_was_read() -> None:
    text = '{"cpuset":"0-3","numaNodeResources":[{"node":1,"resources":{"memory":"8Gi"}}]}'
    assert (
        dump(numa_aware.read_resource_status({constants.RESOURCE_STATUS: text}).as_json()) == text
    )


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ('{"resources": {"cpu": "2500m"}}', 3),
        ('{"resources": {"cpu": 2}}', 2),
        ('{"resources": {"cpu": "2"}, "reservedCPUs": "0"}', 0),
        ('{"resources": {"cpu": "-1"}}', 0),
        ('{"resources": {"cpu": null}}', 0),
    ],
)
def test_a_reservation_names_cpus_or_how_many(text: str, count: int) -> None:
    assert node.reserved_cpus({constants.RESERVATION: text})[1] == count


@pytest.mark.parametrize("text", ["null", " null ", ""])
def test_no_reservation(text: str) -> None:
    assert node.read_reservation({constants.RESERVATION: text}) is None


def test_the_cpus_of_system_pods_are_theirs_alone_by_default() -> None:
    assert node.read_system_qos({}).is_exclusive
    text = '{"cpuset": "0-1", "cpusetExclusive": false}'
    assert not node.read_system_qos({constants.SYSTEM_QOS_RESOURCE: text}).is_exclusive


def test_the_example_of_the_proposal_is_an_error_today() -> None:
    text = '[{"name": "static-guaranteed-pod", "cpu": "4-8", "managedByKubelet": "true"}]'
    with pytest.raises(KubeletError) as raised:
        numa_aware.read_pod_cpu_allocs({constants.POD_CPU_ALLOCS: text})
    assert str(raised.value) == (
        "json: cannot unmarshal string into Go struct field "
        "PodCPUAllocs.0.managedByKubelet of type bool"
    )


def test_only_whole_entries_of_the_kubelet_count() -> None:
    allocs = [
        numa_aware.PodCpuAlloc(uid="a", cpuset="0-1", managed_by_kubelet=True),
        numa_aware.PodCpuAlloc(uid="b", cpuset="2-3"),
        numa_aware.PodCpuAlloc(cpuset="4-5", managed_by_kubelet=True),
        numa_aware.PodCpuAlloc(uid="c", cpuset="bad", managed_by_kubelet=True),
    ]
    assert numa_aware.kubelet_bound(allocs) == parse_cpus("0-1")


@pytest.mark.parametrize(
    ("label", "option", "policy"),
    [
        ("", "true", "FullPCPUsOnly"),
        ("SpreadByPCPUs", "true", "FullPCPUsOnly"),
        ("SpreadByPCPUs", "True", "SpreadByPCPUs"),
        ("None", "false", "None"),
        ("PCPUOnly", "false", "None"),
    ],
)
def test_the_label_or_the_kubelet_bind_cpus(label: str, option: str, policy: str) -> None:
    kubelet = numa_aware.CpuManagerPolicy("static", (("full-pcpus-only", option),))
    assert numa_aware.node_bind_policy({constants.CPU_BIND_POLICY: label}, kubelet) == policy


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("0-", 'strconv.ParseInt: parsing "": invalid syntax'),
        ("0-1-2", "invalid format: 0-1-2"),
        ("0-4097", "end 4097 exceed the maximum available CPU count: 4096"),
        ("2147483648", 'strconv.ParseInt: parsing "2147483648": value out of range'),
    ],
)
def test_cpu_lists_that_are_refused(text: str, problem: str) -> None:
    with pytest.raises(KubeletError) as raised:
        parse_cpus(text)
    assert str(raised.value) == problem


def test_a_range_that_runs_backwards_is_empty() -> None:
    assert parse_cpus("3-1,7,7,+9") == 1 << 7 | 1 << 9


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("x", 'parse cpu normalization ratio failed, err: strconv.ParseFloat: parsing "x": '),
        ("1e999", "value out of range"),
        ("-0.5", "illegal cpu normalization ratio: -0.5"),
    ],
)
def test_normalization_ratios_that_are_refused(text: str, problem: str) -> None:
    with pytest.raises(KubeletError) as raised:
        node.read_normalization_ratio({constants.NORMALIZATION_RATIO: text})
    assert problem in str(raised.value)


def test_normalization_ratio() -> None:
    assert node.read_normalization_ratio({constants.NORMALIZATION_RATIO: "0x1p1"}) == 2
    assert node.read_normalization_ratio({}) == -1


def test_ratios_have_two_decimals() -> None:
    text = '{"memory": 1.5, "cpu": 1.234}'
    ratios = node.read_ratios({constants.AMPLIFICATION_RATIO: text})
    assert ratios is not None
    assert dump(node.ratios_json(ratios)) == '{"cpu":1.23,"memory":1.5}'
