"""Other numbers of an intent, all at once, with which there is a layout: as few as possible."""

from collections.abc import Sequence
from typing import NamedTuple

from cpuplan.solve.budget import UndecidedError
from cpuplan.solve.constraints import Amount
from cpuplan.solve.model.counts import Counts, Expression, held

#: Shares of a number that are told apart.
_PARTS = 1000


class Number(NamedTuple):
    """A number of an intent as it is written, what it may be, and what a change of it counts."""

    written: int
    least: int
    most: int
    cost: int


class Slope(NamedTuple):
    """What an amount changes by where a number, by its index, is one more."""

    number: int
    least: int
    most: int


class Loose(NamedTuple):
    """An amount, as it is with the numbers that are written, and how it depends on them."""

    amount: Amount
    slopes: tuple[Slope, ...]


def nearest(
    counts: Counts, numbers: Sequence[Number], amounts: Sequence[Loose]
) -> list[int] | None:
    """Values with which there is a layout; None if no values have one.

    As few numbers as possible are others. Of these, none changes by a larger share than it must,
    and then each in its order is as near as possible to what is written, and the larger of two.
    """
    model = counts.model
    values = [model.new_int_var(number.least, number.most, "") for number in numbers]
    moved = [value - number.written for value, number in zip(values, numbers, strict=True)]
    for loose in amounts:
        taken, amount = held(counts, loose.amount), loose.amount
        least = counts.sum(slope.least * moved[slope.number] for slope in loose.slopes)
        most = counts.sum(slope.most * moved[slope.number] for slope in loose.slopes)
        model.add(taken >= amount.least + least)
        model.add(taken <= amount.most + most)
    # All that is asked for is there before the first solution, which has a value for it.
    changes = [counts.model.new_bool_var("") for _ in numbers]
    for value, number, is_other in zip(values, numbers, changes, strict=True):
        model.add(value == number.written).only_enforce_if(~is_other)
    costs = counts.sum(
        number.cost * is_other for number, is_other in zip(numbers, changes, strict=True)
    )
    distances = [_distance(counts, *pair) for pair in zip(numbers, moved, strict=True)]
    for aim in (costs, _worst(counts, numbers, distances)):
        if not _reach(counts, aim):
            return None
    for distance, value in zip(distances, values, strict=True):
        if counts.value(distance):
            _reach(counts, distance)
            _reach(counts, -value)
    return [counts.value(value) for value in values]


def _reach(counts: Counts, aim: Expression) -> bool:
    """Make it as small as it can be; False where the rules contradict each other."""
    reached = counts.minimise(aim)
    if reached and reached.value != reached.least:
        raise UndecidedError
    return reached is not None


def _worst(
    counts: Counts, numbers: Sequence[Number], distances: Sequence[Expression]
) -> Expression:
    """The largest share of itself by which a number changes."""
    most = max(_PARTS * (number.most + number.written) for number in numbers)
    worst = counts.model.new_int_var(0, most, "")
    for number, distance in zip(numbers, distances, strict=True):
        counts.model.add(max(number.written, 1) * worst >= _PARTS * distance)
    return worst


def _distance(counts: Counts, number: Number, by: Expression) -> Expression:
    distance = counts.model.new_int_var(0, number.most + number.written, "")
    counts.model.add(distance >= by)
    counts.model.add(distance >= -by)
    return distance
