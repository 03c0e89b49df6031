"""Pods on a node, from PreFilter to PreBind. Rules: plugin.go and topology_hint.go."""

import json
from typing import Any

import pytest

from cpuplan.upstream.koordinator.nodenumaresource.node_allocation import NodeObject, SchedulerNode
from cpuplan.upstream.koordinator.nodenumaresource.plugin import (
    Admission,
    Annotations,
    pre_bind,
    pre_filter,
    reserve,
    score_of,
)
from cpuplan.upstream.koordinator.nodenumaresource.scoring import PluginArgs
from cpuplan.upstream.koordinator.nodenumaresource.topology_options import read_topology_options
from cpuplan.upstream.koordinator.nodenumaresource.util import StatusError
from cpuplan.upstream.kubernetes.errors import PanicError
from cpuplan.upstream.kubernetes.pod import Pod, read_pod, read_resources

ARGS = PluginArgs()
LSR = {"koordinator.sh/qosClass": "LSR"}
_DOMAIN = "node.koordinator.sh/"
SINGLE = {f"{_DOMAIN}numa-topology-policy": "SingleNUMANode"}


def _nrt() -> dict[str, Any]:
    """Two NUMA nodes of 8 CPUs; siblings have adjacent numbers."""
    cpus = [
        {"id": cpu, "core": cpu // 2, "socket": cpu // 8, "node": cpu // 8} for cpu in range(16)
    ]
    resources = [{"name": "cpu", "allocatable": "8"}, {"name": "memory", "allocatable": "8Gi"}]
    zones = [{"name": f"node-{node}", "type": "Node", "resources": resources} for node in (0, 1)]
    annotations = {f"{_DOMAIN}cpu-topology": json.dumps({"detail": cpus})}
    return {"metadata": {"annotations": annotations}, "zones": zones}


def _node(labels: dict[str, str] | None = None, **annotations: str) -> SchedulerNode:
    keys = {f"{_DOMAIN}{key.replace('_', '-')}": annotations[key] for key in annotations}
    allocatable = read_resources({"cpu": "16", "memory": "16Gi", "pods": "110"})
    options = read_topology_options(_nrt())
    return SchedulerNode(NodeObject("worker-0", labels or {}, keys, allocatable, options))


def _pod(cpus: str, labels: dict[str, str] | None = None, **annotations: Any) -> Pod:
    keys = {
        f"scheduling.koordinator.sh/{key.replace('_', '-')}": json.dumps(annotations[key])
        for key in annotations
    }
    resources = {"requests": {"cpu": cpus, "memory": "1Gi"}}
    labels = LSR if labels is None else labels
    metadata = {"uid": f"pod-{cpus}", "labels": labels, "annotations": keys}
    return read_pod(
        {"metadata": metadata, "spec": {"containers": [{"name": "c", "resources": resources}]}}
    )


def _bind(node: SchedulerNode, pod: Pod, args: PluginArgs = ARGS) -> Annotations:
    state = pre_filter(pod, args)
    assert state is not None
    admission = Admission(node, state, args)
    admission.filter()
    written = pre_bind(admission, reserve(admission))
    node.requests[pod.uid] = state.requests
    return written


def _told(written: Annotations) -> list[Any]:
    return [value and value.as_json() for value in written]


def test_an_lsr_pod_gets_cpus_and_the_policy_it_left_open() -> None:
    assert _told(_bind(_node(), _pod("4"))) == [
        {"preferredCPUBindPolicy": "FullPCPUs"},
        {"cpuset": "0-3"},
    ]


def test_its_numa_node_is_written_under_a_numa_policy() -> None:
    node = _node(SINGLE)
    _bind(node, _pod("2"))
    zones = [{"node": 1, "resources": {"cpu": "6", "memory": "1Gi"}}]
    assert _told(_bind(node, _pod("6")))[1] == {"cpuset": "8-13", "numaNodeResources": zones}


@pytest.mark.parametrize(
    ("labels", "annotations"),
    [
        pytest.param({}, {}, id="without a class"),
        pytest.param({"koordinator.sh/qosClass": "LS"}, {}, id="LS"),
        pytest.param({**LSR, "koordinator.sh/priority-class": "koord-batch"}, {}, id="batch"),
        pytest.param(
            LSR,
            {"resource_spec": {"preferredCPUBindPolicy": "ConstrainedBurst"}},
            id="ConstrainedBurst binds nothing",
        ),
    ],
)
def test_pods_without_cpus_of_their_own(labels: dict[str, str], annotations: Any) -> None:
    assert _bind(_node(), _pod("2", labels, **annotations)) == Annotations()


def test_a_node_with_a_bind_policy_binds_every_pod() -> None:
    node = _node({f"{_DOMAIN}cpu-bind-policy": "FullPCPUsOnly"})
    assert _told(_bind(node, _pod("2", {}))) == [
        {"requiredCPUBindPolicy": "FullPCPUs"},
        {"cpuset": "0-1"},
    ]
    with pytest.raises(StatusError, match="the requested CPUs must be integer"):
        _bind(node, _pod("1500m", {}))


@pytest.mark.parametrize(
    ("labels", "pod", "reason"),
    [
        ({}, _pod("500m"), "the requested CPUs must be integer"),
        ({}, _pod("17"), "not enough cpus available to satisfy request"),
        (SINGLE, _pod("9"), "Unaligned NUMA Hint cause cpu prefer [11] among [11],memory prefer"),
        (SINGLE, _pod("17"), "Unsatisfied NUMA cpu, Unsatisfied NUMA memory"),
        (
            SINGLE,
            _pod("2", numa_topology_spec={"numaTopologyPolicy": "Restricted"}),
            "node(s) NUMA Topology policy not match",
        ),
        (
            {f"{_DOMAIN}cpu-bind-policy": "SpreadByPCPUs"},
            _pod("2", resource_spec={"requiredCPUBindPolicy": "FullPCPUs"}),
            "node(s) cpu bind policy conflicts with pod's required cpu bind policy",
        ),
        (
            {},
            _pod("3", resource_spec={"requiredCPUBindPolicy": "FullPCPUs"}),
            "node(s) requested cpus not multiple cpus per core",
        ),
    ],
)
def test_refusals(labels: dict[str, str], pod: Pod, reason: str) -> None:
    with pytest.raises(StatusError) as refusal:
        _bind(_node(labels), pod)
    assert str(refusal.value).startswith(reason)


def test_nodes_that_the_scheduler_does_not_know() -> None:
    bare = SchedulerNode(NodeObject("bare", {}, {}, read_resources({"cpu": "16"})))
    with pytest.raises(StatusError, match="invalid CPU Topology"):
        _bind(bare, _pod("2"))
    assert _bind(bare, _pod("2", {})) == Annotations()
    aligned = SchedulerNode(bare.node._replace(labels=SINGLE))
    with pytest.raises(StatusError, match="missing NUMA resources"):
        _bind(aligned, _pod("2", {}))


def test_the_documented_label_none_crashes_the_scheduler() -> None:
    node = _node({f"{_DOMAIN}numa-topology-policy": "None"})
    with pytest.raises(PanicError, match="nil pointer dereference"):
        _bind(node, _pod("2"))


def test_amplified_cpus() -> None:
    """A bound CPU counts twice at a ratio of 2: after 7 of them 2 of 16 are left."""
    node = _node(resource_amplification_ratio='{"cpu": 2}')
    _bind(node, _pod("7"))
    for pod in (_pod("2"), _pod("3", {})):
        with pytest.raises(StatusError, match="Insufficient amplified cpu"):
            _bind(node, pod)
    _bind(node, _pod("2", {}))


def test_scores() -> None:
    node = _node()
    state = pre_filter(_pod("4"), ARGS)
    assert state is not None
    free = score_of(Admission(node, state, ARGS))
    _bind(node, _pod("8"))
    assert (free, score_of(Admission(node, state, ARGS))) == (84, 56)


def test_pods_without_requests_are_not_looked_at() -> None:
    pod = read_pod({"metadata": {}, "spec": {"containers": [{"name": "c"}]}})
    assert pre_filter(pod, ARGS) is None
