"""The devices that the driver publishes of a node: what claims and DeviceClasses choose from.

They follow from the machine and the driver's configuration. Expected state for reviewers and
checkers; on a cluster the ResourceSlices belong to the driver.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cpuplan.base import yaml_values
from cpuplan.base.cpuset import CpuSet
from cpuplan.base.topology import Topology
from cpuplan.components.chosen import of_hardware, of_mechanism
from cpuplan.components.dra import driver
from cpuplan.components.emission import emit, render_by_key
from cpuplan.facts.settings import objects as rows
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Setting, Value, cpus_or_text, from_plain
from cpuplan.upstream.dra.api import CACHE_L3_ID, STANDARD_NUMA_NODE

if TYPE_CHECKING:
    from cpuplan.upstream.dra.builder import Device
    from cpuplan.upstream.dra.cpuinfo import Topology as Machine

NAME = rows.RESOURCE_SLICES
CPUS, ATTRIBUTES = rows.SLICE_CPUS.key, rows.SLICE_ATTRIBUTES.key


def settings(plan: NodePlan) -> Iterator[Setting]:
    """The CPUs behind all devices, how many there are, and what is told of each."""
    if not plan.node_class.target.has_dra:
        return
    made = of_plan(plan)
    hardware = of_hardware(plan, f"the inventory's {plan.node_class.hardware}")
    because = (hardware, of_mechanism(plan, "the driver publishes what is not reserved"))
    cpus = CpuSet.from_bits(sum(device.cpus for device in made))
    yield from emit(plan, rows.SLICE_CPUS, cpus, (*plan.pool("reserved").because, *because))
    yield from emit(plan, rows.SLICE_DEVICES, len(made), because)
    known = sorted({key for device in made for key in device.attributes})
    yield from emit(plan, rows.SLICE_ATTRIBUTES, tuple(known), because)


def of_plan(plan: NodePlan) -> list["Device"]:
    """The devices of a node of the plan's class."""
    given = {setting.key: setting.value for setting in driver.settings(plan)}
    made = devices(plan.topology, plan.pool("offlined").cpus, given)
    hidden = set() if driver.reads_file(plan) else {STANDARD_NUMA_NODE}
    return [_without(device, hidden) for device in made]


def of_settings(
    topology: Topology, offlined: CpuSet, own: Sequence[Setting], told: Mapping[str, Value]
) -> list["Device"]:
    """The same devices, of the driver's settings and those of this module."""
    made = devices(topology, offlined, {setting.key: setting.value for setting in own})
    names = told.get(ATTRIBUTES)
    shown = set(names) if isinstance(names, tuple) else set()
    return [_without(device, set(device.attributes) - shown) for device in made]


def devices(topology: Topology, offlined: CpuSet, settings: Mapping[str, Value]) -> list["Device"]:
    """The devices of a machine with this configuration of the driver, without unknown ids.

    An inventory may lack the kernel's ids of caches.
    """
    # For few plans, and it takes a while to load.
    from cpuplan.upstream.dra.builder import build
    from cpuplan.upstream.dra.driverconfig import Config

    config = Config(
        reserved_cpus=str(settings.get(rows.DRA_RESERVED.key, "")),
        cpu_device_mode=str(settings[rows.DRA_MODE.key]),
        group_by=str(settings.get(rows.DRA_GROUP_BY.key, "numanode")),
        publish_node_allocatable_resource_mapping=bool(settings.get(rows.DRA_MAPPING.key)),
    )
    return [_known(topology, device) for device in build(machine(topology, offlined), config)]


def machine(topology: Topology, offlined: CpuSet) -> "Machine":
    """The machine as the driver sees it when it starts."""
    from cpuplan.upstream.dra.cpuinfo import discover
    from cpuplan.upstream.nri.of_topology import files_of

    return discover(files_of(topology, CpuSet(), offlined))


def _known(topology: Topology, device: "Device") -> "Device":
    """A device with the kernel's id of its cache, where the inventory has it."""
    if CACHE_L3_ID not in device.attributes:
        return device
    cpus = CpuSet.from_bits(device.cpus)
    third = (cache for cache in topology.kubelet.caches if cache.level == 3)
    cache_id = next((cache.id for cache in third if cpus <= cache.cpus), None)
    if cache_id is None:
        return _without(device, {CACHE_L3_ID})
    return device._replace(attributes={**device.attributes, CACHE_L3_ID: cache_id})


def _without(device: "Device", hidden: set[str]) -> "Device":
    told = {key: value for key, value in device.attributes.items() if key not in hidden}
    return device._replace(attributes=told)


def document(plan: NodePlan) -> dict[str, Any]:
    """All devices, in the order in which schedulers look at them."""
    made = [device.fields() for device in of_plan(plan)]
    return {"nodes": list(plan.node_class.nodes), "devices": made}


render = render_by_key


def parse(text: str) -> dict[str, Value]:
    """The same of that YAML."""
    data = next(yaml_values.load_yaml11(text)) or {}
    return {key: _value(key, value) for key, value in data.items()}


def _value(key: str, value: Any) -> Value:
    return cpus_or_text(str(value)) if key == CPUS else from_plain(value)
