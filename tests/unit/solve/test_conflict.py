"""Conflicts of plain numbers: statements are numbers, and some can hold together while their sum is at most 10."""

from collections.abc import Sequence

import pytest

from cpuplan.solve.conflict import disjoint, minimal


def fits(numbers: Sequence[int]) -> bool:
    return sum(numbers) <= 10


@pytest.mark.parametrize(
    ("numbers", "kept"),
    [
        ([11], [11]),
        ([6, 5], [6, 5]),
        ([1, 6, 2, 5], [6, 5]),
        ([4, 4, 4, 4], [4, 4, 4]),
        ([9, 2, 3], [9, 2]),  # of 9+2 and 9+3, the one that comes first
    ],
)
def test_minimal(numbers: list[int], kept: list[int]) -> None:
    assert minimal(numbers, fits) == kept


@pytest.mark.parametrize(
    ("numbers", "conflicts"),
    [([5, 5], []), ([11, 12, 3], [[11], [12]]), ([6, 7, 8, 9], [[6, 7], [8, 9]])],
)
def test_disjoint(numbers: list[int], conflicts: list[list[int]]) -> None:
    assert list(disjoint(numbers, fits)) == conflicts


def test_many_statements_need_few_tests() -> None:
    asked: list[Sequence[int]] = []

    def test(numbers: Sequence[int]) -> bool:
        asked.append(numbers)
        return fits(numbers)

    assert minimal([0] * 500 + [6] + [0] * 500 + [5] + [0] * 23, test) == [6, 5]
    assert len(asked) < 40
