"""The machine: CPUs, cores, packages, NUMA nodes, memory, model, and devices."""

import re
from collections.abc import Iterator

from cpuplan.base.cpuset import CpuSet
from tests.mutation.image import Content
from tests.mutation.mutation import Case, Mutation

CPU = "sys/devices/system/cpu"
NODE = "sys/devices/system/node"


def mutations(case: Case) -> Iterator[Mutation]:
    """Of what the inventory says."""
    online = case.expected.cpus("online CPUs")
    yield from _cpus(case, online)
    yield from _numa(case)
    yield from _cores(case, online)
    yield from _memory(case)
    yield from _model(case)
    yield from _devices(case)


def _cpus(case: Case, online: CpuSet) -> Iterator[Mutation]:
    if case.image.text(f"{CPU}/online") is None:
        return
    last = CpuSet([online.last])
    fewer: dict[str, Content] = {
        f"{CPU}/online": f"{online - last}\n",
        f"{CPU}/offline": f"{(case.expected.topology.online - online) | last}\n",
        f"{CPU}/cpu{online.last}/online": "0\n",
    }
    for cpu in case.expected.topology.siblings(online.last) & online:
        left = case.expected.topology.siblings(cpu) & online - last
        for name in ("thread_siblings_list", "core_cpus_list"):
            fewer[f"{CPU}/cpu{cpu}/topology/{name}"] = f"{left}\n"
    fewer[f"{CPU}/cpu{online.last}/topology"] = None
    yield Mutation("machine", "a CPU is off", fewer, "online|offline", "cache|CP839")
    present = case.expected.topology.online | case.expected.topology.offline
    off = present - online
    if off:
        more: dict[str, Content] = {f"{CPU}/online": f"{online | CpuSet([off.first])}\n"}
        yield Mutation("machine", "an offlined CPU is on", more, "online|offline", "cache|CP839")
    fewer_present: dict[str, Content] = {
        f"{CPU}/present": f"{present - CpuSet([present.last])}\n",
        f"{CPU}/possible": f"{present - CpuSet([present.last])}\n",
    }
    if case.image.text(f"{CPU}/present"):
        yield Mutation("machine", "a CPU is not present", fewer_present, "present|possible|CPU")


def _numa(case: Case) -> Iterator[Mutation]:
    nodes = sorted(case.expected.topology.numa_facts)
    lists = {node: case.image.text(f"{NODE}/node{node}/cpulist") for node in nodes}
    if len(nodes) < 2 or any(text is None for text in lists.values()):
        return
    first, second = (CpuSet.parse_kernel(str(lists[node]).strip()) for node in nodes[:2])
    taken = CpuSet([second.first])
    changes: dict[str, Content] = {
        f"{NODE}/node{nodes[0]}/cpulist": f"{first | taken}\n",
        f"{NODE}/node{nodes[1]}/cpulist": f"{second - taken}\n",
        f"{NODE}/node{nodes[0]}/cpumap": f"{(first | taken).short_mask()}\n",
        f"{NODE}/node{nodes[1]}/cpumap": f"{(second - taken).short_mask()}\n",
    }
    yield Mutation("machine", "a CPU is on another NUMA node", changes, "NUMA")
    distance = case.image.text(f"{NODE}/node{nodes[0]}/distance")
    if distance and case.expected.topology.numa_facts[nodes[0]].distances:
        other = {f"{NODE}/node{nodes[0]}/distance": distance.replace("21", "31")}
        yield Mutation("machine", "another distance", other, "distance")


def _cores(case: Case, online: CpuSet) -> Iterator[Mutation]:
    topology = f"{CPU}/cpu{online.last}/topology"
    for name, about in (
        ("core_id", "core"),
        ("physical_package_id", "package|socket"),
    ):
        text = case.image.text(f"{topology}/{name}")
        if text is not None:
            changes = {f"{topology}/{name}": f"{int(text) + 64}\n"}
            yield Mutation("machine", f"another {name}", changes, about, "core|socket|siblings")
    siblings = case.expected.topology.siblings(online.first) & online
    if len(siblings) > 1:
        alone: dict[str, Content] = {
            f"{CPU}/cpu{cpu}/topology/{name}": f"{cpu}\n"
            for cpu in online
            for name in ("thread_siblings_list", "core_cpus_list")
        }
        yield Mutation("machine", "cores without threads", alone, "sibling|thread|core|SMT")


def _memory(case: Case) -> Iterator[Mutation]:
    for node in case.expected.topology.numa_facts:
        path = f"{NODE}/node{node}/meminfo"
        text = case.image.text(path)
        if text and case.expected.topology.numa_facts[node].memory:
            half = re.sub(
                r"MemTotal:(\s*)(\d+)", lambda m: f"MemTotal:{m[1]}{int(m[2]) // 2}", text
            )
            yield Mutation("machine", f"half the memory on node {node}", {path: half}, "memory")


def _model(case: Case) -> Iterator[Mutation]:
    text = case.image.text("proc/cpuinfo")
    if text and "model name" in text:
        other = re.sub(r"(?m)^(model name\s*: ).*$", r"\1AMD EPYC 9654 96-Core Processor", text)
        other = re.sub(r"(?m)^(vendor_id\s*: ).*$", r"\1AuthenticAMD", other)
        yield Mutation("machine", "another model", {"proc/cpuinfo": other}, "model|vendor")


def _devices(case: Case) -> Iterator[Mutation]:
    for device in case.expected.devices:
        path = f"sys/bus/pci/devices/{device.address}/numa_node"
        text = case.image.text(path)
        if device.numa_node is not None and text:
            changes = {path: f"{1 - int(text)}\n"}
            yield Mutation("machine", f"{device.address} moved", changes, device.address)
            gone: dict[str, Content] = {f"sys/bus/pci/devices/{device.address}": None}
            yield Mutation("machine", f"{device.address} gone", gone, device.address, "queues")
