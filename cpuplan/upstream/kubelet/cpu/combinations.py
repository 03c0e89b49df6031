"""Combinations in slices that share their memory, as the kubelet keeps them."""

from collections.abc import Iterator
from itertools import combinations
from typing import TypeVar

T = TypeVar("T")


def iterate_combinations(items: list[T], size: int) -> Iterator[list[T]]:
    """Combinations of `size` items, in order; a yielded list may be overwritten by later ones.

    The overwriting is kubelet bug 141237.

    cpuAccumulator.iterateCombinations appends to a Go slice without copying it. Appending to a
    slice of 1, 2, 4 or 8 elements, which fills its array, copies it; appending to others writes
    into the array that all combinations with the same beginning share. A combination that was kept
    holds in the end what was last generated for its beginning.
    """
    own = _own_length(size)
    for beginning in combinations(range(len(items)), own):
        shared = [items[index] for index in beginning]
        if own == size:
            yield shared
            continue
        for ending in combinations(items[beginning[-1] + 1 :], size - own):
            shared[own:] = ending
            yield shared


def _own_length(size: int) -> int:
    """How many elements of a slice of `size` are its own: 1, 2, 3, 3, 5, 5, 5, 5, 9, ..."""
    if size <= 2:
        return size
    return 1 + (1 << (size - 1).bit_length() - 1)
