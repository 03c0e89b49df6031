"""QoS sets: the examples of qos-cpu-affinity-hints.txt, and what a kernel makes of them."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cpuplan.base.cpuset import CpuSet
from cpuplan.upstream.kubelet.kubelet import Kubelet
from cpuplan.upstream.kubelet.machine import NodeMemory
from cpuplan.upstream.kubelet.qossets import (
    ALL_PODS,
    SLICES,
    Enforcement,
    Placement,
    Problem,
    QosSets,
    place,
)
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.pod import Pod
from cpuplan.upstream.kubernetes.qos import BEST_EFFORT as QOS_BEST_EFFORT
from cpuplan.upstream.kubernetes.qos import BURSTABLE as QOS_BURSTABLE
from tests.conformance.kubelet.shapes import read_machine
from tests.machines.cputopologies import regular
from tests.machines.pods import container, guaranteed, named, pod

GIB = 1024**3
ALL = CpuSet(range(8))
BEST_EFFORT = named("be", pod(container()))
BURSTABLE = named("bu", pod(container("1", "")))
SHARED = named("gs", pod(container("500m", "1Gi")))


def slices(sets: QosSets, **fields: Any) -> Enforcement:
    """The slices of the sets that are given."""
    given = {SLICES[QOS_BEST_EFFORT]: sets.best_effort, SLICES[QOS_BURSTABLE]: sets.other}
    allowed = {name: chosen for name, chosen in given.items() if chosen is not None}
    return Enforcement(allowed=allowed, **fields)


def cpus(text: str) -> CpuSet:
    return CpuSet.parse(text)


def run(sets: QosSets, enforcement: Enforcement, *pods: Pod) -> dict[str, Placement]:
    """The pods on four cores with two threads (siblings: 0 and 4, ...), admitted in order."""
    config: dict[str, Any] = {"cpuManagerPolicy": "none"}
    if enforcement.is_static:
        strict = str(enforcement.strict_reservation).lower()
        config = {
            "cpuManagerPolicy": "static",
            "reservedSystemCPUs": str(sets.hidden),
            "cpuManagerPolicyOptions": {"strict-cpu-reservation": strict},
        }
    rows = [(*row[:4], -1) for row in regular(1, 1, 4).rows]
    kubelet = Kubelet(config, read_machine(rows, [NodeMemory(0, 16 * GIB, ())], {0: (10,)}))
    for admitted in pods:
        kubelet.admit(admitted)
    return {
        placement.pod: placement
        for placement in place(pods, kubelet.cpus.state, sets, enforcement, Gates())
    }


def test_variant_1_batch_workloads_run_as_best_effort() -> None:
    """The figure: one physical core for BestEffort, everybody else everywhere."""
    sets = QosSets(ALL, cpus("0,4"), best_effort=cpus("3,7"))
    placements = run(sets, slices(sets), BEST_EFFORT, BURSTABLE, guaranteed("g", 2))
    assert placements["g"].cpus == cpus("1,5")
    assert placements["be"] == Placement(
        "be",
        "a",
        "BestEffort",
        cpus("3,7"),
        cpus("2-3,6-7"),
        cpus("3,7"),
        "AllowedCPUs of kubepods-besteffort.slice",
    )
    assert (placements["bu"].cpus, placements["bu"].problems) == (cpus("2-3,6-7"), ())
    assert sets.allocatable == sets.assignable == 6


def test_variant_3_partitioned_nodes_have_no_sets() -> None:
    """Taints divide the nodes; on each of them both sets have all CPUs."""
    sets = QosSets(ALL, cpus("0"))
    placements = run(sets, slices(sets), BEST_EFFORT, BURSTABLE, SHARED)
    assert {placement.cpus for placement in placements.values()} == {cpus("1-7")}
    assert not any(placement.problems for placement in placements.values())
    assert (sets.allocatable, sets.isolcpus) == (7, CpuSet())


def test_isolcpus_are_what_no_set_has() -> None:
    sets = QosSets(ALL, cpus("0"), best_effort=cpus("0-1"), other=cpus("0-5"))
    assert sets.isolcpus == cpus("6-7")
    assert sets.isolcpus | sets.wanted("BestEffort") | sets.wanted("Burstable") == ALL


def test_without_strict_reservation_guaranteed_pods_run_everywhere() -> None:
    """They have no slice, and the default cpuset has the reserved CPUs."""
    sets = QosSets(ALL, cpus("0"), best_effort=cpus("0-3"), other=cpus("4-7"))
    loose = slices(sets, strict_reservation=False)
    placements = run(sets, loose, SHARED, BURSTABLE)
    assert (placements["gs"].mechanism, placements["gs"].problems) == (
        "nothing",
        (Problem("outside", cpus("0-3")),),
    )
    assert placements["bu"].cpus == cpus("4-7")
    assert run(sets, slices(sets), SHARED)["gs"].cpus == cpus("4-7")


def test_disjoint_sets_need_the_kernels_way_out() -> None:
    """The default cpuset has no CPU of the slice, so the kernel takes the slice."""
    sets = QosSets(ALL, cpus("0"), best_effort=cpus("0-3"), other=cpus("4-7"))
    placement = run(sets, slices(sets), BEST_EFFORT)["be"]
    assert (placement.written, placement.cpus) == (cpus("4-7"), cpus("0-3"))
    assert placement.problems == ()


def test_strict_reservation_takes_from_best_effort_what_only_it_has() -> None:
    """Sets that overlap: BestEffort runs where both are."""
    sets = QosSets(ALL, cpus("0"), best_effort=cpus("0-5"), other=cpus("4-7"))
    assert run(sets, slices(sets), BEST_EFFORT)["be"].cpus == cpus("4-5")


def test_exclusive_containers_may_take_all_of_a_set() -> None:
    """Then BestEffort runs on CPUs that are somebody's."""
    sets = QosSets(ALL, cpus("0"), best_effort=cpus("1,5"))
    placement = run(sets, slices(sets), BEST_EFFORT, guaranteed("g", 2))["be"]
    assert placement.cpus == cpus("1,5")
    assert Problem("overlap", cpus("1,5")) in placement.problems


