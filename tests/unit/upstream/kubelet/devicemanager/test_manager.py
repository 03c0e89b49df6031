"""Devices for containers. Rules: pkg/kubelet/cm/devicemanager/manager.go."""

from typing import Any

import pytest

from cpuplan.upstream.kubelet.devicemanager.manager import Choice, lowest
from cpuplan.upstream.kubelet.devicemanager.pod_devices import Device, Plugin
from cpuplan.upstream.kubelet.kubelet import Kubelet
from cpuplan.upstream.kubelet.machine import NodeMemory
from cpuplan.upstream.kubernetes.errors import KubeletError, refusal
from cpuplan.upstream.kubernetes.pod import Container, Pod, read_resources
from tests.conformance.kubelet.shapes import read_machine
from tests.machines.cputopologies import regular

GPU, NIC = "nvidia.com/gpu", "example.com/nic"
#: Two on each NUMA node.
EVEN = (0, 0, 1, 1)
SINGLE = {"topologyManagerPolicy": "single-numa-node"}


def plugin(
    *nodes: int | None, resource: str = GPU, unhealthy: tuple[int, ...] = (), prefers: bool = False
) -> Plugin:
    """Devices called by their numbers, each near one NUMA node or none."""
    devices = (
        Device(f"d{number}", None if node is None else (node,), number not in unhealthy)
        for number, node in enumerate(nodes)
    )
    return Plugin(resource, tuple(devices), prefers)


def start(*plugins: Plugin, **config: Any) -> Kubelet:
    """Two NUMA nodes of six cores with two threads, the first core reserved."""
    machine = read_machine(
        [(*row[:4], -1) for row in regular(2, 2, 6).rows],
        [NodeMemory(node, 16 << 30) for node in (0, 1)],
        {0: (10, 21), 1: (21, 10)},
    )
    static = {"cpuManagerPolicy": "static", "reservedSystemCPUs": "0,12", **config}
    return Kubelet(static, machine, plugins=plugins)


def container(name: str, *, cpu: int = 1, of_init: str = "", **devices: int) -> Container:
    """With CPUs and devices by the last word of their resource; `of_init`: init, or sidecar."""
    names = {"gpu": GPU, "nic": NIC}
    amounts: dict[str, str] = {names[word]: str(number) for word, number in devices.items()}
    resources = read_resources({"cpu": str(cpu), "memory": "1Mi", **amounts})
    is_sidecar = of_init == "sidecar"
    return Container(name, resources, resources, bool(of_init), is_sidecar)


def pod(uid: str, *containers: Container) -> Pod:
    init = tuple(given for given in containers if given.is_init)
    return Pod(uid, init, tuple(given for given in containers if not given.is_init), name=uid)


def devices(kubelet: Kubelet, uid: str, name: str = "c") -> dict[str, tuple[str, ...]]:
    return kubelet.devices.devices_of(uid, name)


def refused(kubelet: Kubelet, workload: Pod) -> tuple[str, str]:
    with pytest.raises(KubeletError) as caught:
        kubelet.admit(workload)
    return refusal(caught.value)


def test_devices_and_cpus_come_from_one_numa_node() -> None:
    kubelet = start(plugin(*EVEN), **SINGLE)
    kubelet.admit(pod("a", container("c", cpu=2, gpu=1)))
    assert devices(kubelet, "a") == {GPU: ("d0",)}
    kubelet.admit(pod("b", container("c", cpu=2, gpu=2)))
    assert devices(kubelet, "b") == {GPU: ("d2", "d3")}
    policy = kubelet.cpus.policy
    assert policy
    own = kubelet.cpus.state.entries["b"]["c"]
    assert own & ~policy.topology.numa_nodes[1] == 0
    text = "Resources cannot be allocated with Topology locality"
    assert refused(kubelet, pod("c", container("c", gpu=2))) == ("TopologyAffinityError", text)


def test_what_a_pod_had_is_free_again() -> None:
    kubelet = start(plugin(*EVEN), **SINGLE)
    for uid in ("a", "b"):
        kubelet.admit(pod(uid, container("c", gpu=2)))
    kubelet.remove("a")
    kubelet.admit(pod("c", container("c", gpu=2)))
    assert devices(kubelet, "c") == {GPU: ("d0", "d1")}


@pytest.mark.parametrize(
    ("plugins", "request_", "text"),
    [
        (plugin(0, 0, unhealthy=(0, 1)), 1, "no healthy devices present; cannot allocate"),
        (plugin(0, 1), 3, f"requested number of devices unavailable for {GPU}. Requested: 3, "),
    ],
)
def test_too_few_devices_without_a_topology_manager(
    plugins: Plugin, request_: int, text: str
) -> None:
    reason, message = refused(start(plugins), pod("a", container("c", gpu=request_)))
    assert reason == "UnexpectedAdmissionError"
    assert text in message


def test_unhealthy_devices_are_not_allocatable() -> None:
    kubelet = start(plugin(0, 0, 1, 1, unhealthy=(2,)))
    assert kubelet.allocatable[GPU].value == 3


