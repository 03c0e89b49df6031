"""lscpu's output against `expected.json`: its own view of a machine where that is not the kernel's.

A view that has no groups of a kind stands for what an import then takes: each CPU is a core, there
is one socket and one NUMA node, 0.
"""

import re
from collections.abc import Callable, Hashable, Iterable, Iterator
from pathlib import Path
from typing import Any

from cpuplan import importers
from cpuplan.base.cpuset import CpuSet
from cpuplan.base.topology import UNKNOWN, Topology
from cpuplan.fleet.hardware import UNCORE_LEVEL
from cpuplan.importers.base import Imported
from cpuplan.language.model.inventory import HardwareSpec
from tests.conformance.comparing import differ, grouped
from tests.conformance.round_trip import read_back

Facts = dict[str, Any]
#: The version that wrote a file; see the corpus's README.
_NEW, _OLD = "lscpu 2.43-devel", "lscpu 2.38.1"
_SUMMARY = "lscpu summary"
# a warning: one core number for several cores, which is the view of both versions on such machines
_DOUBTFUL = "CP138"


def check_table(path: Path, expected: Facts) -> Iterator[str]:
    """A table with lscpu's numbers: CPUs, cores, sockets, NUMA nodes and L3 domains, as groups."""
    view = _view(expected, _NEW if "2.43" in path.name else _OLD)
    if not view["cpus"]:
        yield from differ("diagnostics", ["CP124"], _codes(importers.run(None, [path])))
        return
    imported = importers.run(None, [path])
    unlike = len(_models(path)) > 1
    cores = _kernel(expected)["cores"] if unlike else view["cores"]
    problems = [] if unlike or not _merged(expected, cores) else [_DOUBTFUL]
    yield from differ("diagnostics", problems, _codes(imported))
    yield from _compare(imported, {**view, "cores": cores}, with_caches=True)
    offline = CpuSet(cpu["cpu"] for cpu in expected["cpus"] if not cpu["online"])
    if path.name != "lscpu-p.txt" and (found := imported.nodes[0].machine.offline) != offline:
        # sparc's dump lists CPUs as offline that have no folder: lscpu does not know them.
        yield from differ("offline", CpuSet(), found)


def check_ids(path: Path, expected: Facts) -> Iterator[str]:
    """A table with the kernel's ids (-y): each CPU's labels, and as cores those of one id in one
    socket and node.
    """
    if not _view(expected, _OLD)["cpus"]:
        yield from differ("diagnostics", ["CP124"], _codes(importers.run(None, [path])))
        return
    imported = importers.run(None, [path])
    online = [cpu for cpu in expected["cpus"] if cpu["online"]]
    # /proc/cpuinfo's ids are not printed
    cores = _groups(online, _labelled) if _view(expected, _OLD)["cores"] else []
    widths = {len(CpuSet.parse(core)) for core in cores}
    in_books = any(cpu.get("book") is not None for cpu in online)
    impossible = not widths <= {1, 2, 4, 8} or (in_books and widths != {1})
    impossible |= _looks_counted(online, cores)
    yield from differ("diagnostics", [_DOUBTFUL] if impossible else [], _codes(imported))
    numa = _view(expected, _OLD)["numa"]
    sockets = _groups(
        [cpu for cpu in online if (cpu["socket"] or 0) >= 0], lambda cpu: cpu["socket"]
    )
    view = {
        "cpus": str(CpuSet(cpu["cpu"] for cpu in online)),
        "cores": cores,
        "sockets": sockets,
        "numa": numa,
    }
    yield from _compare(imported, view, with_caches=False)
    for spec, topology in read_back(imported).hardware:
        for cpu in online if topology else ():
            known = (
                (cpu["core"] or 0) >= 0
                and cpu["core"] is not None
                and bool(imported.nodes[0].machine.core_ids)
            )
            if known and topology and spec:
                yield from differ(
                    f"cpu {cpu['cpu']} core", cpu["core"], topology[cpu["cpu"]].core_id
                )


def check_summary(path: Path, expected: Facts) -> Iterator[str]:
    """A summary: counts, NUMA nodes and model; siblings and sockets as lscpu sees them, or a
    refusal in its place.
    """
    view = expected["views"][_SUMMARY]
    imported = importers.run(None, [path])
    if _codes(imported) == ["CP136"]:
        yield from _refusal(view, imported.diagnostics[0].message)
        return
    yield from differ("diagnostics", [], _codes(imported))
    yield from _compare_summary(imported, view)
    whole = _view(expected, _OLD)
    threads = int(view.get("threads_per_core", 0))
    cores = whole["cores"] if threads > 1 else []
    sockets = whole["sockets"] if int(view.get("sockets", 0)) > 1 else []
    found = read_back(imported).hardware[0][1]
    if found:
        yield from differ(
            "cores", _cpus(cores) or _each(found.online), _sorted(found.cores.values())
        )
        yield from differ(
            "sockets", _cpus(sockets) or [str(found.online)], _sorted(found.sockets.values())
        )


