"""What the scheduler's plugin NodeNUMAResource decides."""

from collections.abc import Iterator
from typing import Any

from cpuplan.koordinator.scheduler.allocated import Allocated
from cpuplan.koordinator.scheduler.cpu_accumulator import Wish, take_preferred_cpus
from cpuplan.koordinator.scheduler.ordering import Ordering
from cpuplan.koordinator.scheduler.topology import CpuRow, CPUTopology, topology_of
from cpuplan.kubelet.bits import parse_cpus, to_text
from cpuplan.kubelet.errors import KubeletError
from tests.conformance.operations import Judge

Json = dict[str, Any]


def topology(given: Json) -> CPUTopology:
    """The machine of a case: CPUs one by one, or a shape (vectors/koordinator/README.md)."""
    if "cpus" in given:
        return topology_of(tuple(tuple(row) for row in given["cpus"]))
    return topology_of(tuple(_rows(given)))


def _rows(shape: Json) -> list[CpuRow]:
    nodes, threads = shape["sockets"] * shape["nodesPerSocket"], shape["cpusPerCore"]
    cores = nodes * shape["coresPerNode"]
    numbering = shape.get("numbering", "adjacent")
    rows = []
    for core in range(cores):
        node = core % nodes if numbering == "interleaved" else core // shape["coresPerNode"]
        for thread in range(threads):
            cpu = core * threads + thread if numbering == "adjacent" else thread * cores + core
            rows.append((cpu, core, node // shape["nodesPerSocket"], node))
    return rows


def _take_cpus(given: Json) -> Json:
    allocated = Allocated()
    for pod in given.get("allocated", ()):
        cpus, policy = parse_cpus(pod["cpuset"]), pod["exclusivePolicy"]
        levels = allocated.levels
        allocated = allocated.plus(cpus, policy)
        if not pod["refCount"]:
            allocated = allocated._replace(levels=levels)
        for _ in range(1, pod["refCount"]):
            allocated = allocated.plus(cpus, policy)
    machine, is_shared = topology(given["topology"]), given["maxRefCount"] > 1
    ordering = Ordering(machine, given["numaStrategy"], allocated, is_shared)
    available, preferred = (parse_cpus(given.get(key, "")) for key in ("available", "preferred"))
    wish = Wish(given["bindPolicy"], given["exclusivePolicy"])
    try:
        cpus = take_preferred_cpus(ordering, available, preferred, given["needed"], wish)
    except KubeletError as error:
        return {"error": str(error)}
    return {"cpuset": to_text(cpus)}


def check_bug(case: Json) -> Iterator[str] | None:
    """Of a case where the real code gives more CPUs than asked for: what else differs.

    As many as asked for must come out, all but the last part of a core the same ones.
    """
    given, expected = case["input"], parse_cpus(case["expected"].get("cpuset", ""))
    if case["op"] != "take_cpus" or expected.bit_count() <= given["needed"]:
        return None
    found = parse_cpus(_take_cpus(given)["cpuset"])
    size = topology(given["topology"]).cpus_per_core
    is_right = (
        found.bit_count() == given["needed"]
        and not found & ~parse_cpus(given["available"])
        and (found & expected).bit_count() > given["needed"] - size
    )
    return iter([] if is_right else [f"cpuset is {to_text(found)}, not like {to_text(expected)}"])


KINDS: dict[str, Judge] = {"take_cpus": _take_cpus}
