"""The simulated kubelet's machine from sysfs trees, against that of cAdvisor and the kubelet.

A tree is imported, written as documents and read back, as a machine of the corpus is.
"""

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from cpuplan.importers.sysroot import reader as sysroot
from cpuplan.upstream.kubelet.machine import Machine, MachineNode
from cpuplan.upstream.kubelet.sysinfo import cpu_topology, machine_of, number_of_cpus
from tests.conformance.comparing import judge_lines
from tests.conformance.kubelet import differ
from tests.conformance.kubelet.shapes import topology_json
from tests.conformance.round_trip import read_back

Json = dict[str, Any]
VECTORS = (
    Path(__file__).parents[2].parent / "shared" / "vectors" / "kubelet" / "machineinfo.jsonl.gz"
)
#: What the inventory does not hold: pages that are set aside are the plan's, caches of whole nodes
#: nobody uses.
_LEFT_OUT = ("hugepages", "nodeCaches")


def run(paths: Iterable[Path] = ()) -> Iterator[tuple[str, list[str]]]:
    """(vector, what differs) for the vectors in the files `paths`."""
    for path in paths or (VECTORS,):
        yield from judge_lines(path, _check)


def _check(vector: Json) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        yield from check(vector, Path(folder))


def check(vector: Json, root: Path) -> Iterator[str]:
    """What is not as the kubelet sees it; `root` is an empty folder."""
    for name in vector["input"].get("dirs") or ():
        (root / name).mkdir(parents=True, exist_ok=True)
    for name, text in vector["input"]["files"].items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    made = read_back(sysroot.read(root))
    yield from made.problems
    topology = made.hardware[0][1]
    if topology is None:
        return
    machine, expected = machine_of(topology), vector["expected"]
    nodes = [_node(node, machine) for node in sorted(machine.nodes)]
    found = {
        "nodes": nodes,
        "numCores": number_of_cpus(topology, machine.nodes),
        "numSockets": machine.sockets,
        "topology": topology_json(cpu_topology(topology)),
    }
    wanted = {**expected, "nodes": [_known(node) for node in expected["nodes"]]}
    wanted["topology"]["cpus"].sort()
    for node, other in zip(nodes, wanted["nodes"], strict=False):
        if other["distances"] is None:  # no NUMA nodes: the simulator assumes memory and distances
            other |= {key: node[key] for key in ("distances", "memory")}
    if difference := differ(wanted, found, ""):
        yield difference


def _known(node: Json) -> Json:
    return {key: value for key, value in node.items() if key not in _LEFT_OUT}


def _node(node: MachineNode, machine: Machine) -> Json:
    cores = [
        {
            "id": core.id,
            "socket": core.socket,
            "threads": list(core.threads),
            "uncoreCaches": list(core.uncore_caches),
        }
        for core in node.cores
    ]
    memory = {each.id: each.memory for each in machine.memory}
    distances = list(machine.distances[node.id])
    return {"id": node.id, "memory": memory[node.id], "distances": distances, "cores": cores}
