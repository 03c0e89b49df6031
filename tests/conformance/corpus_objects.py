"""Objects of a cluster, MachineInfo and Ironic's numa-topology against the recorded machines that
they describe.

Each of these formats sees a machine in its own way, which `views` and `expected_kubelet` of
expected.json tell. What a format does not tell is not compared.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from cpuplan import importers
from cpuplan.base.cpuset import CpuSet
from cpuplan.importers import join, objects
from cpuplan.importers.base import Imported, Machine, NumaFacts
from tests.conformance.comparing import differ, grouped, texts
from tests.conformance.round_trip import read_machine

#: koordlet runs lscpu, and its objects were made from what this one prints.
LSCPU = "lscpu 2.38.1"

Facts = dict[str, Any]
Groups = Iterable[CpuSet]


def check_koordinator(path: Path, expected: Facts) -> Iterator[str]:
    """CPU numbers by the annotation, as lscpu groups them, and the memory of the zones."""
    imported = importers.run(None, [path])
    yield from _problems(imported)
    for machine in _one_machine(imported):
        online = _online(expected)
        view = expected["views"].get(LSCPU, {})
        cores = _parsed(view["cores"]) if "cores" in view else _groups(online, "siblings")
        sockets = _parsed(view["sockets"]) if "sockets" in view else _groups(online, "socket")
        yield from differ("online", CpuSet(cpu["cpu"] for cpu in online), machine.online)
        yield from _differ_as_groups("cores", cores, machine.siblings)
        yield from _differ_as_groups("sockets", sockets, grouped(machine.sockets.items()))
        yield from _compare_numa(expected, machine, ("cpus", "memory"))


def check_exporter(path: Path, expected: Facts) -> Iterator[str]:
    """Zones without CPU numbers: refused alone, and what completes the machine that koordlet's
    object beside tells.
    """
    codes = [diagnostic.code for diagnostic in importers.run(None, [path]).diagnostics]
    yield from differ("diagnostics of the file alone", ["CP130"], codes)
    beside = path.with_name("nrt-koordinator.yaml")
    if not beside.exists():
        return
    imported = importers.run(None, [beside, path])
    yield from _problems(imported)
    for machine in _one_machine(imported):
        yield from differ("NUMA nodes", len(expected["numa"]), len(machine.numa_nodes))
        yield from _compare_numa(expected, machine, ("cpus", "memory", "distances", "huge pages"))


def check_node(path: Path, expected: Facts) -> Iterator[str]:
    """A Node object does not contradict the machine beside it, of which it was taken at the same
    time.
    """
    for each in objects.read(path).objects:
        yield from differ("capacity", len(_online(expected)), each.cpus)
        for archive in sorted(path.parent.glob("sysroot.tar.*")):
            node = importers.run(None, [archive]).nodes[0]
            joined, contradictions = join.complete(node, each)
            yield from (f"{found.code}: {found.message}" for found in contradictions)
            yield from differ("architecture", expected["arch"], joined.machine.architecture)
            return
    yield "there is no Node object, or no machine beside it"


def check_machineinfo(path: Path, expected: Facts) -> Iterator[str]:
    """The machine as the kubelet's static CPU manager works with it."""
    imported = importers.run(None, [path])
    yield from _problems(imported)
    kubelet = expected["expected_kubelet"]
    rows: list[tuple[int, ...]] = kubelet["cpu_core_socket_numa_uncore"]
    for machine in _one_machine(imported):
        yield from differ("online", CpuSet(row[0] for row in rows), machine.online)
        yield from _differ_as_groups(
            "cores", grouped((row[0], row[1]) for row in rows), machine.siblings
        )
        yield from differ("sockets", {row[0]: row[2] for row in rows}, machine.sockets)
        if not kubelet.get("differs_from_kernel_files"):
            core_ids = {cpu["cpu"]: cpu["core"] for cpu in _online(expected)}
            yield from differ("core ids", core_ids, machine.core_ids)
            wanted = _parsed(cache["cpus"] for cache in expected["caches"] if cache["level"] == 3)
            found = [cache.cpus for cache in machine.caches if cache.level == 3]
            yield from _differ_as_groups("level 3 caches", wanted, found)
            told = ("distances",) if any(node.distances for node in machine.numa_nodes) else ()
            yield from _compare_numa(expected, machine, ("cpus", "memory", *told))


def check_ironic(path: Path, expected: Facts) -> Iterator[str]:
    """Cores as pairs of NUMA node and core id, which is the collector's rule."""
    imported = importers.run(None, [path])
    yield from _problems(imported)
    for machine in _one_machine(imported):
        online = _online(expected)
        yield from differ("online", CpuSet(cpu["cpu"] for cpu in online), machine.online)
        cores = _groups(online, "numa", "core")
        yield from _differ_as_groups("cores", cores, machine.siblings)
        yield from differ("core ids", {cpu["cpu"]: cpu["core"] for cpu in online}, machine.core_ids)
        yield from _compare_numa(expected, machine, ("cpus", "memory"))


def _one_machine(imported: Imported) -> list[Machine]:
    return [node.machine for node in imported.nodes]


def _problems(imported: Imported) -> Iterator[str]:
    """What is wrong with the import, and with the documents that are written of it when they are
    read again.
    """
    made = read_machine(imported)
    yield from made.problems
    for _, topology in made.hardware:
        if topology is not None:
            yield from differ("CPUs read back", imported.nodes[0].machine.online, topology.online)


def _compare_numa(expected: Facts, machine: Machine, what: Iterable[str]) -> Iterator[str]:
    """The NUMA nodes, but for empty ones, of which some formats do not tell; and of what is None
    here or there.
    """
    found = {node.id: node for node in machine.numa_nodes}
    wanted = {node["id"]: node for node in expected["numa"]}
    required = {number for number, node in wanted.items() if node["cpus"] or node["memory_bytes"]}
    yield from differ("missing NUMA nodes", set(), required - found.keys())
    yield from differ("NUMA nodes that are none", set(), found.keys() - wanted)
    read: dict[str, Callable[[NumaFacts], object]] = {
        "cpus": lambda node: node.cpus,
        "memory": lambda node: node.memory,
        "distances": lambda node: node.distances,
        "huge pages": lambda node: {
            size: count for size, count in node.huge_pages.items() if count
        },
    }
    for number in sorted(wanted.keys() & found.keys()):
        node = wanted[number]
        truth = {
            "cpus": CpuSet.parse_kernel(node["cpus"]) & machine.online,
            "memory": node["memory_bytes"],
            "distances": tuple(node["distances"]) if node["distances"] else None,
            "huge pages": {int(size): count for size, count in node["hugepages"].items() if count},
        }
        for key in what:
            known = read[key](found[number])
            if truth[key] is not None and (known not in (None, ()) or node["cpus"]):
                yield from differ(f"NUMA node {number} {key}", truth[key], known)


def _online(expected: Facts) -> list[Facts]:
    return [cpu for cpu in expected["cpus"] if cpu["online"]]


def _groups(cpus: Iterable[Facts], *keys: str) -> list[CpuSet]:
    return grouped((cpu["cpu"], tuple(cpu[key] for key in keys)) for cpu in cpus)


def _parsed(texts: Iterable[str]) -> list[CpuSet]:
    return [CpuSet.parse_kernel(text) for text in texts]


def _differ_as_groups(what: str, expected: Groups, found: Groups) -> Iterator[str]:
    yield from differ(what, texts(expected), texts(found))
