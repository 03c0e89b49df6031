"""The principles of the proposal "Fine-grained CPU orchestration", each by its number.

`divide` follows the proposal; where a release does something else, the test says so.
"""

import json

import pytest

from cpuplan.upstream.koordinator import proposal
from cpuplan.upstream.koordinator.extension import constants, qos
from cpuplan.upstream.koordinator.koordlet import cpuset, states_noderesourcetopology
from cpuplan.upstream.koordinator.koordlet.states_noderesourcetopology import Kubelet, Node
from cpuplan.upstream.koordinator.proposal import Pools, divide
from cpuplan.upstream.koordinator.webhook.cluster_colocation_profile import keeps_proposal, refusals
from cpuplan.upstream.kubernetes.bits import parse_cpus, to_text
from cpuplan.upstream.kubernetes.pod import Pod
from tests.unit.upstream.koordinator.machines import machine, pod

ALL = "0-15"
STATIC = Kubelet(cpu_manager_policy="static", reserved_system_cpus="0-1")
GUARANTEED = pod("g", requests="2", limits="2")
BOUND = {"uid-g": {"main": "2-3"}}


def _divided(*pods: Pod, static: bool = False) -> Pools:
    bound = proposal.kubelet_bound(BOUND) if static else {}
    return divide(machine(), pods, "static" if static else "none", bound)


def _koordlet(*pods: Pod, static: bool = False) -> states_noderesourcetopology.NodeTopology:
    state = json.dumps({"entries": BOUND}) if static else ""
    kubelet = STATIC if static else Kubelet()
    return states_noderesourcetopology.compute_node_topology(
        machine(), Node(), pods, kubelet, state
    )


def _text(pools: Pools, *, best_effort: bool = False) -> str:
    parts = pools.best_effort if best_effort else pools.shared
    return to_text(sum(parse_cpus(pool.cpuset) for pool in parts))


def _cpus_of(pools: Pools, name: str) -> str:
    cpus = pools.bindings[name].cpus
    assert cpus is not None
    return to_text(cpus)


def test_pool_principle_2_1_the_shared_pool_is_what_is_not_exclusive() -> None:
    pools = _divided(pod("lse", "LSE", "4-5"), pod("lsr", "LSR", "6-7"), GUARANTEED, static=True)
    assert _text(pools) == "0-1,8-15"  # with the CPUs 0-1 that the kubelet reserves


def test_pool_principle_2_2_exclusive_are_whole_cpus_of_guaranteed_lse_and_lsr_pods() -> None:
    pools = _divided(pod("lse", "LSE", "4-5"), pod("lsr", "LSR", "6-7"), GUARANTEED, static=True)
    shown = {name: to_text(cpus) for name, cpus in pools.exclusive.items()}
    assert shown == {"lse": "4-5", "lsr": "6-7", "g": "2-3"}


def test_pool_principle_2_3_best_effort_has_all_but_guaranteed_and_lse_cpus() -> None:
    pools = _divided(pod("lse", "LSE", "4-5"), pod("lsr", "LSR", "6-7"), GUARANTEED, static=True)
    assert _text(pools, best_effort=True) == "0-1,6-15"


def test_koordlet_gives_the_cpus_of_guaranteed_pods_to_the_cgroup_of_best_effort_pods() -> None:
    """Unlike 2.3: only its pool leaves them out."""
    topology = _koordlet(GUARANTEED, static=True)
    assert to_text(sum(parse_cpus(pool.cpuset) for pool in topology.be_pools)) == "0-1,4-15"
    assert to_text(cpuset.be_cgroup(machine(), topology, [GUARANTEED])) == ALL


@pytest.mark.parametrize(
    ("requests", "limits", "kept", "admitted"),
    [("2", "2", True, True), ("2", "4", False, True), ("1500m", "1500m", False, False)],
)
def test_principle_1_requests_are_limits_in_whole_cpus(
    requests: str, limits: str, *, kept: bool, admitted: bool
) -> None:
    """The webhook only asks for whole CPUs: limits may differ."""
    for label in ("LSE", "LSR"):
        given = pod("p", label, requests=requests, limits=limits, priority=9500)
        assert keeps_proposal(given) is kept
        assert (refusals(given) == []) is admitted


