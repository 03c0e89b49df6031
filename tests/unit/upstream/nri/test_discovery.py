"""What the NRI plugins read of a machine (pkg/sysfs), and where they do not start."""

import pytest

from cpuplan.upstream.kubernetes.bits import parse_cpus, to_text
from cpuplan.upstream.kubernetes.errors import PanicError
from cpuplan.upstream.nri.api import NriError
from cpuplan.upstream.nri.cpuallocator import cache_groups
from cpuplan.upstream.nri.system import UNIFIED, discover
from tests.machines.nrifiles import regular

DUAL = regular(2, 4)  # node 0: 0-3,8-11; node 1: 4-7,12-15


def test_packages_and_nodes() -> None:
    system = discover(DUAL)
    assert [to_text(package.cpus) for package in system.packages.values()] == [
        "0-3,8-11",
        "4-7,12-15",
    ]
    assert [node.package for node in system.nodes.values()] == [0, 1]


def test_bug_a_cache_without_an_id_stops_the_plugin() -> None:
    caches = tuple(cache._replace(id=None) for cache in DUAL.caches)
    with pytest.raises(NriError, match="cpu0/cache/index0: can't read cache id"):
        discover(DUAL._replace(caches=caches))


def test_bug_sparse_node_ids_crash_the_plugin() -> None:
    """Distances are read at the ids of nodes."""
    nodes = (DUAL.nodes[0], DUAL.nodes[1]._replace(node=2))
    with pytest.raises(PanicError, match="index out of range"):
        discover(DUAL._replace(nodes=nodes))


def test_bug_a_missing_node_link_means_node_0() -> None:
    cpus = tuple(cpu._replace(node=None) for cpu in DUAL.cpus)
    node = DUAL.nodes[0]._replace(node=1, distances=(21, 10))
    with pytest.raises(NriError, match="can't find NUMA node for ID 0"):
        discover(DUAL._replace(cpus=cpus, nodes=(node,)))


def test_bug_equal_cache_ids_of_two_sockets_are_one_cache() -> None:
    caches = tuple(
        cache._replace(id=0) if cache.level == 3 and cache.type == UNIFIED else cache
        for cache in DUAL.caches
    )
    last = discover(DUAL._replace(caches=caches)).cpus[7].caches[-1]
    assert to_text(last.cpus) == "0-3,8-11"


def test_bug_no_cache_groups_without_instruction_caches() -> None:
    """The number of cache entries is taken for the highest level."""
    machine = regular(1, 8, caches=2)
    assert len(cache_groups(discover(machine))) == 2
    caches = tuple(cache for cache in machine.caches if cache.type != "Instruction")
    assert not cache_groups(discover(machine._replace(caches=caches)))


def test_without_a_list_of_performance_cores_the_others_are() -> None:
    machine = DUAL._replace(core_cpus=0, atom_cpus=parse_cpus("4-7,12-15"))
    kinds = discover(machine).kinds
    assert {kind: to_text(cpus) for kind, cpus in kinds.items()} == {
        "E-core": "4-7,12-15",
        "P-core": "0-3,8-11",
    }
