"""Every recorded machine with a reserved core on each NUMA node, and the rest isolated."""

import json
from pathlib import Path

import pytest

from cpuplan import importers
from cpuplan.base.cpuset import CpuSet
from cpuplan.base.topology import UNKNOWN, Topology
from cpuplan.diagnostics import CpuplanError
from cpuplan.plan import NodePlan
from cpuplan.solve import solver
from tests.conformance.round_trip import read_back
from tests.projects import SHARED, needs_shared
from tests.unit.solve.problems import locate, node_class

CORPUS = SHARED / "corpus"
#: The fullest of a machine's files first.
SOURCES = (
    "sysroot.tar.*",
    "sysinfo.tgz",
    "ghw-snapshot.tar.gz",
    "hwloc-v3.xml*",
    "hwloc-v2.xml*",
    "hwloc-v1.xml*",
)
INTENT = {"reserved": {"cores": 1, "per": "numaNode"}, "isolated": "rest"}
MACHINES = sorted(path.parent.name for path in CORPUS.glob("*/expected.json"))

pytestmark = [needs_shared, pytest.mark.slow]


def topologies(machine: str) -> list[Topology]:
    source: Path = next(
        path for pattern in SOURCES for path in sorted((CORPUS / machine).glob(pattern))
    )
    return [
        topology
        for _, topology in read_back(importers.run(None, [source], "corpus")).hardware
        if topology
    ]


def check(plan: NodePlan) -> None:
    topology = plan.topology
    reserved, isolated = plan.pool("reserved").cpus, plan.pool("isolated").cpus
    assert reserved | isolated == topology.online
    assert not reserved & isolated
    assert not topology.split_cores(reserved)
    assert topology.online.first != 0 or 0 in reserved
    for node, cpus in topology.numa_nodes.items():
        if node == UNKNOWN and len(topology.numa_nodes) > 1:
            # the kernel tells of no NUMA node for these, so none asks for a reserved core
            assert cpus <= isolated
            continue
        cores = [siblings for siblings in topology.cores.values() if siblings & cpus & reserved]
        assert len(cores) == 1


def _is_one_core(topology: Topology, cpus: CpuSet) -> bool:
    return len({topology[cpu].core for cpu in cpus}) == 1


@pytest.mark.parametrize("machine", MACHINES)
def test_layout(machine: str) -> None:
    known = topologies(machine)
    assert known
    for topology in known:
        node = node_class(topology, INTENT)
        if all(_is_one_core(topology, cpus) for cpus in topology.numa_nodes.values()):
            with pytest.raises(CpuplanError, match="CP401"):  # nothing is left for pods
                solver.solve(node, locate)
            continue
        plan = solver.solve(node, locate)
        check(plan)
        assert solver.verify(node, {pool.name: pool.cpus for pool in plan.pools})


def test_all_machines_are_there() -> None:
    assert len(MACHINES) == len([path for path in CORPUS.iterdir() if path.is_dir()])
    assert all(
        json.loads((CORPUS / machine / "expected.json").read_text())["cpus"] for machine in MACHINES
    )
