"""The machine of an inventory as the NRI plugins would read it."""

import pytest

from cpuplan import importers
from cpuplan.base.cpuset import CpuSet
from cpuplan.upstream.kubernetes.bits import to_text
from cpuplan.upstream.nri.balloons.cputree import build
from cpuplan.upstream.nri.of_topology import files_of
from cpuplan.upstream.nri.system import System, discover
from tests.conformance import nri
from tests.conformance.round_trip import read_machine
from tests.machines.plans import regular
from tests.projects import SHARED, needs_shared

NOTHING = CpuSet()
DUAL = regular(sockets=2, cores=4, threads=2)


def test_a_regular_machine() -> None:
    system = discover(files_of(DUAL, CpuSet.parse("3,11"), NOTHING))
    assert {node.node: to_text(node.cpus) for node in system.nodes.values()} == {
        0: "0-3,8-11",
        1: "4-7,12-15",
    }
    assert to_text(system.cpus[5].threads) == "5,13"
    assert to_text(system.isolated) == "3,11"
    assert [(cache.level, to_text(cache.cpus)) for cache in system.cpus[5].caches] == [
        (1, "5,13"),
        (1, "5,13"),
        (2, "5,13"),
        (3, "4-7,12-15"),
    ]


def test_cpus_that_are_switched_off() -> None:
    system = discover(files_of(DUAL, NOTHING, CpuSet.parse("8-15")))
    assert to_text(system.online) == "0-7"
    assert to_text(system.cpus[5].threads) == "5"
    assert to_text(system.offline) == "8-15"


@needs_shared
@pytest.mark.parametrize(
    "name",
    [
        "amd-epyc7451-2s-96c",
        "intel-clx-2s-snc2-pmem-112c",
        "intel-i7-1370p-hybrid",
        "syn-telco-icx6338n-1s-smt-off",
        "vmware-fpe-16c",
    ],
)
def test_an_imported_machine_is_the_recorded_one(name: str) -> None:
    """What an inventory does not say of these machines is assumed as their kernels have it."""
    (archive,) = (SHARED / "corpus" / name).glob("sysroot.tar.*")
    ((_, topology),) = read_machine(importers.run(None, [archive], "corpus")).hardware
    assert topology is not None
    recorded = discover(nri.machines()[name])
    isolated = CpuSet.from_bits(recorded.isolated)
    made = discover(files_of(topology, isolated, NOTHING))
    assert _threads(made) == _threads(recorded)
    assert made.kinds == recorded.kinds
    assert _places(made) == _places(recorded)


def _threads(system: System) -> dict[int, int]:
    return {cpu.cpu: cpu.threads for cpu in system.cpus.values()}


def _places(system: System) -> list[tuple[str, int]]:
    return sorted((node.level, node.cpus) for node in build(system).walk())
