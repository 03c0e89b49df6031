"""What koordlet reports and writes on a node."""

import json

import pytest

from cpuplan.upstream.koordinator.extension import constants
from cpuplan.upstream.koordinator.koordlet import cpuset, states_noderesourcetopology
from cpuplan.upstream.koordinator.koordlet.cpu_suppress import choose, suppress
from cpuplan.upstream.koordinator.koordlet.states_noderesourcetopology import (
    Kubelet,
    Machine,
    Node,
    compute_zones,
    merge_zones,
)
from cpuplan.upstream.kubelet.machine import NodeMemory
from cpuplan.upstream.kubernetes.bits import parse_cpus, to_text
from cpuplan.upstream.kubernetes.errors import KubeletError, PanicError
from cpuplan.upstream.kubernetes.pod import Pod, read_resources
from tests.unit.upstream.koordinator.machines import GIB, machine, pod

STATIC = Kubelet(cpu_manager_policy="static", kube_reserved={"cpu": "1500m"})


def _compute(
    *pods: Pod, annotations: dict[str, str] | None = None, kubelet: Kubelet | None = None
) -> states_noderesourcetopology.NodeTopology:
    node = Node(annotations=annotations)
    return states_noderesourcetopology.compute_node_topology(
        machine(), node, pods, kubelet or Kubelet()
    )


@pytest.mark.parametrize(
    ("reservation", "reserved", "first_pool"),
    [
        ({"reservedCPUs": "0-1"}, "0-1", "2-7"),
        ({"resources": {"cpu": "2"}}, "0-1", "2-7"),
        ({"resources": {"cpu": "1500m"}}, "0-1", "2-7"),
        ({"resources": {"cpu": "99"}}, "", "0-7"),
        ({"reservedCPUs": "bad"}, "", "0-7"),
    ],
)
def test_a_nodes_reservation_leaves_both_pools(
    reservation: object, reserved: str, first_pool: str
) -> None:
    topology = _compute(annotations={constants.RESERVATION: json.dumps(reservation)})
    assert topology.reservation.reserved_cpus == reserved
    assert topology.ls_pools[0].cpuset == topology.be_pools[0].cpuset == first_pool


def test_a_pool_that_a_reservation_empties_stays_without_cpus() -> None:
    topology = _compute(annotations={constants.RESERVATION: '{"reservedCPUs": "0-7"}'})
    assert topology.annotations()[constants.CPU_SHARED_POOLS] == [
        {"socket": 0, "node": 0},
        {"socket": 1, "node": 1, "cpuset": "8-15"},
    ]


@pytest.mark.parametrize(("exclusive", "pool"), [(True, "2-7"), (False, "0-7")])
def test_system_pods_have_their_cpus_alone_unless_they_share(exclusive: bool, pool: str) -> None:
    text = json.dumps({"cpuset": "0-1", "cpusetExclusive": exclusive})
    topology = _compute(annotations={constants.SYSTEM_QOS_RESOURCE: text})
    assert topology.ls_pools[0].cpuset == pool
    system = pod("system", "SYSTEM", requests="1")
    assert cpuset.pod_cpus(system, topology) == ("0-1", cpuset.POOL)


def test_a_bad_list_of_system_cpus_stops_the_hook_and_a_bad_annotation_the_report() -> None:
    topology = _compute(annotations={constants.SYSTEM_QOS_RESOURCE: '{"cpuset": "x"}'})
    assert cpuset.pod_cpus(pod("ls", "LS"), topology) == (None, cpuset.LEFT)
    with pytest.raises(KubeletError, match="failed to get system qos resource"):
        _compute(annotations={constants.SYSTEM_QOS_RESOURCE: "{"})


def test_the_kubelets_reserved_cpus_are_reported_rounded_up() -> None:
    topology = _compute(kubelet=STATIC)
    assert topology.annotations()[constants.CPU_MANAGER_POLICY] == {
        "policy": "static",
        "reservedCPUs": "0-1",
    }


def test_cpus_that_are_reserved_but_not_there_are_not_reported() -> None:
    topology = _compute(kubelet=STATIC._replace(reserved_system_cpus="0-99"))
    assert topology.manager.reserved_cpus == ""


def test_without_asking_the_kubelet_nothing_of_it_is_known() -> None:
    topology = states_noderesourcetopology.compute_node_topology(
        machine(), Node(), (), None, '{"entries": {"u": {"c": "0"}}}'
    )
    assert topology.annotations()[constants.CPU_MANAGER_POLICY] == {}
    assert topology.allocs == ()


@pytest.mark.parametrize(
    ("policy", "scope", "expected"),
    [
        ("single-numa-node", "pod", "SingleNUMANodePodLevel"),
        ("restricted", "container", "RestrictedContainerLevel"),
        ("best-effort", "pod", "BestEffortPodLevel"),
        ("restricted", "", "None"),
        ("none", "pod", "None"),
    ],
)
def test_topology_policies(policy: str, scope: str, expected: str) -> None:
    assert states_noderesourcetopology.topology_policy(policy, scope) == expected


