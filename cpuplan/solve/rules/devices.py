"""Devices that a set is near, or has CPUs for."""

from collections import Counter
from collections.abc import Iterator

from cpuplan.base.cpuset import CpuSet, union
from cpuplan.base.text import joined
from cpuplan.language.model.inventory import Device
from cpuplan.language.model.sizes import Near
from cpuplan.plan import NodeClass
from cpuplan.solve.constraints import Within
from cpuplan.solve.rules.places import numbered
from cpuplan.solve.rules.rule import Rule, Statements
from cpuplan.solve.sets import SetSpec


def near_devices(statements: Statements) -> Iterator[Rule]:
    """A set near devices, or with CPUs for each of them, is on their NUMA nodes."""
    for spec in statements.sets.values():
        yield from on_nodes_of_devices(statements, spec)


def on_nodes_of_devices(statements: Statements, spec: SetSpec) -> Iterator[Rule]:
    """The rules of one set."""
    for key, wanted in (("near", spec.pool.near), ("perDevice", spec.pool.per_device)):
        if wanted is not None:
            nodes = CpuSet(nodes_of(statements, wanted))
            parts = statements.topology.numa_nodes
            cpus = union(parts[node] for node in nodes if node in parts)
            place = numbered("NUMA node", nodes)
            text = f"{spec.name} is near {device_words(wanted)}, on {place}"
            yield statements.rule(spec.name, f"{spec.field}.{key}", text, Within(spec.name, cpus))


def nodes_of(statements: Statements, near: Near) -> Counter[int]:
    """The NUMA nodes of the devices that match, with the number of these devices."""
    devices = matching(statements.node_class, near)
    return Counter(device.numa_node for device in devices if device.numa_node is not None)


def matching(node_class: NodeClass, near: Near) -> list[Device]:
    """The devices of the class that match every field of `near`."""
    return [
        device
        for device in node_class.devices
        if near.device in (None, device.name, device.address)
        and near.device_class in (None, device.device_class)
        and near.driver in (None, device.driver)
    ]


def device_words(near: Near) -> str:
    """`ens1f0`, `devices of class network and driver ice`."""
    if near.device:
        return near.device
    fields = {"class": near.device_class, "driver": near.driver}
    return f"devices of {joined([f'{key} {value}' for key, value in fields.items() if value])}"
