"""The static memory policy. Rules and bugs: pkg/kubelet/cm/memorymanager/policy_static.go."""

import pytest

from cpuplan.upstream.kubelet.machine import NodeMemory
from cpuplan.upstream.kubelet.memorymanager.policy_static import StaticPolicy, allocate_pod
from cpuplan.upstream.kubelet.memorymanager.state import Block, MemoryState
from cpuplan.upstream.kubelet.topologymanager.policy import NO_AFFINITY, TopologyHint
from cpuplan.upstream.kubernetes.bits import bits_of
from cpuplan.upstream.kubernetes.errors import KubeletError, PanicError
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.pod import Pod
from tests.machines.pods import container, named, pod

GIB = 1024**3
POD_LEVEL = Gates({"PodLevelResourceManagers": True})


def policy(*sizes: int, pages: int = 0, gates: Gates | None = None) -> StaticPolicy:
    """Nodes of so many GiB, `pages` GiB of each in huge pages; 1 GiB of node 0 is reserved."""
    nodes = [
        NodeMemory(node, size * GIB, ((1048576, pages),) if pages else ())
        for node, size in enumerate(sizes)
    ]
    return StaticPolicy(nodes, {0: {"memory": GIB}}, gates or Gates())


def started(given: StaticPolicy) -> MemoryState:
    state = MemoryState()
    given.start(state)
    return state


def guaranteed(uid: str, memory: str) -> Pod:
    return named(uid, pod(container("1", memory)))


def admit(
    given: StaticPolicy, state: MemoryState, workload: Pod, affinity: TopologyHint = NO_AFFINITY
) -> None:
    for member in workload.all_containers:
        given.allocate(state, workload, member, affinity)


def free(state: MemoryState) -> list[float]:
    """GiB of memory that are free on each node."""
    return [node.memory["memory"].free / GIB for node in state.machine.values()]


def test_huge_pages_and_reserved_memory_are_not_for_pods() -> None:
    state = started(policy(8, 8, pages=2))
    assert free(state) == [5, 6]
    assert state.machine[0].memory["hugepages-1Gi"].free == 2 * GIB


def test_memory_must_be_reserved() -> None:
    with pytest.raises(KubeletError, match="you should specify the system reserved memory"):
        StaticPolicy([NodeMemory(0, GIB)], {}, Gates())


def test_the_best_hint_of_its_own() -> None:
    given = policy(8, 8)
    state = started(given)
    admit(given, state, guaranteed("p", "8Gi"))
    assert state.entries["p"]["a"] == (Block((1,), "memory", 8 * GIB),)
    assert free(state) == [7, 0]


def test_a_hint_is_extended_to_one_that_suffices() -> None:
    given = policy(8, 8)
    state = started(given)
    admit(given, state, guaranteed("p", "12Gi"), TopologyHint(bits_of([0]), preferred=False))
    assert state.entries["p"]["a"] == (Block((0, 1), "memory", 12 * GIB),)
    assert free(state) == [0, 3]
    assert state.machine[1].cells == (0, 1)


@pytest.mark.parametrize(
    ("memory", "affinity", "message"),
    [
        (
            "20Gi",
            NO_AFFINITY,
            (
                "failed to get the default NUMA affinity, "
                "no NUMA nodes with enough memory is available"
            ),
        ),
        (
            "20Gi",
            TopologyHint(1, True),
            "failed to find NUMA nodes to extend the current topology hint",
        ),
        ("12Gi", TopologyHint(3, True), "preferred hint violates NUMA node allocation"),
    ],
)
def test_refusals(memory: str, affinity: TopologyHint, message: str) -> None:
    given = policy(8, 8)
    state = started(given)
    admit(given, state, guaranteed("first", "1Gi"))
    with pytest.raises(KubeletError) as caught:
        admit(given, state, guaranteed("p", memory), affinity)
    assert str(caught.value) == f"[memorymanager] {message}"
    assert "p" not in state.entries


def test_since_1_34_pods_with_their_own_resources_have_no_memory_of_their_own() -> None:
    workload = named("p", pod(container("2", "1Gi", limits={}), own={"cpu": "4", "memory": "2Gi"}))
    for version, left in (((1, 33), [6, 8]), ((1, 34), [7, 8])):
        given = policy(8, 8, gates=Gates({"PodLevelResources": True}, version))
        state = started(given)
        assert (given.topology_hints(state, workload, workload.containers[0]) is None) == (
            version >= (1, 34)
        )
        assert (given.pod_topology_hints(state, workload) is None) == (version >= (1, 34))
        admit(given, state, workload)
        assert free(state) == left


