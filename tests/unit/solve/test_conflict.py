"""Conflicts of plain numbers, which can hold together while their sum is at most 10."""

from collections.abc import Sequence
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpuplan.solve.budget import UndecidedError
from cpuplan.solve.conflict import (
    IN_ITSELF,
    NOT_NARROWED,
    Conflict,
    Memory,
    Oracle,
    disjoint,
    minimal,
    smallest,
)


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
    ("numbers", "smallest_conflict"),
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
def test_smallest(numbers: list[int], smallest_conflict: list[int]) -> None:
    assert smallest(numbers, oracle(1000)) == Conflict(smallest_conflict, is_smallest=True)


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

    asked = Oracle(example, lambda _word, _room: False, 1, sorts=lambda some, _: [list(some)])
    assert smallest(words, asked) == Conflict(words, is_smallest=True)
    assert smallest(words, Oracle(example, lambda _word, _room: False, 1)).is_smallest is False


def test_a_large_conflict_is_not_searched_with_few_calls() -> None:
    few = oracle(1)
    numbers = [1] * 12 + [10]
    assert not smallest(numbers, few).is_smallest


@given(st.lists(st.integers(0, 9), max_size=9))
def test_no_smaller_set_contradicts_itself(numbers: list[int]) -> None:
    if fits(numbers):
        return
    conflict = smallest(numbers, oracle(1000))
    assert conflict.is_smallest
    assert not fits(conflict.statements)
    assert all(fits(some) for some in combinations(numbers, len(conflict.statements) - 1))


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
    assert sorted(conflict.statements for conflict in disjoint(numbers, oracle(1000))) == sorted(
        conflicts
    )


@given(st.lists(st.integers(0, 9), max_size=9), st.integers(0, 12))
def test_the_oracle_is_asked_no_more_often_than_it_may(numbers: list[int], calls: int) -> None:
    """What it says of a conflict then is still true."""
    if fits(numbers):
        return
    few = oracle(calls)
    conflict = smallest(numbers, few)
    assert 0 <= few.calls <= calls
    some = conflict.statements
    assert not fits(some)
    assert all(fits([*some[:index], *some[index + 1 :]]) for index in range(len(some)))
    if conflict.is_smallest:
        assert all(fits(fewer) for fewer in combinations(numbers, len(some) - 1))


@pytest.mark.parametrize("answers", range(12))
def test_where_the_limit_ends(answers: int) -> None:
    """Four of 3 are a conflict, which takes seven answers; then a smaller one is searched for."""
    asked: list[Sequence[int]] = []

    def example(some: Sequence[int]) -> int | None:
        asked.append(some)
        if len(asked) > answers:
            raise UndecidedError
        return sum(some) if fits(some) else None

    conflict = smallest([3, 3, 3, 3, 11], Oracle(example, lambda _number, _room: False, 1000))
    assert not fits(conflict.statements)
    if answers < 7:
        # Not each of them may be needed; and nobody is asked again when the limit is over.
        assert (conflict.is_smallest, conflict.is_irreducible) == (False, False)
        assert len(asked) == answers + 1
    elif len(asked) > answers:
        assert conflict == Conflict([3, 3, 3, 3], is_smallest=False)
    else:
        assert conflict == Conflict([11], is_smallest=True)


@pytest.mark.parametrize(
    ("conflict", "doubt"),
    [
        (Conflict([1], is_smallest=True), ""),
        (Conflict([1], is_smallest=False), IN_ITSELF),
        (Conflict([1], is_smallest=False, is_irreducible=False), NOT_NARROWED),
    ],
)
def test_the_doubt_about_a_conflict(conflict: Conflict[int], doubt: str) -> None:
    assert conflict.doubt == doubt


def test_an_example_answers_for_all_that_holds_for_it() -> None:
    asked: list[tuple[int, ...]] = []

    def example(some: Sequence[int]) -> int | None:
        asked.append(tuple(some))
        return sum(some) if fits(some) else None

    memory = Memory([1, 4, 6, 7], example, lambda number, room: number == 4 and room == 6)
    assert memory.example([6]) == 6
    assert memory.example([6, 4]) == 6  # 4 holds for it
    assert memory.example([6, 7]) is None
    assert memory.example([1, 6, 7]) is None  # those contradict each other already
    assert asked == [(6,), (6, 7)]


def test_what_is_known_to_be_unfit_is_not_asked() -> None:
    memory = Memory([6, 7], lambda _: pytest.fail("asked"), lambda *_: False, unfit=[6, 7])
    assert memory.example([7, 6]) is None


def test_many_statements_need_few_tests() -> None:
    asked: list[Sequence[int]] = []

    def test(numbers: Sequence[int]) -> bool:
        asked.append(numbers)
        return fits(numbers)

    assert minimal([0] * 500 + [6] + [0] * 500 + [5] + [0] * 23, test) == [6, 5]
    assert len(asked) < 40