def test_devices_without_numa_nodes_align_nothing() -> None:
    kubelet = start(plugin(None, None), **SINGLE)
    kubelet.admit(pod("a", container("c", cpu=12, gpu=2)))
    assert devices(kubelet, "a") == {GPU: ("d0", "d1")}


def test_init_containers_leave_their_devices_and_sidecars_keep_them() -> None:
    kubelet = start(plugin(*EVEN))
    containers = (
        container("first", of_init="init", gpu=3),
        container("beside", of_init="sidecar", gpu=1),
        container("c", gpu=2),
        container("d", gpu=1),
    )
    kubelet.admit(pod("a", *containers))
    given = [devices(kubelet, "a", of.name)[GPU] for of in containers]
    assert given == [("d0", "d1", "d2"), ("d0",), ("d1", "d2"), ("d3",)]


def test_the_topology_manager_takes_init_containers_into_account() -> None:
    kubelet = start(plugin(*EVEN), **SINGLE)
    kubelet.admit(pod("a", container("first", of_init="init", gpu=2), container("c", gpu=1)))
    assert devices(kubelet, "a") == {GPU: ("d0",)}


def test_scope_pod_counts_all_containers() -> None:
    kubelet = start(plugin(*EVEN), **SINGLE, topologyManagerScope="pod")
    kubelet.admit(pod("a", container("c", gpu=1)))
    kubelet.admit(pod("b", container("c", gpu=1), container("d", gpu=1)))
    assert devices(kubelet, "b") | {"d": devices(kubelet, "b", "d")[GPU]} == {
        GPU: ("d2",),
        "d": ("d3",),
    }


def test_two_resources_must_be_near_each_other() -> None:
    kubelet = start(plugin(*EVEN), plugin(1, resource=NIC), **SINGLE)
    kubelet.admit(pod("a", container("c", gpu=1, nic=1)))
    assert devices(kubelet, "a") == {NIC: ("d0",), GPU: ("d2",)}


def test_best_effort_takes_what_is_near_first() -> None:
    kubelet = start(plugin(*EVEN), topologyManagerPolicy="best-effort")
    kubelet.admit(pod("a", container("c", gpu=1)))
    kubelet.admit(pod("b", container("c", gpu=3)))
    assert devices(kubelet, "b") == {GPU: ("d1", "d2", "d3")}
    assert kubelet.devices.open == []


def last(choice: Choice) -> int:
    """The last of the devices."""
    return choice.among & ~lowest(choice._replace(needed=choice.among.bit_count() - choice.needed))


def test_which_of_the_devices_near_several_nodes_nobody_knows() -> None:
    kubelet = start(plugin(*EVEN), topologyManagerPolicy="best-effort")
    kubelet.devices.choose = last
    kubelet.admit(pod("a", container("c", cpu=14, gpu=1)))
    assert devices(kubelet, "a") == {GPU: ("d3",)}
    (choice,) = kubelet.devices.open
    assert (choice.resource, choice.needed, choice.among) == (GPU, 1, 0b1111)


@pytest.mark.parametrize(
    ("prefers", "taken", "choices"),
    [(False, ("d0", "d1", "d3"), 0), (True, ("d1", "d2", "d3"), 1)],
)
def test_a_plugin_may_prefer_devices_without_numa_nodes(
    prefers: bool, taken: tuple[str, ...], choices: int
) -> None:
    kubelet = start(plugin(1, 0, None, None, prefers=prefers), topologyManagerPolicy="best-effort")
    kubelet.devices.choose = last
    kubelet.admit(pod("a", container("c", gpu=3)))
    assert devices(kubelet, "a") == {GPU: taken}
    assert len(kubelet.devices.open) == choices


def test_devices_that_nothing_aligns_are_alike() -> None:
    kubelet = start(plugin(*EVEN))
    kubelet.admit(pod("a", container("c", gpu=1)))
    assert not kubelet.devices.open
    assert kubelet.devices.key() == ((GPU, (3,)),)


def test_a_restarted_kubelet_asks_no_plugin_for_running_containers() -> None:
    """Plugins register again when the pods are in (devicesToAllocate, its second scenario)."""
    kubelet = start(plugin(*EVEN), **SINGLE)
    workload = pod("a", container("c", gpu=2))
    kubelet.admit(workload)
    again = start(plugin(*EVEN), **SINGLE)
    again.devices.state = kubelet.devices.state
    again.begin_readmission()
    again.admit(workload)
    again.end_readmission()
    again.admit(pod("b", container("c", gpu=2)))
    assert devices(again, "b") == {GPU: ("d2", "d3")}
    changed = refused(again, pod("a", container("c", gpu=1)))
    text = 'pod "a" container "c" changed request for resource "nvidia.com/gpu" from 2 to 1'
    assert changed[0] == "TopologyAffinityError"
    assert text in refused(start_with(again), pod("a", container("c", gpu=1)))[1]


def start_with(other: Kubelet) -> Kubelet:
    """Without a topology manager, with the devices that another kubelet has given out."""
    kubelet = start(plugin(*EVEN))
    kubelet.devices.state = other.devices.state.copy()
    return kubelet