def test_version_1_refuses_what_version_2_narrows() -> None:
    """cpu-manager.txt: child cpusets must be subsets of their parents, or the write fails."""
    sets = QosSets(ALL, cpus("0,4"), best_effort=cpus("3,7"))
    placement = run(sets, slices(sets, cgroup_version=1), BEST_EFFORT)["be"]
    assert placement.problems == (Problem("not started", cpus("1-2,5-6")),)


def test_without_slices_nothing_holds_best_effort() -> None:
    sets = QosSets(ALL, cpus("0,4"), best_effort=cpus("3,7"))
    placement = run(sets, Enforcement(), BEST_EFFORT)["be"]
    assert (placement.mechanism, placement.problems) == (
        "strict-cpu-reservation",
        (Problem("outside", cpus("1-2,5-6")),),
    )


def test_policy_none_writes_no_cpusets() -> None:
    sets = QosSets(ALL, best_effort=cpus("3,7"))
    placements = run(sets, slices(sets, is_static=False), BEST_EFFORT, SHARED)
    assert (placements["be"].cpus, placements["gs"].cpus) == (cpus("3,7"), ALL)


def test_a_slice_around_all_pods_keeps_isolcpus_free() -> None:
    """Also of Guaranteed pods, which have no slice of their class."""
    sets = QosSets(ALL, cpus("0"), best_effort=cpus("1-3"))
    allowed = {ALL_PODS: cpus("0-5"), SLICES[QOS_BEST_EFFORT]: cpus("1-3")}
    loose = Enforcement(strict_reservation=False, allowed=allowed)
    placements = run(sets, loose, SHARED, BEST_EFFORT)
    assert (placements["gs"].cpus, placements["gs"].mechanism) == (
        cpus("0-5"),
        f"AllowedCPUs of {ALL_PODS}",
    )
    assert (placements["be"].cpus, placements["gs"].problems) == (cpus("1-3"), ())


masks = st.integers(min_value=0, max_value=255).map(CpuSet.from_bits)


@given(reserved=masks, best_effort=masks, other=masks)
def test_what_is_bound_can_be_given(reserved: CpuSet, best_effort: CpuSet, other: CpuSet) -> None:
    """The kubelet offers no more than the seed allows, all of it in OTHER without reserved CPUs."""
    sets = QosSets(ALL, reserved, best_effort, other)
    assert sets.assignable <= sets.allocatable
    assert ALL - sets.hidden <= other - reserved
    if not reserved & other or (reserved <= other and other == ALL):
        assert sets.assignable == sets.allocatable
