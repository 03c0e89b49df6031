"""The devices that the driver publishes."""

from cpuplan.upstream.dra.builder import build, shared_pool, slices
from cpuplan.upstream.dra.cpuinfo import discover
from cpuplan.upstream.dra.driverconfig import Config
from cpuplan.upstream.kubernetes.bits import to_text
from tests.machines.nrifiles import regular

DUAL = discover(regular(2, 4))  # node 0: 0-3,8-11; node 1: 4-7,12-15


def test_a_device_for_each_node() -> None:
    devices = build(DUAL, Config(reserved_cpus="0,8"))
    assert [(device.name, device.capacity) for device in devices] == [
        ("cpudevnuma000", 6),
        ("cpudevnuma001", 8),
    ]
    assert devices[1].fields() == {
        "name": "cpudevnuma001",
        "attributes": {
            "dra.cpu/numCPUs": {"int": 8},
            "dra.cpu/numaNodeID": {"int": 1},
            "dra.cpu/smtEnabled": {"bool": True},
            "dra.cpu/socketID": {"int": 1},
            "dra.net/numaNode": {"int": 1},
            "resource.kubernetes.io/numaNode": {"int": 1},
        },
        "capacity": {"dra.cpu/cpu": {"value": "8"}},
        "allowMultipleAllocations": True,
    }


def test_a_group_without_cpus_is_left_out_but_not_the_machine() -> None:
    reserved = Config(reserved_cpus="0-15", group_by="socket")
    assert build(DUAL, reserved) == []
    assert [device.capacity for device in build(DUAL, reserved._replace(group_by="machine"))] == [0]


def test_bug_the_machine_counts_cpus_that_no_claim_gets() -> None:
    machine = discover(regular(2, 4)._replace(caches=()))
    config = Config(group_by="machine")
    assert [device.capacity for device in build(machine, config)] == [16]
    assert shared_pool(machine, config) == 0


def test_siblings_are_neighbours_and_numbers_are_not_those_of_cpus() -> None:
    devices = build(DUAL, Config(cpu_device_mode="individual", reserved_cpus="0,9"))
    assert [to_text(device.cpus) for device in devices[:5]] == ["1", "2", "10", "3", "11"]
    assert [device.name for device in devices[:2]] == ["cpudev000", "cpudev001"]


def test_mapped_to_what_the_node_can_give() -> None:
    config = Config(publish_node_allocatable_resource_mapping=True)
    mappings = [
        build(DUAL, config._replace(cpu_device_mode=mode))[0].fields()["nodeAllocatableResources"]
        for mode in ("grouped", "individual")
    ]
    assert mappings == [
        {"cpu": {"mapping": {"capacityKey": "dra.cpu/cpu", "capacityMultiplier": "1"}}},
        {"cpu": {"mapping": {"deviceMultiplier": "1"}}},
    ]


def test_a_slice_has_128_devices_and_64_with_lists() -> None:
    config = Config(cpu_device_mode="individual")
    devices = build(discover(regular(2, 40)), config)
    assert [len(part) for part in slices(devices, config)] == [128, 32]
    assert len(slices(devices, config._replace(expose_pcie_roots=True))) == 3


def test_bug_the_socket_of_a_node_that_spans_sockets_is_one_by_chance() -> None:
    files = regular(2, 2)
    spanning = files._replace(cpus=tuple(cpu._replace(node=0) for cpu in files.cpus))
    (device,) = build(discover(spanning), Config())
    assert device.attributes["dra.cpu/socketID"] is None
