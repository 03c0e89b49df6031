"""A whole node. Rules: pkg/kubelet/cm, pkg/kubelet/lifecycle, cmd/kubelet/app."""

from typing import Any

import pytest

from cpuplan.upstream.kubelet.cpumanager.policy_static import Fork
from cpuplan.upstream.kubelet.kubelet import CreatedContainer, Kubelet, Node, StartError
from cpuplan.upstream.kubelet.machine import Machine, NodeMemory
from cpuplan.upstream.kubernetes.bits import to_text
from cpuplan.upstream.kubernetes.errors import KubeletError, refusal
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.pod import Pod, apply_defaults
from tests.conformance.kubelet.shapes import read_machine
from tests.machines.cputopologies import regular
from tests.machines.pods import container, guaranteed, named, pod

GIB = 1024**3
STATIC = {
    "cpuManagerPolicy": "static",
    "topologyManagerPolicy": "restricted",
    "reservedSystemCPUs": "0,12",
}
WITH_MEMORY = {
    **STATIC,
    "memoryManagerPolicy": "Static",
    "systemReserved": {"memory": "924Mi"},  # with the 100Mi of hard eviction: 1Gi
    "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1Gi"}}],
}

FIELD = "Go struct field KubeletConfiguration"
ALLOCATABLE = "determined by Node Allocatable feature"


def machine(pages: int = 0, *, memory: int = 16) -> Machine:
    """Two nodes of six cores with two threads."""
    nodes = [
        NodeMemory(node, memory * GIB, ((1048576, pages),) if pages else ()) for node in (0, 1)
    ]
    return read_machine(
        [(*row[:4], -1) for row in regular(2, 2, 6).rows], nodes, {0: (10, 21), 1: (21, 10)}
    )


def start(config: dict[str, Any], **others: Any) -> Kubelet:
    return Kubelet(config, others.pop("machine", machine()), **others)


def default_cpus(kubelet: Kubelet) -> str:
    return to_text(kubelet.cpus.state.default)


def refused(kubelet: Kubelet, workload: Pod) -> tuple[str, str]:
    with pytest.raises(KubeletError) as caught:
        kubelet.admit(workload)
    return refusal(caught.value)


def test_capacity_and_what_is_left_of_it() -> None:
    kubelet = start(
        {"systemReserved": {"cpu": "500m"}, "kubeReserved": {"cpu": "1"}}, machine=machine(pages=2)
    )
    assert {name: str(amount) for name, amount in kubelet.capacity.items()} == {
        "cpu": "24",
        "memory": "32Gi",
        "hugepages-1Gi": "4Gi",
        "pods": "110",
    }
    assert {name: str(amount) for name, amount in kubelet.allocatable.items()} == {
        "cpu": "22500m",
        "memory": "28572Mi",
        "hugepages-1Gi": "4Gi",
        "pods": "110",
    }


@pytest.mark.parametrize(
    ("config", "stage", "message"),
    [
        (
            {**STATIC, "featureGates": {"CPUManager": True}},
            "featureGates",
            "unrecognized feature gate: CPUManager",
        ),
        (
            {**STATIC, "reservedSystemCPUs": "0,24"},
            "reservedSystemCPUs",
            "reserved-cpus: 0,24 is not a subset of online-cpus: 0-23",
        ),
        ({"kubeReserved": {"gpu": "1"}}, "kubeReserved", 'cannot reserve "gpu" resource'),
        (
            {"maxPods": "5"},
            "decode",
            f"json: cannot unmarshal string into {FIELD}.maxPods of type int32",
        ),
        (
            {"maxPods": -1},
            "validate",
            "invalid configuration: maxPods (--max-pods) -1 must not be a negative number",
        ),
        ({"cpuManagerPolicy": "most"}, "cpuManager", 'unknown policy: "most"'),
        (
            {"cpuManagerPolicy": "static"},
            "cpuManager",
            "[cpumanager] unable to determine reserved CPU resources for static policy",
        ),
        (
            {"cpuManagerPolicyOptions": {"full-pcpus-only": "true"}},
            "cpuManager",
            ("new none policy error: None policy: "
            "received unsupported options=map[full-pcpus-only:true]"),
        ),
        (
            {**WITH_MEMORY, "systemReserved": {}},
            "memoryManager",
            ('the total amount "1Gi" of type "memory" is not equal to '
            f'the value "100Mi" {ALLOCATABLE}'),
        ),
        (
            {**WITH_MEMORY, "reservedMemory": [{"numaNode": 7, "limits": {"memory": "1Gi"}}]},
            "memoryManager",
            ("the reserved memory configuration references a "
            "NUMA node 7 that does not exist on this machine"),
        ),
    ],
)  # fmt: skip
def test_kubelets_that_do_not_start(config: dict[str, Any], stage: str, message: str) -> None:
    with pytest.raises(StartError) as caught:
        start(config)
    assert (caught.value.stage, str(caught.value)) == (stage, message)


