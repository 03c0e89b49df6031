"""Devices of simulated nodes: where they come from, what is unknown, what decides nobody knows."""

from typing import Any

import pytest

from cpuplan.simulate import admission, devices
from cpuplan.simulate.allocators.base import GivenDevices
from cpuplan.simulate.allocators.kubelet import KubeletAllocator
from cpuplan.simulate.devices import Given
from cpuplan.simulate.planned import planned
from cpuplan.upstream.kubelet.devicemanager.pod_devices import Device, Plugin
from cpuplan.upstream.kubernetes import quantity
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.pod import Pod
from tests.machines.plans import plan, regular
from tests.machines.pods import named, pod

GPU = "nvidia.com/gpu"


def node(*near: int | None, prefers: bool = True, **fields: Any) -> KubeletAllocator:
    """Two NUMA nodes of eight CPUs, one of each reserved, and a device near each of `near`."""
    spec = {"kubelet": {"memoryManagerPolicy": "None", **fields}}
    made = plan(
        regular(sockets=2, cores=8),
        reserved="0,8",
        platform="kubernetes",
        version="1.36",
        spec=spec,
    )
    own = (Device(f"d{at}", None if of is None else (of,)) for at, of in enumerate(near))
    plugin = Plugin(GPU, tuple(own), prefers)
    return KubeletAllocator(planned(made)._replace(plugins=(plugin,)))


def workload(uid: str, cpus: int, gpus: int) -> Pod:
    amounts = {"cpu": str(cpus), "memory": "1Gi", GPU: str(gpus)}
    container = {"name": "c", "resources": {"requests": amounts, "limits": amounts}}
    return named(uid, pod(container))._replace(name=uid)


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("2@0,1@1", [(0,), (0,), (1,)]),
        ("1@0+1", [(0, 1)]),
        ("1@-,1@2", [None, (2,)]),
    ],
)
def test_devices_on_numa_nodes(text: str, near: list[tuple[int, ...] | None]) -> None:
    given = devices.read_given([f"example.com/nic={text}"])
    plugin = given.plugins["example.com/nic"]
    assert [device.nodes for device in plugin.devices] == near
    assert given.amounts["example.com/nic"].value == len(near)
    assert plugin.devices[0].id == "nic-0"


@pytest.mark.parametrize(
    "text",
    ["example.com/nic", "=1", "a/b=x", "a/b=2@", "a/b=@0", "a/b=2@0,", "a/b=2@x", "a/b=99999@0"],
)
def test_what_says_nothing(text: str) -> None:
    with pytest.raises(KubeletError):
        devices.read_given([text])


def test_the_last_word_on_a_resource_counts() -> None:
    given = devices.read_given(["a/b=2@0", "a/b=3"])
    assert not given.plugins
    assert given.amounts == {"a/b": quantity.of(3)}


def test_an_amount_that_is_not_that_of_the_devices_leaves_them_unknown() -> None:
    plugin = Plugin(GPU, (Device("a", (0,)), Device("b", (1,))))
    for amount, known in ((2, (plugin,)), (4, ())):
        assert Given({GPU: quantity.of(amount)}).on([plugin]) == known


def test_a_pod_gets_devices_near_its_cpus() -> None:
    allocator = node(0, 1, 1, topologyManagerPolicy="single-numa-node")
    big = workload("big", 4, 2)
    assert not allocator.admit(big).refused
    (placed,) = allocator.place(big)
    assert placed.devices == (GivenDevices(GPU, ("d1", "d2"), (1,)),)
    assert allocator.kubelet.allocatable[GPU].value == 3


def test_devices_decide_about_orders() -> None:
    """Each fits, and all fit if the large one comes first (pytorch/ci-infra #696)."""
    allocator = node(0, 0, 1, 1, topologyManagerPolicy="single-numa-node")
    small, other, big = workload("small", 4, 1), workload("other", 5, 1), workload("big", 2, 2)
    answer = admission.any_order(allocator, [small, other, big])
    assert answer.refused is not None
    assert answer.refused.reason == "TopologyAffinityError"
    assert not answer.depends
    assert admission.any_order(allocator, [small, other]).is_proven


def test_all_devices_that_the_kubelet_may_take_are_tried() -> None:
    """What `wide` leaves is near the CPUs that it leaves, or not."""
    strict: dict[str, Any] = {"topologyManagerPolicy": "restricted"}
    wide, small = workload("wide", 10, 3), workload("small", 4, 1)
    answer = admission.any_order(node(0, 0, 1, 1, **strict), [small, wide])
    assert answer.depends
    assert [pod.uid for pod in answer.failing] == ["wide", "small"]
    assert answer.works == ""
    allocator = node(0, 0, 1, 1, **strict)
    assert allocator.admit(wide).undetermined == (GPU,)
    for alone in ([wide], [small]):
        assert admission.any_order(node(0, 0, 1, 1, **strict), alone).is_proven


def test_what_is_undetermined_decides_nothing_without_a_topology_manager() -> None:
    allocator = node(0, 1, topologyManagerPolicy="none")
    assert not allocator.admit(workload("a", 1, 1)).undetermined


def test_the_topology_aware_policy_goes_by_devices_that_are_not_simulated() -> None:
    target = {"mechanism": "topology-aware"}
    made = plan(
        regular(sockets=2, cores=8),
        reserved="0,8",
        platform="kubernetes",
        version="1.36",
        target=target,
    )
    pods = [workload("a", 2, 1)]
    given = devices.read_given([f"{GPU}=1@0"])
    assert devices.unaligned([made], pods, given) == [GPU]
    (note,) = devices.notes([made], pods, given)
    assert "topology-aware policy chooses pools" in note