def test_koordinators_own_pods_do_not_count_as_the_kubelets() -> None:
    pods = [pod("ls", "LS"), pod("lsr", "LSR", "4-5"), pod("g", requests="2", limits="2")]
    entries = {f"uid-{name}": {"main": "2-3"} for name in ("ls", "lsr", "g")}
    state = json.dumps({"entries": {**entries, "gone": {"main": "x", "side": "6"}}})
    topology = states_noderesourcetopology.compute_node_topology(
        machine(), Node(), pods, STATIC, state
    )
    assert [(alloc.uid, alloc.name, alloc.cpuset) for alloc in topology.allocs] == [
        ("gone", "", "6"),
        ("uid-g", "g", "2-3"),
    ]


def test_a_state_file_that_cannot_be_read_stops_the_report() -> None:
    with pytest.raises(KubeletError, match="failed to cal GuaranteedCpu, err: unexpected end"):
        states_noderesourcetopology.compute_node_topology(machine(), Node(), (), STATIC, "{")


def test_any_pod_with_a_status_is_bound_to_it() -> None:
    """A set written by hand into a template takes the CPUs of others."""
    squatter = pod("squatter", cpus="4-5")
    topology = _compute(pod("lse", "LSE", "4-5"), squatter)
    assert cpuset.pod_cpus(squatter, topology) == ("4-5", cpuset.RESOURCE_STATUS)


@pytest.mark.parametrize(
    ("manager", "expected"), [(False, ("", cpuset.CLEARED)), (True, ("0-7", cpuset.POOL))]
)
def test_best_effort_pods_have_a_numa_node_with_a_gate_only(
    manager: bool,
    expected: tuple[str, str],
) -> None:
    given = pod("be", "BE", numa_nodes={0: "1"})
    assert cpuset.pod_cpus(given, _compute(given), be_manager=manager) == expected


def test_resources_without_cpus_tie_to_no_numa_node() -> None:
    given = pod("ls", "LS", numa_nodes={0: "0"})
    assert cpuset.pod_cpus(given, _compute(given)) == ("0-7,8-15", cpuset.POOL)


def test_zones_keep_back_an_equal_part_of_what_the_kubelet_reserves() -> None:
    node = Node(
        {constants.ENABLE_NUMA_RESERVATION: "true"},
        None,
        read_resources({"cpu": "16", "memory": "64Gi"}),
        read_resources({"cpu": "15500m", "memory": "63Gi"}),
    )
    first = compute_zones(machine(), node, huge_pages=False)[0]
    assert (str(first.capacity["cpu"]), str(first.allocatable["cpu"])) == ("8", "7750m")
    assert str(first.allocatable["memory"]) == "32256Mi"


def test_huge_pages_are_no_memory() -> None:
    memory = (NodeMemory(0, 32 * GIB, ((1048576, 2),)), NodeMemory(1, 32 * GIB))
    first = compute_zones(Machine(machine().cpus, memory), Node(), huge_pages=True)[0]
    assert str(first.capacity["hugepages-1Gi"]) == "2Gi"
    assert str(first.capacity["memory"]) == "30Gi"


def test_zones_need_memory_of_every_numa_node() -> None:
    with pytest.raises(KubeletError, match="NUMA node number not matched"):
        states_noderesourcetopology.compute_node_topology(
            Machine(machine().cpus), Node(), (), Kubelet()
        )


def test_an_update_drops_foreign_zones_and_keeps_foreign_resources() -> None:
    old = {
        "node-0": read_resources({"cpu": "1", "vendor.com/nic": "2"}),
        "node-7": read_resources({"cpu": "1"}),
    }
    zones = merge_zones(old, compute_zones(machine(), Node(), huge_pages=False))
    assert [zone.name for zone in zones] == ["node-0", "node-1"]
    assert str(zones[0].capacity["vendor.com/nic"]) == "2"
    assert str(zones[0].allocatable["cpu"]) == "8"


@pytest.mark.parametrize(
    ("milli", "old", "expected"),
    [
        (0, "0-15", "0-1"),
        (6000, "0-15", "0-3,8-9"),
        (5500, "0-15", "0-3,8-9"),
        (16000, "0-1", "0-1,8-9"),
    ],
)
def test_suppression_takes_siblings_from_nodes_in_turn(milli: int, old: str, expected: str) -> None:
    """At least 2 CPUs, and at most a tenth of the machine more than before."""
    order = suppress(machine().cpus, (), {}, milli, parse_cpus(old))
    assert to_text(sum(1 << cpu for cpu in order)) == expected


def test_suppression_keeps_off_reserved_system_and_lse_cpus() -> None:
    annotations = {
        constants.RESERVATION: '{"reservedCPUs": "0-1"}',
        constants.SYSTEM_QOS_RESOURCE: '{"cpuset": "2-3"}',
    }
    order = suppress(
        machine().cpus, [pod("lse", "LSE", "8-15")], annotations, 4000, parse_cpus("0-15")
    )
    assert sorted(order) == [4, 5, 6, 7]


def test_suppression_shares_between_lsr_cpus_and_others_by_their_number() -> None:
    order = suppress(machine().cpus, [pod("lsr", "LSR", "0-7")], {}, 8000, parse_cpus("0-15"))
    assert len([cpu for cpu in order if cpu < 8]) == 4


def test_koordlet_crashes_where_lse_pods_have_every_cpu() -> None:
    with pytest.raises(PanicError, match="integer divide by zero"):
        suppress(machine().cpus, [pod("lse", "LSE", "0-15")], {}, 2000, 0)


def test_single_cpus_follow_pairs() -> None:
    assert choose(3, machine(1, 2, 2).cpus) == [0, 1, 2]
    assert choose(5, machine(1, 2, 2).cpus) == []
