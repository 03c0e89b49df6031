"""Go's sort.Slice, which matters where the comparison is not an order."""

from collections.abc import Callable, Iterable
from functools import cmp_to_key
from typing import TypeVar

T = TypeVar("T")
_SMALL = 12


def first(values: Iterable[T], less: Callable[[T, T], bool]) -> T:
    """The value that comes first.

    Up to twelve values are sorted by insertion, as Go does. With more, values that both claim to
    come before the other may end up differently there.
    """
    ordered = list(values)
    if len(ordered) > _SMALL:
        return min(ordered, key=cmp_to_key(_comparing(less)))
    for end in range(1, len(ordered)):
        at = end
        while at > 0 and less(ordered[at], ordered[at - 1]):
            ordered[at - 1], ordered[at] = ordered[at], ordered[at - 1]
            at -= 1
    return ordered[0]


def _comparing(less: Callable[[T, T], bool]) -> Callable[[T, T], int]:
    return lambda left, right: -1 if less(left, right) else int(less(right, left))