def check_together(path: Path, expected: Facts) -> Iterator[str]:
    """A table and the summary beside it: the CPUs of the one, the model and NUMA nodes of the
    other.
    """
    view = _view(expected, _OLD)
    summary = expected["views"][_SUMMARY]
    if not view["cpus"]:
        return
    imported = importers.run(None, [path, path.with_name("lscpu.json")])
    threads = int(summary.get("threads_per_core", 0))
    cores = view["cores"] if threads != 1 else _each(CpuSet.parse(view["cpus"]))
    yield from differ("diagnostics", [], _codes(imported))
    yield from _compare_summary(imported, summary)
    yield from _compare(imported, {**view, "cores": cores, "numa": None}, with_caches=True)
    yield from _cache_facts(imported, expected)


def _codes(imported: Imported) -> list[str]:
    """Each code once: one is found for each thing that shows it."""
    return list(dict.fromkeys(diagnostic.code for diagnostic in imported.diagnostics))


def _models(path: Path) -> set[str]:
    """The model names in a table, which only new versions print."""
    return (
        set()
        if path.suffix in (".txt", ".gz")
        else set(re.findall(r'"modelname": "([^"]+)"', path.read_text()))
    )


def _view(expected: Facts, version: str) -> Facts:
    """The groups that a version sees: those recorded for it, else the kernel's, with which it
    agrees.
    """
    found: Facts = expected["views"].get(version) or _kernel(expected)
    if version not in expected["views"] and version not in expected["agree"]:
        raise AssertionError(f"the corpus does not say what {version} sees")
    return found


def _kernel(expected: Facts) -> Facts:
    cpus = [cpu for cpu in expected["cpus"] if cpu["online"]]
    # Itanium's cache maps are empty: there lscpu lists no cache that it could number.
    mapped = all(cache["cpus"] for cache in expected["caches"] if cache["level"] == UNCORE_LEVEL)
    return {
        "cpus": str(CpuSet(cpu["cpu"] for cpu in cpus)),
        "cores": sorted(
            {str(CpuSet.parse_kernel(cpu["siblings"])) for cpu in cpus if cpu["siblings"]}
        ),
        "sockets": _groups(
            [cpu for cpu in cpus if (cpu["socket"] or 0) >= 0], lambda cpu: cpu["socket"]
        ),
        "l3": _groups(
            [cpu for cpu in cpus if mapped and cpu["l3"] is not None], lambda cpu: cpu["l3"]
        ),
        "numa": {str(node["id"]): node["cpus"] for node in expected["numa"] if node["cpus"]},
    }


def _groups(cpus: Iterable[Facts], key: Callable[[Facts], Hashable]) -> list[str]:
    return _sorted(grouped((cpu["cpu"], key(cpu)) for cpu in cpus))


def _labelled(cpu: Facts) -> tuple[Hashable, ...]:
    if cpu["core"] is None or cpu["core"] < 0:
        return (cpu["cpu"],)
    return -1, cpu.get("drawer"), cpu.get("book"), cpu["socket"], cpu["numa"], cpu["core"]


def _looks_counted(online: Iterable[Facts], cores: Iterable[str]) -> bool:
    """Whether the kernel's ids are as if lscpu had counted kinds of cores one after the other."""
    ids = list(dict.fromkeys(cpu["core"] for cpu in online))
    apart = any(CpuSet.parse(core).last - CpuSet.parse(core).first > 7 for core in cores)
    one_socket = len({cpu["socket"] for cpu in online}) == 1
    return one_socket and apart and ids == list(range(len(ids)))


def _merged(expected: Facts, cores: Iterable[str]) -> bool:
    """Whether a core of the view has CPUs of several of the kernel's."""
    kernel = [CpuSet.parse(core) for core in _kernel(expected)["cores"]]
    return any(sum(bool(CpuSet.parse(core) & other) for other in kernel) > 1 for core in cores)


def _cpus(groups: Iterable[str]) -> list[str]:
    return _sorted(map(CpuSet.parse_kernel, groups))


def _each(cpus: CpuSet) -> list[str]:
    return _sorted(CpuSet((cpu,)) for cpu in cpus)


def _sorted(groups: Iterable[CpuSet]) -> list[str]:
    return [str(cpus) for cpus in sorted(groups, key=lambda cpus: cpus.last) if cpus]


