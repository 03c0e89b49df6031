"""Conflicts of plain numbers: statements are numbers, and some can hold together while their sum is
at most 10.
"""

from collections.abc import Sequence
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpuplan.solve.conflict import Conflict, Oracle, disjoint, minimal, smallest


def fits(numbers: Sequence[int]) -> bool:
    return sum(numbers) <= 10


def oracle(calls: int) -> Oracle[int]:
    """An example is the sum; a further number holds if there is room for it."""
    return Oracle(
        lambda numbers: sum(numbers) if fits(numbers) else None,
        lambda number, room: number == 0,
        calls,
    )


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
    ("numbers", "found"),
    [
        ([11], [11]),
        ([1, 6, 2, 5], [6, 5]),
        ([4, 4, 4, 4], [4, 4, 4]),
        ([9, 2, 3], [9, 2]),
        ([3, 3, 3, 3, 11], [11]),  # four that come first, and one that is enough
        ([5, 3, 3, 6, 1, 5], [5, 6]),
        ([2, 2, 2, 2, 2, 2, 9, 2], [2, 9]),
    ],
)
def test_smallest(numbers: list[int], found: list[int]) -> None:
    assert smallest(numbers, oracle(1000)) == Conflict(found, is_smallest=True)


def test_where_all_others_hold_without_any_one_it_is_the_only_conflict() -> None:
    """A call for each statement of the conflict is enough, however many others there are."""
    numbers = [0] * 300 + [6, 5] + [0] * 300
    few = oracle(2)
    assert smallest(numbers, few) == Conflict([6, 5], is_smallest=True)
    assert few.calls == 0


def test_of_statements_that_are_alike_one_is_tried() -> None:
    words = ["aaaa", "bbbb", "cccc"]

    def example(some: Sequence[str]) -> int | None:
        length = len("".join(some))
        return length if length <= 10 else None

    one = Oracle(example, lambda _word, _room: False, 1, sorts=lambda some, _: [list(some)])
    assert smallest(words, one) == Conflict(words, is_smallest=True)
    assert smallest(words, Oracle(example, lambda _word, _room: False, 1)).is_smallest is False


def test_a_large_conflict_is_not_searched_with_few_calls() -> None:
    few = oracle(1)
    numbers = [1] * 12 + [10]
    assert not smallest(numbers, few).is_smallest


@given(st.lists(st.integers(0, 9), max_size=9))
def test_no_smaller_set_contradicts_itself(numbers: list[int]) -> None:
    if fits(numbers):
        return
    found = smallest(numbers, oracle(1000))
    assert found.is_smallest
    assert not fits(found.statements)
    assert all(fits(some) for some in combinations(numbers, len(found.statements) - 1))


def test_where_tests_end_it_is_smallest_in_itself() -> None:
    assert smallest([3, 3, 3, 3, 11], oracle(0)) == Conflict([3, 3, 3, 3], is_smallest=False)
    assert smallest([11, 3], oracle(0)) == Conflict([11], is_smallest=True)


@pytest.mark.parametrize(
    ("numbers", "conflicts"),
    [
        ([5, 5], []),
        ([11, 12, 3], [[11], [12]]),
        ([6, 7, 8, 9], [[6, 7], [8, 9]]),
        ([3, 3, 3, 3, 11], [[11], [3, 3, 3, 3]]),
    ],
)
def test_disjoint(numbers: list[int], conflicts: list[list[int]]) -> None:
    assert sorted(each.statements for each in disjoint(numbers, oracle(1000))) == sorted(conflicts)


def test_many_statements_need_few_tests() -> None:
    asked: list[Sequence[int]] = []

    def test(numbers: Sequence[int]) -> bool:
        asked.append(numbers)
        return fits(numbers)

    assert minimal([0] * 500 + [6] + [0] * 500 + [5] + [0] * 23, test) == [6, 5]
    assert len(asked) < 40
