"""Which devices plugins offer: rows of a Hardware, and what vendors' plugins do."""

from typing import Any

import pytest

from cpuplan.fleet import device_plugins
from cpuplan.language.model.inventory import Device, DevicePlugin
from cpuplan.plan import NodeClass
from tests.machines.plans import plan

GPUS = (
    {"address": "0000:53:00.0", "class": "gpu", "vendor": "0x10DE", "numaNode": 0},
    {"address": "0000:97:00.0", "class": "gpu", "vendor": "10de", "numaNode": 1},
)
NIC = {
    "address": "0000:17:00.0",
    "class": "network",
    "vendor": "8086",
    "device": "0x1593",
    "driver": "ice",
    "name": "ens1f0",
    "numaNode": 1,
    "functions": 3,
}


def read(devices: tuple[dict[str, Any], ...]) -> tuple[Device, ...]:
    return tuple(map(Device.model_validate, devices))


def of_class(*sets: tuple[dict[str, Any], ...], rows: tuple[dict[str, Any], ...] = ()) -> NodeClass:
    made = plan().node_class
    made.device_sets = tuple(map(read, sets))
    made.device_plugins = tuple(map(DevicePlugin.model_validate, rows))
    return made


def offered(node_class: NodeClass) -> dict[str, list[tuple[str, tuple[int, ...] | None]]]:
    made = {}
    for plugin in device_plugins.plugins_of(node_class):
        made[plugin.resource] = [(device.id, device.nodes) for device in plugin.devices]
    return made


def test_gpus_of_vendors_are_known() -> None:
    gpus = [("0000:53:00.0", (0,)), ("0000:97:00.0", (1,))]
    assert offered(of_class((*GPUS, NIC))) == {"nvidia.com/gpu": gpus}


@pytest.mark.parametrize(
    ("change", "resources"),
    [
        ({"driver": "vfio-pci"}, []),
        ({"driver": "nvidia"}, ["nvidia.com/gpu"]),
        ({"vendor": "NVIDIA Corporation"}, ["nvidia.com/gpu"]),
        ({"vendor": "1002", "driver": "amdgpu", "class": "accelerator"}, ["amd.com/gpu"]),
        ({"vendor": "8086", "driver": "xe"}, ["gpu.intel.com/xe"]),
        ({"class": "network"}, []),
    ],
)
def test_what_a_vendors_plugin_offers(change: dict[str, Any], resources: list[str]) -> None:
    assert list(offered(of_class(({**GPUS[0], **change},)))) == resources


@pytest.mark.parametrize(
    ("row", "ids"),
    [
        ({"names": ["ens1f0"], "count": 2}, ["0000:17:00.0/0", "0000:17:00.0/1"]),
        ({"class": "network", "functions": True}, [f"0000:17:00.0/{at}" for at in range(3)]),
        ({"vendors": ["0x8086"], "devices": ["1593"]}, ["0000:17:00.0"]),
        ({"addresses": ["0000:17:00.0"], "drivers": ["ice"]}, ["0000:17:00.0"]),
        ({}, ["0000:53:00.0", "0000:97:00.0", "0000:17:00.0"]),
    ],
)
def test_rows_select_devices(row: dict[str, Any], ids: list[str]) -> None:
    made = offered(of_class((*GPUS, NIC), rows=({"resource": "example.com/nic", **row},)))
    assert [name for name, _ in made["example.com/nic"]] == ids


def test_a_row_takes_the_place_of_what_is_known() -> None:
    row = {"resource": "nvidia.com/gpu", "class": "gpu", "numaNodes": False}
    assert offered(of_class(GPUS, rows=(row,))) == {
        "nvidia.com/gpu": [("0000:53:00.0", None), ("0000:97:00.0", None)]
    }


def test_rows_of_one_resource_add_up() -> None:
    rows = (
        {"resource": "a/b", "class": "network", "preferredAllocation": False},
        {"resource": "a/b", "vendors": ["8086"], "preferredAllocation": False},
        {"resource": "a/b", "class": "gpu", "preferredAllocation": False},
    )
    (plugin, _) = device_plugins.plugins_of(of_class((*GPUS, NIC), rows=rows))
    assert len(plugin.devices) == 3
    assert not plugin.may_prefer


def test_nodes_with_unlike_devices_of_a_resource_leave_it_unknown() -> None:
    assert offered(of_class(GPUS, GPUS[:1])) == {}
    assert "nvidia.com/gpu" in offered(of_class(GPUS, (*GPUS, NIC)))
