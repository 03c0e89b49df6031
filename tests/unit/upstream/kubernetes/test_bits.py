"""CPU lists and masks in the kubelet's forms."""

import pytest

from cpuplan.upstream.kubernetes.bits import (
    bits_of,
    masks_over,
    members,
    narrower,
    parse_cpus,
    to_text,
)
from cpuplan.upstream.kubernetes.errors import KubeletError, PanicError


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("", []),
        ("0", [0]),
        ("3,0-1", [0, 1, 3]),
        ("0-2,1-3", [0, 1, 2, 3]),
        ("+1", [1]),
        ("007", [7]),
    ],
)
def test_lists_may_repeat_and_go_in_any_order(text: str, cpus: list[int]) -> None:
    assert members(parse_cpus(text)) == cpus


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0,", 'strconv.Atoi: parsing "": invalid syntax'),
        ("0, 1", 'strconv.Atoi: parsing " 1": invalid syntax'),
        ("0-3\n", 'strconv.Atoi: parsing "3\\n": invalid syntax'),
        ("-1", 'strconv.Atoi: parsing "": invalid syntax'),
        ("3-1", 'invalid range "3-1" (3 > 1)'),
        ("0x1", 'strconv.Atoi: parsing "0x1": invalid syntax'),
        ("9" * 20, f'strconv.Atoi: parsing "{"9" * 20}": value out of range'),
    ],
)
def test_lists_are_refused_in_go_s_words(text: str, message: str) -> None:
    with pytest.raises(KubeletError) as caught:
        parse_cpus(text)
    assert str(caught.value) == message


def test_a_range_that_no_memory_holds() -> None:
    with pytest.raises(PanicError):
        parse_cpus("0-999999999999")


def test_printing_joins_neighbours() -> None:
    assert to_text(bits_of([0, 1, 2, 8])) == "0-2,8"


def test_masks_come_by_size_then_in_the_order_given() -> None:
    assert [members(mask) for mask, _ in masks_over((1, 0, 4))] == [
        [1],
        [0],
        [4],
        [0, 1],
        [1, 4],
        [0, 4],
        [0, 1, 4],
    ]


def test_narrower() -> None:
    assert narrower(bits_of([5]), bits_of([0, 1]))
    assert narrower(bits_of([0, 1]), bits_of([0, 2]))
    assert not narrower(bits_of([0, 1]), bits_of([0, 1]))