def test_bug_reserved_huge_pages_validate_and_never_start() -> None:
    """reservedMemory must equal what systemReserved and kubeReserved cannot hold."""
    limits = {"memory": "1Gi", "hugepages-1Gi": "1Gi"}
    with pytest.raises(
        StartError,
        match='the total amount "1Gi" of type "hugepages-1Gi" is not equal to the value "0"',
    ):
        start(
            {**WITH_MEMORY, "reservedMemory": [{"numaNode": 0, "limits": limits}]},
            machine=machine(pages=2),
        )


def test_a_pod_is_pinned() -> None:
    kubelet = start(WITH_MEMORY)
    workload = guaranteed("p", 4)
    kubelet.admit(workload)
    assert kubelet.start_pod(workload) == [CreatedContainer("a", 0b11 << 13 | 0b11 << 1, (0,))]


def test_a_shared_container_gets_the_shared_pool_of_the_moment() -> None:
    kubelet = start(STATIC)
    kubelet.admit(guaranteed("p", 4))
    other = named("q", pod(container("500m", "1Gi")))
    kubelet.admit(other)
    assert [to_text(created.cpus) for created in kubelet.start_pod(other)] == ["0,3-12,15-23"]


def test_cpus_of_a_refused_pod_stay_taken_until_the_next_pod_comes() -> None:
    """The topology manager allocates before it is checked whether the pod fits."""
    kubelet = start(STATIC)
    huge = named("huge", pod(container("2", "64Gi")))
    reason, message = refused(kubelet, huge)
    assert reason == "OutOfmemory"
    assert message.startswith(
        "Node didn't have enough resource: memory, requested: 68719476736, used: 0, capacity: "
    )
    assert default_cpus(kubelet) == "0,2-12,14-23"
    kubelet.admit(named("q", pod(container("500m", "1Gi"))))
    assert default_cpus(kubelet) == "0-23"


def test_reasons() -> None:
    kubelet = start({**STATIC, "cpuManagerPolicyOptions": {"full-pcpus-only": "true"}})
    assert refused(kubelet, guaranteed("p", 3))[0] == "SMTAlignmentError"
    assert refused(
        start({**STATIC, "topologyManagerPolicy": "single-numa-node"}), guaranteed("p", 14)
    ) == (
        "TopologyAffinityError",
        "Resources cannot be allocated with Topology locality",
    )
    text = "not enough cpus available to satisfy request: requested=24, available=22"
    assert refused(start({**STATIC, "topologyManagerPolicy": "none"}), guaranteed("p", 24)) == (
        "UnexpectedAdmissionError",
        f"Allocate failed due to {text}, which is unexpected",
    )


def test_finished_init_containers_give_back_memory_but_not_cpus() -> None:
    kubelet = start({**WITH_MEMORY, "topologyManagerScope": "pod"})
    workload = named("p", pod(container("2", "1Gi"), init=(container("2", "4Gi"),)))
    kubelet.admit(workload)
    kubelet.start_pod(workload)
    assert set(kubelet.memory.state.entries["p"]) == {"b"}
    assert set(kubelet.cpus.state.entries["p"]) == {"a", "b"}


