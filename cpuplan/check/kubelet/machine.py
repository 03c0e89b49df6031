"""The node's machine as its kubelet finds it: the planned CPUs, and memory as it is."""

import re
from typing import NamedTuple

from cpuplan.base import nodetext
from cpuplan.check.roots.root import Root
from cpuplan.check.subject import Subject
from cpuplan.components import derived
from cpuplan.upstream.kubelet.machine import Machine, NodeMemory
from cpuplan.upstream.kubelet.sysinfo import machine_of, without

_NODES = "sys/devices/system/node"
_TOTAL = re.compile(r"^(?:Node [0-9]+ )?MemTotal:[ \t]+([0-9]{1,15}) kB", re.MULTILINE)
_PAGES = re.compile(r"hugepages-([0-9]{1,9})kB\Z")


class Found(NamedTuple):
    """The planned machine, and whether its memory is that of the node."""

    machine: Machine
    has_memory: bool


def machine(subject: Subject, *, cgroup_v1: bool) -> Found:
    """The planned CPUs that are to be online: whether they are is told by another step."""
    topology = subject.expected.topology
    offline = topology.online - subject.expected.cpus(derived.ONLINE)
    known = machine_of(without(topology, offline))
    nodes = (_memory(subject.root, node.id) for node in known.nodes)
    memory = tuple(node for node in nodes if node)
    has_memory = len(memory) == len(known.nodes)
    total = _total(subject.root.read("proc/meminfo") or "")
    if has_memory:
        known = known._replace(memory=memory, memory_capacity=total)
    return Found(known._replace(cgroup_v1=cgroup_v1), has_memory)


def _memory(root: Root, node: int) -> NodeMemory | None:
    """Memory and huge pages of a NUMA node; None where it is not here."""
    total = _total(root.read(f"{_NODES}/node{node}/meminfo") or "")
    if total is None:
        return None
    folder = f"{_NODES}/node{node}/hugepages"
    pages = (_pages(root, folder, name) for name in root.names(folder))
    return NodeMemory(node, total, tuple(page for page in pages if page))


def _pages(root: Root, folder: str, name: str) -> tuple[int, int] | None:
    """(size in KiB, number)."""
    match, text = _PAGES.match(name), root.read(f"{folder}/{name}/nr_hugepages")
    number = nodetext.natural(text or "")
    return None if match is None or number is None else (int(match[1]), number)


def _total(text: str) -> int | None:
    match = _TOTAL.search(text)
    return int(match[1]) * 1024 if match else None
