"""CPUs that change their pools."""

from hypothesis import given
from hypothesis import strategies as st

from cpuplan.base.cpuset import CpuSet
from cpuplan.change.impact import changes
from cpuplan.change.impact.changes import Move, PoolChange

LAYOUTS = st.dictionaries(
    st.sampled_from(["reserved", "shared", "isolated", "isolated.dpdk", "bestEffort"]),
    st.frozensets(st.integers(0, 7)).map(CpuSet),
)


def cpus(text: str) -> CpuSet:
    return CpuSet.parse(text)


def test_moves_name_the_partition_without_its_pool() -> None:
    before = {"reserved": cpus("0"), "isolated": cpus("1-3"), "isolated.dpdk": cpus("3")}
    after = {"reserved": cpus("0-1"), "isolated": cpus("2-3"), "isolated.dpdk": cpus("2-3")}
    assert changes.moves(before, after) == (
        Move(cpus("1"), ("isolated",), ("reserved",)),
        Move(cpus("2"), ("isolated",), ("isolated.dpdk",)),
    )


def test_a_cpu_that_is_gone_moves_to_nothing() -> None:
    before, after = {"reserved": cpus("0-1")}, {"reserved": cpus("0")}
    assert changes.moves(before, after) == (Move(cpus("1"), ("reserved",), ()),)


def test_changes_have_pools_that_come_and_go() -> None:
    before, after = {"shared": cpus("1")}, {"reserved": cpus("1")}
    assert changes.pool_changes(before, after) == (
        PoolChange("reserved", cpus(""), cpus("1")),
        PoolChange("shared", cpus("1"), cpus("")),
    )


def test_layout_has_pools_and_sets() -> None:
    plan = {"pools": {"reserved": {"cpus": "0"}}, "sets": {"other": {"cpus": "0-1"}}}
    assert changes.layout(plan) == {"reserved": cpus("0"), "other": cpus("0-1")}
    assert changes.layout(None) == {}


@given(LAYOUTS, LAYOUTS)
def test_the_reverse_swaps_the_ends(before: dict[str, CpuSet], after: dict[str, CpuSet]) -> None:
    there, back = changes.moves(before, after), changes.moves(after, before)
    assert [(move.cpus, move.after, move.before) for move in there] == [tuple(m) for m in back]
    swapped = {
        (change.name, change.after, change.before) for change in changes.pool_changes(before, after)
    }
    assert swapped == {tuple(change) for change in changes.pool_changes(after, before)}


@given(LAYOUTS)
def test_nothing_moves_between_equal_layouts(layout: dict[str, CpuSet]) -> None:
    assert not changes.moves(layout, layout)
    assert not changes.pool_changes(layout, layout)
