"""CPU sets: every form that Linux and Kubernetes read and write."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpuplan.base.cpuset import EMPTY, MAX_CPU, CpuSet, CpuSetError, union

SETS = st.frozensets(st.integers(0, 300)).map(CpuSet)


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("", []),
        ("0", [0]),
        ("0-3", [0, 1, 2, 3]),
        ("8,0-1", [0, 1, 8]),
        ("00-01", [0, 1]),
        (str(MAX_CPU), [MAX_CPU]),
    ],
)
def test_parse(text: str, cpus: list[int]) -> None:
    assert list(CpuSet.parse(text)) == cpus


@pytest.mark.parametrize(
    ("text", "item", "problem"),
    [
        ("0,", "", "comma too many"),
        ("0, 1", " 1", "space"),
        ("3-1", "3-1", "backwards"),
        ("0-3,2-5", "2-5", "names CPU 2-3 a second time"),
        ("^2", "^2", "excludes"),
        ("0-7:1/2", "0-7:1/2", "stride"),
        ("all", "all", "not a CPU number"),
        ("-1", "-1", "not a CPU number"),
        ("1-2-3", "1-2-3", "not a CPU number"),
        ("999999", "999999", "goes beyond"),
        ("9" * 5000, "9" * 5000, "not a CPU number"),
        ("\u0663", "\u0663", "not a CPU number"),
    ],
)
def test_parse_refuses_what_one_reader_refuses(text: str, item: str, problem: str) -> None:
    with pytest.raises(CpuSetError, match=problem) as caught:
        CpuSet.parse(text)
    assert caught.value.item == item


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("0-3\n", "0-3"),
        (" (null)\n", ""),
        ("\n", ""),
        ("0-3,2", "0-3"),
        ("0 2", "0,2"),
        ("0-7:1/2", "0,2,4,6"),
        ("0-10:2/4", "0-1,4-5,8-9"),
        ("1-9:3/4", "1-3,5-7,9"),
    ],
)
def test_parse_kernel(text: str, shown: str) -> None:
    assert str(CpuSet.parse_kernel(text)) == shown


@pytest.mark.parametrize("text", ["x", "0-7:3/2", "0-7:0/2", "0-99999", "3-1"])
def test_parse_kernel_refuses(text: str) -> None:
    with pytest.raises(CpuSetError):
        CpuSet.parse_kernel(text)


@pytest.mark.parametrize(
    ("cpus", "text"),
    [
        ([], ""),
        ([0, 1], "0-1"),
        (range(0, 112, 2), "0-110:1/2"),
        ([0, 2], "0,2"),
        ([0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 30], "0-19:4/8,30"),
    ],
)
def test_kernel_list_is_short(cpus: list[int], text: str) -> None:
    assert CpuSet(cpus).kernel_list() == text


@given(SETS)
def test_every_form_is_read_back(cpus: CpuSet) -> None:
    assert CpuSet.parse(str(cpus)) == cpus
    assert CpuSet.parse_kernel(cpus.kernel_list()) == cpus
    assert CpuSet.parse_mask(cpus.mask()) == cpus
    assert CpuSet.parse(cpus.expanded()) == cpus


@given(SETS, SETS)
def test_algebra_is_that_of_sets(first: CpuSet, second: CpuSet) -> None:
    left, two = set(first), set(second)
    assert set(first | second) == left | two
    assert set(first & second) == left & two
    assert set(first - second) == left - two
    assert (first <= second) == (left <= two)
    assert first.isdisjoint(second) == left.isdisjoint(two)
    assert len(first) == len(left)
    assert union([first, second]) == first | second
    assert [cpu in first for cpu in range(310)] == [cpu in left for cpu in range(310)]


def test_masks_are_as_wide_as_asked() -> None:
    assert CpuSet([0]).mask() == "00000001"
    assert CpuSet([0]).mask(64) == "00000000,00000001"
    assert CpuSet([63]).mask() == "80000000,00000000"


def test_masks_end_at_the_highest_cpu() -> None:
    assert CpuSet.parse_mask(CpuSet([8191]).mask()).last == 8191
    with pytest.raises(CpuSetError, match="goes beyond CPU 8191"):
        CpuSet.parse_mask("1" + ",00000000" * 256)


def test_cores_of_a_large_machine_have_hashes_of_their_own() -> None:
    assert len({hash(CpuSet([cpu, cpu + 61])) for cpu in range(8000)}) > 7900


def test_ends() -> None:
    assert (CpuSet([3, 9]).first, CpuSet([3, 9]).last) == (3, 9)
    assert EMPTY.last == -1
    with pytest.raises(ValueError, match="empty"):
        _ = EMPTY.first


def test_a_set_does_not_change() -> None:
    with pytest.raises(AttributeError):
        EMPTY.bits = 1
