"""The static CPU policy. Rules and bugs: pkg/kubelet/cm/cpumanager/policy_static.go."""

import pytest

from cpuplan.upstream.kubelet.cpumanager.policy_static import (
    Fork,
    Reserved,
    StaticPolicy,
    allocate_pod,
    new_static_policy,
)
from cpuplan.upstream.kubelet.cpumanager.state import CPUState
from cpuplan.upstream.kubelet.topologymanager.policy import NO_AFFINITY, TopologyHint
from cpuplan.upstream.kubernetes.bits import bits_of, parse_cpus, to_text
from cpuplan.upstream.kubernetes.errors import AdmissionError, KubeletError
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.pod import Pod
from tests.machines.cputopologies import hybrid, regular
from tests.machines.pods import container, guaranteed, named, pod

DUAL = regular(2, 2, 6)
ALPHA = Gates({"CPUManagerPolicyAlphaOptions": True})
POD_LEVEL = Gates({"PodLevelResourceManagers": True})
FULL = {"full-pcpus-only": "true"}
TOO_FEW = "SMT Alignment Error: not enough free physical CPUs"


def policy(
    reserved: str = "0,12", options: dict[str, str] | None = None, **others: object
) -> StaticPolicy:
    cpus = parse_cpus(reserved)
    number = Reserved(cpus.bit_count(), cpus)
    return new_static_policy(DUAL, number, options or {}, others.pop("gates", ALPHA), **others)  # type: ignore[arg-type]


def admit(
    given: StaticPolicy, state: CPUState, workload: Pod, affinity: TopologyHint = NO_AFFINITY
) -> None:
    for member in workload.all_containers:
        given.allocate(state, workload, member, affinity)


def started(given: StaticPolicy) -> CPUState:
    state = CPUState()
    given.start(state)
    return state


@pytest.mark.parametrize(
    ("number", "options", "cpus"),
    [
        pytest.param(2, {}, "0,12", id="a core"),
        pytest.param(
            2, {"distribute-cpus-across-cores": "true"}, "0-1", id="one thread of two cores"
        ),
        pytest.param(
            13, {"distribute-cpus-across-numa": "true"}, "0-3,6-8,12-14,18-20", id="of both nodes"
        ),
    ],
)
def test_the_options_decide_which_cpus_are_reserved(
    number: int, options: dict[str, str], cpus: str
) -> None:
    made = new_static_policy(DUAL, Reserved(number), options, ALPHA)
    assert made.reserved.bit_count() == number
    assert to_text(made.reserved) == cpus


def test_too_many_reserved() -> None:
    with pytest.raises(KubeletError) as caught:
        new_static_policy(DUAL, Reserved(25), {}, ALPHA)
    wanted = (
        "[cpumanager] unable to reserve the required amount of CPUs (size of  did not equal 25)"
    )
    assert str(caught.value) == wanted


def test_align_by_socket_has_conditions() -> None:
    option = {"align-by-socket": "true"}
    with pytest.raises(KubeletError, match="single-numa-node policy is incompatible"):
        policy(options=option, topology_policy="single-numa-node")
    with pytest.raises(KubeletError, match="number of sockets are more than number of NUMA"):
        new_static_policy(regular(2, 1, 4), Reserved(1), option, ALPHA)


def test_aligned_cpus_come_first_then_any() -> None:
    given = policy()
    state = started(given)
    admit(given, state, guaranteed("p", 14), TopologyHint(bits_of([1]), preferred=True))
    assert to_text(state.entries["p"]["a"]) == "1,6-11,13,18-23"
    assert to_text(state.default) == "0,2-5,12,14-17"


def test_init_containers_leave_their_cpus_and_sidecars_do_not() -> None:
    init, sidecar = container("4", "1Gi"), container("2", "1Gi", sidecar=True)
    workload = named("p", pod(container("2", "1Gi"), container("2", "1Gi"), init=(init, sidecar)))
    given = policy()
    state = started(given)
    admit(given, state, workload)
    assert {name: to_text(cpus) for name, cpus in state.entries["p"].items()} == {
        "a": "1-2,13-14",
        "b": "1,13",
        "c": "2,14",
        "d": "3,15",
    }


def test_reuse_ends_when_another_pod_comes_in_between() -> None:
    given = policy()
    state = started(given)
    workload = named("p", pod(container("2", "1Gi"), init=(container("2", "1Gi"),)))
    given.allocate(state, workload, workload.init_containers[0], NO_AFFINITY)
    admit(given, state, guaranteed("other", 2))
    given.allocate(state, workload, workload.containers[0], NO_AFFINITY)
    assert not state.entries["p"]["a"] & state.entries["p"]["b"]