def _built(imported: Imported) -> tuple[HardwareSpec | None, Topology | None, list[str]]:
    made = read_back(imported)
    if len(made.hardware) != 1:
        return None, None, [*made.problems, f"{len(made.hardware)} machines"]
    return *made.hardware[0], made.problems


def _compare(imported: Imported, view: Facts, *, with_caches: bool) -> Iterator[str]:
    """Groups of a table; `numa` of None is not compared."""
    _, topology, problems = _built(imported)
    yield from problems
    if topology is None:
        return
    online = CpuSet.parse_kernel(view["cpus"])
    yield from differ("cpus", online, topology.online)
    yield from differ(
        "cores", _cpus(view["cores"]) or _each(online), _sorted(topology.cores.values())
    )
    sockets = {number: cpus for number, cpus in topology.sockets.items() if number != UNKNOWN}
    yield from differ("sockets", _cpus(view["sockets"]) or [str(online)], _sorted(sockets.values()))
    if with_caches:
        # a row with fewer caches than columns may share any of them: all are left open
        is_open = any("fewer caches are listed" in remark for remark in imported.remarks)
        third = [] if is_open else _cpus(view["l3"])
        yield from differ("l3", third, _sorted(topology.uncore_caches.values()))
    if view["numa"] is not None:
        nodes = {
            int(number): CpuSet.parse_kernel(cpus) & online for number, cpus in view["numa"].items()
        }
        found = {number: cpus for number, cpus in topology.numa_nodes.items() if number != UNKNOWN}
        yield from differ("numa", nodes or {0: online}, found)


def _compare_summary(imported: Imported, view: Facts) -> Iterator[str]:
    """CPUs, model, and every NUMA node that the summary lists; of a CPU that several claim, the
    first has it.
    """
    spec, topology, problems = _built(imported)
    yield from problems
    if spec is None or topology is None or spec.topology is None:
        return
    yield from differ("online", CpuSet.parse_kernel(view["online"]), topology.online)
    yield from differ("offline", CpuSet.parse_kernel(view.get("offline", "")), topology.offline)
    yield from differ("count", int(view["cpus"]), len(topology.online | topology.offline))
    model = " ".join(view.get("model", "-").split())
    if model != "-":  # newer versions know more of the models that have no name in /proc/cpuinfo
        yield from differ("model", model, spec.model)
    found = {node.id: node.cpus or CpuSet() for node in spec.topology.numa_nodes}
    yield from differ("numa", _nodes(view, topology.online | topology.offline), found)


def _nodes(view: Facts, present: CpuSet) -> dict[int, CpuSet]:
    """The NUMA nodes; of a CPU that several list, the first has it."""
    nodes = {}
    for number, cpus in view["numa"].items() or [("0", str(present))]:
        listed = CpuSet.parse_kernel(re.sub(r":(\d+)(?=,|$)", r":1/\1", cpus or ""))
        nodes[int(number)] = listed & present
        present -= listed
    return nodes


def _refusal(view: Facts, message: str) -> Iterator[str]:
    """A refusal is right where the numbers do not add up, or no two NUMA nodes show how CPUs are
    numbered.
    """
    online = CpuSet.parse_kernel(view["online"])

    def count(key: str) -> int:
        return int(view.get(key, 1))

    threads, per_socket = count("threads_per_core"), count("cores_per_socket")
    sockets = (
        count("sockets") * count("sockets_per_book") * count("books_per_drawer") * count("drawers")
    )
    nodes = [cpus for cpus in _nodes(view, online).values() if cpus]
    whole = threads * per_socket * sockets == len(online)
    if sockets > 1 and (not whole or len(nodes) % sockets or not nodes):
        return
    if threads > 1 and (not whole or len(nodes) < 2):
        return
    yield f"it is refused without need: {message}"


def _cache_facts(imported: Imported, expected: Facts) -> Iterator[str]:
    """Sizes and ids where they are told. Sizes are rounded to tenths; kernels before 4.11 have no
    ids on x86.
    """
    kernel = {
        (
            cache["level"],
            cache["type"],
            CpuSet.parse_kernel(cache["cpus"]) & imported.nodes[0].machine.online,
        ): cache
        for cache in expected["caches"]
    }
    for cache in imported.nodes[0].machine.caches:
        known = kernel.get((cache.level, cache.type, cache.cpus))
        if known is None:
            continue
        what = f"level {cache.level} of {cache.cpus}"
        if cache.size is not None and abs(cache.size - known["size_bytes"]) > cache.size / 100:
            yield from differ(f"size of {what}", known["size_bytes"], cache.size)
        if cache.id is not None and known["id"] is not None:
            yield from differ(f"id of {what}", known["id"], cache.id)