def test_principle_2_nobody_shares_the_cpus_of_lse_pods() -> None:
    pools = _divided(pod("lse", "LSE", "2-5"), pod("ls", "LS"), pod("be", "BE"))
    assert _cpus_of(pools, "lse") == "2-5"
    assert _cpus_of(pools, "ls") == _cpus_of(pools, "be") == "0-1,6-15"


def test_principle_3_only_best_effort_pods_share_the_cpus_of_lsr_pods() -> None:
    pools = _divided(pod("lsr", "LSR", "2-5"), pod("ls", "LS"), pod("be", "BE"))
    assert _cpus_of(pools, "ls") == "0-1,6-15"
    assert _cpus_of(pools, "be") == ALL


def test_principle_4_ls_pods_are_in_the_shared_pool() -> None:
    pools = _divided(pod("ls", "LS", requests="1"), pod("lsr", "LSR", "8-9"))
    assert pools.bindings["ls"].kind == proposal.LS_POOL
    assert _cpus_of(pools, "ls") == "0-7,10-15"


def test_principle_5_best_effort_pods_have_all_but_the_cpus_of_lse_pods() -> None:
    pools = _divided(pod("be", "BE"), pod("lse", "LSE", "0"), pod("lsr", "LSR", "1"))
    assert pools.bindings["be"].kind == proposal.BE_POOL
    assert _cpus_of(pools, "be") == "1-15"


def test_principle_6_guaranteed_pods_of_the_static_policy_keep_their_cpus_as_lsr_pods() -> None:
    pools = _divided(GUARANTEED, static=True)
    assert pools.bindings["g"] == (proposal.OWN, parse_cpus("2-3"))
    assert qos.qos_of(GUARANTEED) == qos.LSR


def test_principle_7_guaranteed_pods_of_the_none_policy_are_ls_pods() -> None:
    pools = _divided(GUARANTEED)
    assert pools.bindings["g"] == (proposal.LS_POOL, parse_cpus(ALL))


def test_principle_8_new_guaranteed_pods_are_ls_pods() -> None:
    new = GUARANTEED._replace(uid="new", name="new")
    pools = _divided(new, static=True)
    assert pools.bindings["new"].kind == proposal.LS_POOL


def test_koordlet_leaves_new_guaranteed_pods_to_a_static_kubelet() -> None:
    """Unlike 8."""
    topology = _koordlet(GUARANTEED, static=True)
    assert cpuset.pod_cpus(GUARANTEED, topology) == (None, cpuset.LEFT)


def test_takeover_1_2_the_kubelets_reserved_cpus_stay_in_the_pool() -> None:
    pools = _divided(pod("ls", "LS"), static=True)
    assert _cpus_of(pools, "ls") == ALL
    topology = states_noderesourcetopology.compute_node_topology(machine(), Node(), (), STATIC)
    assert topology.manager.reserved_cpus == "0-1"
    assert topology.ls_pools[0].cpuset == "0-7"


def test_takeover_4_2_ls_pods_are_tied_to_the_pool_of_their_numa_nodes() -> None:
    tied = pod("ls", "LS", numa_nodes={1: "2"})
    assert _cpus_of(_divided(tied, pod("lsr", "LSR", "8-9")), "ls") == "10-15"
    assert cpuset.pod_cpus(tied, _koordlet(tied)) == ("8-15", cpuset.POOL)


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (pod("p", "LSR"), proposal.UNASSIGNED),
        (pod("p", "SYSTEM", requests="1"), proposal.UNDEFINED),
        (pod("p"), proposal.BE_POOL),
        (pod("p", requests="1"), proposal.LS_POOL),
    ],
)
def test_kinds_of_bindings(given: Pod, kind: str) -> None:
    assert _divided(given).bindings["p"].kind == kind


def test_a_status_that_cannot_be_read_ties_to_nothing() -> None:
    broken = pod("ls", "LS")._replace(annotations={constants.RESOURCE_STATUS: "{"})
    assert _cpus_of(_divided(broken), "ls") == ALL
