"""Filter and score of NodeResourceTopologyMatch."""

import pytest

from cpuplan.upstream.kubernetes.errors import PanicError
from cpuplan.upstream.kubernetes.qos import BEST_EFFORT, BURSTABLE, GUARANTEED
from cpuplan.upstream.nrt.filter import judge_node
from cpuplan.upstream.nrt.pluginhelpers import TopologyManager, read_topology_manager
from cpuplan.upstream.nrt.score import score_node
from tests.unit.upstream.nrt.objects import Json, nrt, pod, zone

NODE = {"cpu": "16", "memory": "16Gi", "vendor.com/nic": "2", "vendor.com/card": "1"}
SMALL = {"cpu": "2", "memory": "1Gi"}
LARGE = {"cpu": "10", "memory": "1Gi"}
TWO = (zone("node-0", cpu="4", memory="8Gi"), zone("node-1", cpu="8", memory="8Gi", nic="2"))


@pytest.mark.parametrize(
    ("policies", "attributes", "manager"),
    [
        ([], {}, TopologyManager("none", "container", 8)),
        (["SingleNUMANodePodLevel"], {}, TopologyManager("single-numa-node", "pod")),
        (["Restricted"], {}, TopologyManager()),
        (["None", "SingleNUMANodePodLevel"], {}, TopologyManager()),
        (["SingleNUMANodePodLevel"], {"Policy": "none"}, TopologyManager("none", "pod")),
        ([], {"Policy": "Restricted", "Scope": "Pod"}, TopologyManager()),
        ([], {"MaxNUMANodes": "1025"}, TopologyManager(max_numa_nodes=1024)),
        ([], {"MaxNUMANodes": "1"}, TopologyManager()),
        ([], {"MaxNUMANodes": "8.0"}, TopologyManager()),
    ],
)
def test_topology_manager(
    policies: list[str], attributes: dict[str, str], manager: TopologyManager
) -> None:
    given = [{"name": f"topologyManager{key}", "value": text} for key, text in attributes.items()]
    assert read_topology_manager({"topologyPolicies": policies, "attributes": given}) == manager


@pytest.mark.parametrize(
    ("requests", "qos", "reason"),
    [
        pytest.param([SMALL], GUARANTEED, None, id="fits"),
        pytest.param([LARGE], GUARANTEED, "cannot align container", id="on no NUMA node alone"),
        pytest.param([LARGE], BURSTABLE, None, id="CPUs that are shared"),
        pytest.param(
            [SMALL | {"vendor.com/nic": "3"}], BURSTABLE, "cannot align container", id="devices"
        ),
        pytest.param(
            [SMALL | {"vendor.com/card": "1"}], GUARANTEED, None, id="device without a place"
        ),
        pytest.param(
            [SMALL | {"vendor.com/gone": "1"}], GUARANTEED, "cannot align container", id="not there"
        ),
        pytest.param(
            [{"vendor.com/nic": "3"}], BEST_EFFORT, "cannot align container", id="only devices"
        ),
        pytest.param([], BEST_EFFORT, None, id="nothing"),
        pytest.param([{"cpu": "4"}] * 3, GUARANTEED, None, id="one after the other"),
        pytest.param([{"cpu": "4"}] * 4, GUARANTEED, "cannot align container", id="one too many"),
    ],
)
def test_filter(requests: list[Json], qos: str, reason: str | None) -> None:
    verdict = judge_node(nrt(*TWO), NODE, pod(*requests), qos)
    assert verdict.reasons == ((reason,) if reason else ())


def test_init_containers_are_looked_at_alone() -> None:
    reasons = [
        judge_node(nrt(*TWO), NODE, pod(SMALL, init=(requests,)), GUARANTEED).reasons
        for requests in ({"cpu": "8"}, {"cpu": "9"})
    ]
    assert reasons == [(), ("cannot align init container",)]


def test_pods_scope_wants_one_numa_node_for_all() -> None:
    nodes = nrt(*TWO, scope="pod")
    verdicts = [
        judge_node(nodes, NODE, pod(*[{"cpu": "4"}] * count), GUARANTEED) for count in (2, 3)
    ]
    assert [verdict.code for verdict in verdicts] == ["Success", "Unschedulable"]
    assert verdicts[1].reasons == ("cannot align pod",)