def test_since_1_32_groups_of_nodes_do_not_overlap() -> None:
    before, since = (policy(8, 8, gates=Gates(version=version)) for version in ((1, 31), (1, 32)))
    both = TopologyHint(bits_of([0, 1]), preferred=True)
    state = started(before)
    admit(before, state, guaranteed("p", "2Gi"), TopologyHint(bits_of([0]), preferred=True))
    admit(before, state, guaranteed("q", "2Gi"), both)
    assert state.entries["q"]["a"] == (Block((0, 1), "memory", 2 * GIB),)
    assert free(state) == [3, 8]
    state = started(since)
    admit(since, state, guaranteed("p", "2Gi"), TopologyHint(bits_of([0]), preferred=True))
    with pytest.raises(KubeletError, match="preferred hint violates NUMA node allocation"):
        admit(since, state, guaranteed("q", "2Gi"), both)


def test_a_node_is_used_alone_or_in_one_group() -> None:
    given = policy(8, 8, 8)
    state = started(given)
    admit(given, state, guaranteed("p", "12Gi"), TopologyHint(bits_of([0, 1]), preferred=True))
    small = guaranteed("q", "1Gi")
    assert given.topology_hints(state, small, small.containers[0]) == {
        "memory": [TopologyHint(bits_of([2]), True), TopologyHint(bits_of([0, 1]), False)]
    }


def test_bug_a_pod_that_cannot_be_placed_has_no_preference() -> None:
    """An empty map tells the topology manager "any", where an empty list would refuse."""
    given = policy(8, 8)
    state = started(given)
    workload = guaranteed("p", "20Gi")
    assert given.topology_hints(state, workload, workload.containers[0]) == {}


def test_bug_a_type_of_memory_that_a_node_lacks_crashes_the_kubelet() -> None:
    given = policy(8)
    state = started(given)
    rows = container("1", "1Gi")
    resources = {"cpu": "1", "memory": "1Gi", "hugepages-2Mi": "4Mi"}
    workload = named("p", pod({**rows, "resources": {"requests": resources, "limits": resources}}))
    with pytest.raises(PanicError, match="nil pointer dereference"):
        given.topology_hints(state, workload, workload.containers[0])


def test_bug_more_reserved_than_there_is_becomes_a_huge_amount() -> None:
    given = StaticPolicy([NodeMemory(0, GIB)], {0: {"memory": 2 * GIB}}, Gates())
    assert started(given).machine[0].memory["memory"].free == 2**64 - GIB


def test_init_containers_leave_their_memory() -> None:
    given = policy(8)
    state = started(given)
    workload = named(
        "p",
        pod(
            container("1", "3Gi"), init=(container("1", "4Gi"), container("1", "1Gi", sidecar=True))
        ),
    )
    admit(given, state, workload)
    assert {
        name: [block.size // GIB for block in blocks] for name, blocks in state.entries["p"].items()
    } == {
        "a": [0],
        "b": [1],
        "c": [3],
    }
    assert free(state) == [3]
    for name in "abc":
        given.remove_container(state, "p", name)
    assert free(state) == [7]
    assert state.machine[0].assignments == 0


def test_a_state_must_be_what_its_blocks_give() -> None:
    given = policy(8, 8)
    state = started(given)
    admit(given, state, guaranteed("p", "1Gi"))
    given.start(state)
    with pytest.raises(
        KubeletError, match="the expected machine state is different from the real one"
    ):
        policy(8, 9).start(state)
    state.machine = {}
    with pytest.raises(
        KubeletError, match="machine state can not be empty when it has memory assignments"
    ):
        given.start(state)


def test_pods_with_their_own_resources_get_one_block() -> None:
    given = policy(8, gates=POD_LEVEL)
    state = started(given)
    workload = named(
        "p", pod(container("1", "1Gi"), container(), own={"cpu": "2", "memory": "4Gi"})
    )
    allocate_pod(given, state, workload, NO_AFFINITY)
    assert [block.size // GIB for block in state.pod_entries["p"]] == [4]
    assert {name: blocks[0].size // GIB for name, blocks in state.entries["p"].items()} == {
        "a": 1,
        "b": 3,
    }
    assert free(state) == [3]
    given.remove_container(state, "p", "a")
    given.remove_container(state, "p", "b")
    assert free(state) == [7]
