"""The machine as the driver sees it."""

from cpuplan.upstream.dra.cpuinfo import discover, repeating_cores
from cpuplan.upstream.kubernetes.bits import to_text
from tests.machines.nrifiles import regular

DUAL = regular(2, 4)  # node 0: 0-3,8-11; node 1: 4-7,12-15


def test_siblings_are_those_of_one_socket() -> None:
    known = discover(DUAL)
    assert [known.cpus[cpu].sibling for cpu in (0, 4, 8, 12)] == [8, 12, 0, 4]
    assert (known.num_cores, known.packed.cpus_per_core, known.smt_enabled) == (8, 2, True)


def test_bug_no_siblings_where_cores_have_four_threads() -> None:
    assert {cpu.sibling for cpu in discover(regular(1, 2, threads=4)).cpus.values()} == {-1}


def test_bug_core_ids_that_repeat_are_one_core() -> None:
    """kubernetes-sigs/dra-driver-cpu#210"""
    known = discover(DUAL)
    assert to_text(known.packed.cores[0]) == "0,4,8,12"
    assert repeating_cores(known) == [0, 1, 2, 3]
    assert repeating_cores(discover(regular(1, 4))) == []


def test_bug_cpus_without_node_or_caches_are_nobodys() -> None:
    cpus = tuple(cpu._replace(node=None) if cpu.cpu == 3 else cpu for cpu in DUAL.cpus)
    assert to_text(discover(DUAL._replace(cpus=cpus)).all) == "0-2,4-15"
    assert discover(DUAL._replace(caches=())).all == 0


def test_a_cache_without_id_is_known_by_its_lowest_cpu() -> None:
    caches = tuple(cache._replace(id=None) for cache in DUAL.caches)
    assert discover(DUAL._replace(caches=caches)).cpus[13].cache_l3 == 4
    without = tuple(cache for cache in DUAL.caches if cache.level < 3)
    assert discover(DUAL._replace(caches=without)).cpus[13].cache_l3 == -1


def test_smt_is_a_word_or_counted() -> None:
    words = {"on": True, "off": False, "forceoff": False, "unheard": True}
    for word, is_on in words.items():
        assert discover(DUAL._replace(smt=word)).smt_enabled is is_on


def test_core_types() -> None:
    hybrid = discover(DUAL._replace(atom_cpus=0b1000))
    assert (hybrid.cpus[3].core_type, hybrid.cpus[4].core_type) == ("e-core", "p-core")
    assert discover(DUAL).cpus[3].core_type == "standard"


def test_offline_cpus_are_not_there() -> None:
    known = discover(DUAL._replace(online=DUAL.online & ~(1 << 8)))
    assert (known.cpus[0].sibling, known.num_cpus, known.packed.cpus_per_core) == (-1, 15, 1)