def test_removing_gives_back_what_no_other_container_of_the_pod_uses() -> None:
    given = policy()
    state = started(given)
    workload = named("p", pod(container("2", "1Gi"), init=(container("4", "1Gi"),)))
    admit(given, state, workload)
    given.remove_container(state, "p", "a")
    assert to_text(state.default) == "0,2-12,14-23"
    given.remove_container(state, "p", "b")
    assert state.default == DUAL.all
    assert state.entries == {}


@pytest.mark.parametrize(
    ("count", "message"),
    [
        (3, "SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2"),
        (24, f"{TOO_FEW}: available physical CPUs = 22, requested CPUs = 24, CPUs per core = 2"),
    ],
)
def test_full_pcpus_only_counts_whole_cores(count: int, message: str) -> None:
    given = policy("0", FULL)
    state = started(given)
    with pytest.raises(AdmissionError) as caught:
        admit(given, state, guaranteed("p", count))
    assert (caught.value.reason, str(caught.value)) == ("SMTAlignmentError", message)


def test_since_1_27_full_pcpus_only_counts_whole_cores() -> None:
    """Before, halves of cores with a reserved CPU were given (#113537)."""
    before, since = (
        policy("0-1", FULL, gates=Gates(version=version)) for version in ((1, 26), (1, 27))
    )
    state = started(before)
    admit(before, state, guaranteed("p", 22))
    assert to_text(state.entries["p"]["a"]) == "2-23"
    with pytest.raises(AdmissionError, match=f"{TOO_FEW}: available physical CPUs = 20"):
        admit(since, started(since), guaranteed("p", 22))


def test_since_1_32_the_refusal_says_that_no_core_is_left() -> None:
    for version, message in (
        ((1, 31), "SMT Alignment Error: requested 2 cpus not multiple cpus per core = 2"),
        ((1, 32), f"{TOO_FEW}: available physical CPUs = 0, requested CPUs = 2, CPUs per core = 2"),
    ):
        given = policy(options=FULL, gates=Gates(version=version))
        state = started(given)
        admit(given, state, guaranteed("p", 22))
        with pytest.raises(AdmissionError) as caught:
            admit(given, state, guaranteed("q", 2))
        assert str(caught.value) == message


def test_since_1_34_pods_with_their_own_resources_have_no_cpus_of_their_own() -> None:
    workload = named("p", pod(container("2", "1Gi", limits={}), own={"cpu": "4", "memory": "2Gi"}))
    for version, cpus in (((1, 33), "1,13"), ((1, 34), None)):
        gates = Gates({"PodLevelResources": True}, version)
        given = policy(gates=gates)
        state = started(given)
        hints = given.pod_topology_hints(state, workload)
        assert (hints is None) == (cpus is None)
        assert given.topology_hints(state, workload, workload.containers[0]) == hints
        admit(given, state, workload)
        assert {
            name: to_text(assigned) for name, assigned in state.entries.get("p", {}).items()
        } == ({"a": cpus} if cpus else {})


@pytest.mark.parametrize(
    ("version", "is_openshift", "cpus"),
    [
        pytest.param((1, 33), False, "0,8,12", id="before: a core and the half of another"),
        pytest.param((1, 34), False, "5,12-13", id="since: in one uncore cache"),
        pytest.param((1, 32), True, "0,8,12", id="before, OpenShift"),
        pytest.param((1, 33), True, "5,12-13", id="since, OpenShift"),
    ],
)
def test_odd_remainders_in_uncore_caches(
    version: tuple[int, int], is_openshift: bool, cpus: str
) -> None:
    # caches of two cores: 0-1,8-9  2-3,10-11  4-5,12-13  6-7,14-15
    machine = regular(1, 1, 8, caches=4)
    gates = Gates({"CPUManagerPolicyAlphaOptions": True}, version)
    option = {"prefer-align-cpus-by-uncorecache": "true"}
    given = new_static_policy(
        machine, Reserved(1, bits_of([4])), option, gates, fork=Fork(is_openshift)
    )
    state = started(given)
    admit(given, state, guaranteed("p", 3))
    assert to_text(state.entries["p"]["a"]) == cpus


def test_bug_129078_a_running_pod_is_refused_after_a_restart() -> None:
    """The check for free cores comes before the look whether the container has its CPUs already."""
    given = policy(options=FULL)
    state = started(given)
    workload = guaranteed("p", 12)
    admit(given, state, workload)
    with pytest.raises(AdmissionError, match="available physical CPUs = 10, requested CPUs = 12"):
        admit(given, state, workload)


