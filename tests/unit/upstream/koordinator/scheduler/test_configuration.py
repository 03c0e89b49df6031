"""What configures the scheduler: its arguments, nodes' labels, NodeResourceTopologies."""

from typing import Any

import pytest

from cpuplan.upstream.koordinator.extension.numa_aware import CpuManagerPolicy
from cpuplan.upstream.koordinator.koordlet.states_noderesourcetopology import topology_policy
from cpuplan.upstream.koordinator.nodenumaresource.scoring import read_args
from cpuplan.upstream.koordinator.nodenumaresource.topology_options import (
    numa_policy,
    read_topology_options,
)
from cpuplan.upstream.koordinator.nodenumaresource.util import bind_policy
from cpuplan.upstream.kubernetes.bits import to_text
from cpuplan.upstream.kubernetes.errors import KubeletError, PanicError

_LABEL = "node.koordinator.sh/cpu-bind-policy"
_CPUS = '{"detail": [{"id": 0}, {"id": 1, "core": 1}, {"id": 2, "core": 2}, {"id": 3, "core": 3}]}'
_RULE = "must specified CPU bind policy FullPCPUs or SpreadByPCPUs"
_RANGE = "not in valid range (0, 100]"
_STATIC = CpuManagerPolicy("static", (("full-pcpus-only", "true"),))


def test_default_arguments() -> None:
    args = read_args({})
    strategy = {
        "type": "LeastAllocated",
        "resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}],
    }
    assert args.as_json() == {
        "defaultCPUBindPolicy": "FullPCPUs",
        "scoringStrategy": strategy,
        "numaScoringStrategy": strategy,
    }


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (
            {"defaultCPUBindPolicy": "Default"},
            f'defaultCPUBindPolicy: Invalid value: "Default": {_RULE}',
        ),
        ({"scoringStrategy": {}}, "scoring strategy  is not supported"),
        (
            {"numaScoringStrategy": {"type": "BalancedAllocation"}},
            "numa scoring strategy BalancedAllocation is not supported",
        ),
        (
            {"scoringStrategy": {"resources": [{"name": "cpu", "weight": 101}]}},
            f"resources[0].weight: Invalid value: 101: resource weight of cpu {_RANGE}",
        ),
    ],
)
def test_arguments_with_which_the_scheduler_does_not_start(
    given: dict[str, Any], error: str
) -> None:
    with pytest.raises(KubeletError) as refusal:
        read_args(given)
    assert str(refusal.value) == error


@pytest.mark.parametrize(
    ("label", "kubelet", "required", "expected"),
    [
        ("", None, "", ("SpreadByPCPUs", False)),
        ("FullPCPUsOnly", None, "", ("FullPCPUs", True)),
        ("SpreadByPCPUs", _STATIC, "", ("FullPCPUs", True)),
        ("SpreadByPCPUs", _STATIC._replace(policy="none"), "", ("SpreadByPCPUs", True)),
        ("FullPCPUsOnly", None, "SpreadByPCPUs", ("SpreadByPCPUs", True)),
        ("FullPCPUs", None, "", ("SpreadByPCPUs", False)),
    ],
)
def test_bind_policy(
    label: str, kubelet: CpuManagerPolicy | None, required: str, expected: tuple[str, bool]
) -> None:
    assert bind_policy({_LABEL: label}, kubelet, required, "SpreadByPCPUs") == expected


def test_what_koordlet_says_of_restricted_its_scheduler_does_not_know() -> None:
    written = [topology_policy(policy, "pod") for policy in ("best-effort", "restricted")]
    assert numa_policy(written) == ""
    assert numa_policy([topology_policy("single-numa-node", "pod")]) == "SingleNUMANode"
    assert topology_policy("single-numa-node", "") == "None"


def _nrt(zone: str = "node-0", **annotations: str) -> dict[str, Any]:
    resources = [{"name": "cpu", "allocatable": "4", "available": "1"}]
    named = {
        f"node.koordinator.sh/{key.replace('_', '-')}": annotations[key] for key in annotations
    }
    return {
        "metadata": {"annotations": {"node.koordinator.sh/cpu-topology": _CPUS, **named}},
        "zones": [{"name": zone, "type": "Node", "resources": resources}],
    }


def test_reserved_cpus_are_taken_off_their_zone() -> None:
    options = read_topology_options(
        _nrt(
            reservation='{"reservedCPUs": "0"}',
            system_qos_resource='{"cpuset": "3"}',
            pod_cpu_allocs='[{"uid": "g", "cpuset": "1"}]',
        )
    )
    assert to_text(options.reserved) == "0,3"
    assert [zone.as_json() for zone in options.numa_nodes] == [
        {"node": 0, "resources": {"cpu": "2"}}
    ]


@pytest.mark.parametrize("zone", ["node0", "node-0-1", "socket-0", "node-x"])
def test_other_zones_are_left_out(zone: str) -> None:
    assert read_topology_options(_nrt(zone)).numa_nodes == ()


def test_an_unreadable_topology_crashes_the_scheduler() -> None:
    with pytest.raises(PanicError, match="nil pointer dereference"):
        read_topology_options(_nrt(cpu_topology="x"))


def test_other_annotations_that_cannot_be_read_count_as_absent() -> None:
    options = read_topology_options(_nrt(reservation="[", resource_amplification_ratio="x"))
    assert (options.reserved, options.ratios) == (0, None)