def restart(kubelet: Kubelet, config: dict[str, Any], **others: Any) -> Kubelet:
    fresh = start(config, node=kubelet.stop(), **others)
    fresh.begin_readmission()
    for workload in kubelet.active:
        fresh.admit(workload)
    fresh.end_readmission()
    return fresh


def test_a_restart_keeps_what_pods_have() -> None:
    kubelet = start(WITH_MEMORY)
    kubelet.admit(guaranteed("p", 4))
    again = restart(kubelet, WITH_MEMORY)
    assert again.stop() == kubelet.stop()
    again.remove("p")
    assert default_cpus(again) == "0-23"


def test_another_policy_needs_the_state_file_removed() -> None:
    left = start(STATIC).stop()
    with pytest.raises(
        StartError, match='configured policy "none" differs from state checkpoint policy "static"'
    ):
        start({}, node=left)
    start({}, node=left._replace(cpu_state=None))


def test_bug_openshift_does_not_survive_a_restart_under_strict_cpu_reservation() -> None:
    strict = {**STATIC, "cpuManagerPolicyOptions": {"strict-cpu-reservation": "true"}}
    left = start(strict, fork=Fork(is_openshift=True)).stop()
    with pytest.raises(StartError, match="doesn't match with CPUs in state"):
        start(strict, node=left, fork=Fork(is_openshift=True))
    start(strict, node=left)


def test_bug_a_pod_with_its_own_resources_is_given_cpus_again_after_a_restart() -> None:
    """AllocatePod does not see that the pod has a set: the first is lost (1.36, alpha)."""
    config = {
        **STATIC,
        "topologyManagerScope": "pod",
        "featureGates": {"PodLevelResourceManagers": True},
    }
    config["topologyManagerPolicy"] = "best-effort"
    kubelet = start(config)
    kubelet.admit(named("p", pod(container(), own={"cpu": "4", "memory": "1Gi"})))
    assert to_text(kubelet.cpus.state.pod_entries["p"]) == "1-2,13-14"
    again = restart(kubelet, config)
    assert to_text(again.cpus.state.pod_entries["p"]) == "3-4,15-16"
    assert default_cpus(again) == "0,5-12,17-23"


def test_sub_numa_clusters_share_one_uncore_cache_id() -> None:
    """Caches of whole NUMA nodes are filed under the node, with the socket's id."""
    rows = [(*row[:4], -1) for row in regular(1, 2, 6).rows]
    kubelet = start(
        STATIC, machine=read_machine(rows, machine().memory, machine().distances), node=Node()
    )
    assert kubelet.cpus.policy is not None
    assert list(kubelet.cpus.policy.topology.uncore_caches) == [0]


@pytest.mark.parametrize(
    ("version", "cpus", "free"),
    [
        pytest.param((1, 28), {"a": "1-2,13-14", "b": "1-2,13-14"}, [13, 16], id="before: reused"),
        pytest.param((1, 29), {"a": "1-2,13-14", "b": "3-4,15-16"}, [11, 16], id="since: kept"),
    ],
)
def test_sidecars_keep_what_they_have(
    version: tuple[int, int], cpus: dict[str, str], free: list[int]
) -> None:
    config = {**WITH_MEMORY, "featureGates": {"SidecarContainers": True}}
    kubelet = start(config, version=version)
    workload = named("p", pod(container("4", "2Gi"), init=(container("4", "2Gi", sidecar=True),)))
    kubelet.admit(workload)
    kubelet.start_pod(workload)
    assert {
        name: to_text(assigned) for name, assigned in kubelet.cpus.state.entries["p"].items()
    } == cpus
    assert [
        node.memory["memory"].free // GIB for node in kubelet.memory.state.machine.values()
    ] == free


@pytest.mark.parametrize(
    ("version", "is_restartable"), [((1, 27), False), ((1, 28), False), ((1, 29), True)]
)
def test_sidecars_are_plain_init_containers_where_the_gate_is_off(
    version: tuple[int, int], is_restartable: bool
) -> None:
    given = pod(container("1", "1Gi"), init=(container("1", "1Gi", sidecar=True),))
    assert (
        apply_defaults(given, Gates(version=version)).init_containers[0].is_restartable
        == is_restartable
    )