def test_bug_two_exclusive_sets_overlap_on_hybrid_machines() -> None:
    """CPUs of a half used core are given again: averages of unequal cores (isCoreFree)."""
    given = new_static_policy(hybrid(performance=2, efficient=1), Reserved(1, 1 << 4), {}, ALPHA)
    state = started(given)
    admit(given, state, guaranteed("p", 1))
    admit(given, state, guaranteed("q", 2))
    assert to_text(state.entries["p"]["a"]) == "0"
    assert to_text(state.entries["q"]["a"]) == "0-1"


@pytest.mark.parametrize(
    ("state", "options", "message"),
    [
        (CPUState(0, {"p": {"c": 2}}), {}, "default cpuset cannot be empty"),
        (
            CPUState(DUAL.all & ~1),
            {},
            'not all reserved cpus: "0,12" are present in defaultCpuSet: "1-23"',
        ),
        (
            CPUState(DUAL.all),
            {"strict-cpu-reservation": "true"},
            'some of strictly reserved cpus: "0,12" are present in defaultCpuSet: "0-23"',
        ),
        (
            CPUState(DUAL.all, {"p": {"c": 2}}),
            {},
            'pod: p, container: c cpuset: "1" overlaps with default cpuset "0-23"',
        ),
        (
            CPUState(DUAL.all & ~2),
            {},
            'current set of available CPUs "0-23" doesn\'t match with CPUs in state "0,2-23"',
        ),
    ],
)
def test_states_that_keep_a_kubelet_from_starting(
    state: CPUState, options: dict[str, str], message: str
) -> None:
    with pytest.raises(KubeletError) as caught:
        policy(options=options).start(state)
    assert str(caught.value) == message


def test_bug_openshift_refuses_its_own_state_under_strict_cpu_reservation() -> None:
    """The fork compares with all CPUs, unless workload partitioning is on (1.32 to 1.36)."""
    strict = {"strict-cpu-reservation": "true"}
    given = policy(options=strict, fork=Fork(is_openshift=True))
    state = started(given)
    with pytest.raises(KubeletError, match="doesn't match with CPUs in state"):
        given.start(state)
    policy(options=strict, fork=Fork(is_openshift=True, workload_partitioning=True)).start(state)
    policy(options=strict).start(state)


def test_workload_partitioning_keeps_reserved_cpus_out_of_the_shared_pool() -> None:
    partitioned = policy(fork=Fork(is_openshift=True, workload_partitioning=True))
    assert to_text(started(partitioned).default) == "1-11,13-23"


def test_pods_with_their_own_resources_get_one_set() -> None:
    workload = named(
        "p", pod(container("2", "1Gi"), container(), own={"cpu": "4", "memory": "2Gi"})
    )
    given = policy(gates=POD_LEVEL)
    state = started(given)
    allocate_pod(given, state, workload, NO_AFFINITY)
    assert to_text(state.pod_entries["p"]) == "1-2,13-14"
    assert {name: to_text(cpus) for name, cpus in state.entries["p"].items()} == {
        "a": "1,13",
        "b": "2,14",
    }
    given.remove_container(state, "p", "a")
    assert to_text(state.default) == "0,3-12,15-23", "all or nothing"
    given.remove_container(state, "p", "b")
    assert state.default == DUAL.all


def test_without_the_gate_pods_with_their_own_resources_are_left_alone() -> None:
    workload = named("p", pod(container("2", "1Gi"), own={"cpu": "4", "memory": "2Gi"}))
    given = policy()
    state = started(given)
    admit(given, state, workload)
    assert state.entries == {}
    assert given.topology_hints(state, workload, workload.containers[0]) is None


def test_hints_of_a_container_that_has_its_cpus() -> None:
    given = policy()
    state = started(given)
    workload = guaranteed("p", 2)
    admit(given, state, workload, TopologyHint(bits_of([1]), preferred=True))
    own = [TopologyHint(bits_of([1]), True), TopologyHint(bits_of([0, 1]), False)]
    assert given.topology_hints(state, workload, workload.containers[0]) == {"cpu": own}
    state.entries["p"]["a"] |= 1
    assert given.topology_hints(state, workload, workload.containers[0]) == {"cpu": []}
    assert given.pod_topology_hints(state, workload) == {"cpu": []}


@pytest.mark.parametrize(("minor", "cpus"), [(37, "6-7,18-19"), (38, "1,6,13,18")])
def test_a_hint_of_both_nodes_spreads_a_distribution(minor: int, cpus: str) -> None:
    """kubernetes#139456: devices on both NUMA nodes, and CPUs that one node could give."""
    given = policy(options={"distribute-cpus-across-numa": "true"}, gates=Gates({}, (1, minor)))
    state = started(given)
    taken = given.allocate_cpus(state, 4, bits_of((0, 1)), 0)
    assert to_text(taken) == cpus