@pytest.mark.parametrize("policy", ["none", "best-effort", "restricted"])
def test_bug_other_policies_pass(policy: str) -> None:
    """A kubelet with `restricted` may refuse the pod (scheduler-plugins issue 885)."""
    verdict = judge_node(nrt(*TWO, policy=policy), NODE, pod(LARGE), GUARANTEED)
    assert verdict.code == "Success"


def test_bug_zones_of_one_name_are_taken_from_both() -> None:
    nodes = nrt(zone("node-0", cpu="4"), zone("node-0", cpu="2"))
    verdict = judge_node(nodes, NODE, pod({"cpu": "3"}), GUARANTEED)
    assert verdict.reasons == (
        "inconsistent resource accounting",
        'resource "cpu" request 3 exceeds NUMA 0 availability 2',
    )


@pytest.mark.parametrize(
    ("strategy", "score"),
    [
        ("LeastAllocated", 68),  # node-0: (50 + 87) // 2, node-1: (75 + 87) // 2
        ("MostAllocated", 18),  # node-0: (50 + 12) // 2, node-1: (25 + 12) // 2
        ("BalancedAllocation", 92),
        ("LeastNUMANodes", 94),  # one of eight, and no other is nearer
    ],
)
def test_scores(strategy: str, score: int) -> None:
    assert score_node(nrt(*TWO), pod(SMALL), GUARANTEED, strategy, {}) == score


def test_weights_below_one_count_as_one() -> None:
    scores = {
        score_node(nrt(*TWO), pod(SMALL), GUARANTEED, "LeastAllocated", {"cpu": weight})
        for weight in (-3, 0, 1)
    }
    assert len(scores) == 1


@pytest.mark.parametrize(
    ("requests", "score"),
    [
        pytest.param(SMALL, 94, id="one NUMA node"),
        pytest.param(LARGE, 82, id="the two nearest"),
        pytest.param({"cpu": "20", "memory": "1Gi"}, 70, id="three"),
        pytest.param({"cpu": "99", "memory": "1Gi"}, 0, id="too much"),
        pytest.param({"vendor.com/card": "1"}, 100, id="on no NUMA node"),
        pytest.param(SMALL | {"ephemeral-storage": "1Gi"}, 0, id="storage is in no zone"),
    ],
)
def test_least_numa_nodes(requests: Json, score: int) -> None:
    costs = ((10, 20, 30), (20, 10, 30), (30, 30, 10))
    zones = [zone(f"node-{node}", cpu="8", memory="8Gi", costs=costs[node]) for node in range(3)]
    given = nrt(*zones, policy="restricted")
    assert score_node(given, pod(requests), GUARANTEED, "LeastNUMANodes", {}) == score


@pytest.mark.parametrize(
    "zones",
    [
        pytest.param((zone("node-0", cpu="4"), zone("node-2", cpu="4")), id="a gap"),
        pytest.param((zone("node-0", cpu="4"), zone("node-64", cpu="4")), id="the number 64"),
        pytest.param((zone("s", "Socket"), zone("node-1", cpu="4")), id="another type first"),
    ],
)
def test_bug_numbers_that_crash_the_scheduler(zones: tuple[Json, ...]) -> None:
    with pytest.raises(PanicError, match="index out of range"):
        score_node(nrt(*zones), pod(SMALL), GUARANTEED, "LeastAllocated", {})


def test_bug_containers_without_requests_crash_the_scheduler() -> None:
    """The requests may be the pod's own; the plugin divides by the number of resources."""
    with pytest.raises(PanicError, match="divide by zero"):
        score_node(nrt(*TWO), pod({}), GUARANTEED, "LeastAllocated", {})


def test_bug_least_numa_nodes_takes_numbers_for_places() -> None:
    given = nrt(zone("node-1", cpu="4"), zone("node-3", cpu="4"))
    with pytest.raises(PanicError, match="index out of range"):
        score_node(given, pod({"cpu": "6"}), GUARANTEED, "LeastNUMANodes", {})
