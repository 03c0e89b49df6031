"""Maintenance windows (pydantic): when they begin, as cron says it, and how long they last."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from cpuplan.language.model.base import Model, matching, problem

_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]


def _numbers(first: int, last: int, names: list[str]) -> dict[str, int]:
    """What a field may have, as numbers: `names` begin at `first`."""
    numbers = {str(number): number for number in range(first, last + 1)}
    return numbers | {name: first + index for index, name in enumerate(names)}


#: The five fields in their order, as Argo CD reads them: 7 is no Sunday there.
_FIELDS = (
    ("minute", _numbers(0, 59, [])),
    ("hour", _numbers(0, 23, [])),
    ("day of the month", _numbers(1, 31, [])),
    ("month", _numbers(1, 12, _MONTHS)),
    ("day of the week", _numbers(0, 6, _DAYS)),
)
_ITEM = re.compile(r"(?P<first>\*|[0-9a-z]+)(-(?P<last>[0-9a-z]+))?(/(?P<step>[1-9][0-9]?))?")


def _is_valid(item: str, known: dict[str, int]) -> bool:
    """Whether an item of a list is `*`, a number or a range, perhaps with a step."""
    parts = _ITEM.fullmatch(item.lower())
    if not parts:
        return False
    first, last = parts["first"], parts["last"]
    if first == "*":
        return last is None
    if first not in known or (last is not None and last not in known):
        return False
    return last is None or known[first] <= known[last]


def _check(text: str) -> str:
    """The schedule, if it is one."""
    fields = text.split(" ")
    if len(fields) != len(_FIELDS):
        raise problem("cron_fields", "a schedule with five fields and single blanks between them")
    for field, (name, known) in zip(fields, _FIELDS, strict=True):
        if not all(_is_valid(item, known) for item in field.split(",")):
            context = {"field": name, "first": min(known.values()), "last": max(known.values())}
            text = "a schedule whose {field} is between {first} and {last}, a range, or *"
            raise problem("cron_field", text, context)
    return text


Schedule = Annotated[
    str,
    matching(
        r"^[0-9A-Za-z*,/-]+( [0-9A-Za-z*,/-]+){4}$",
        "five fields of cron: minute, hour, day of the month, month, day of the week",
        "0 22 * * sat",
    ),
    AfterValidator(_check),
]


class Window(Model):
    """A time in which changes may be rolled out."""

    schedule: Schedule = Field(
        description="when it begins: minute, hour, day of the month, month, day of the week (0 is "
        "Sunday), as cron reads them"
    )
    duration: Annotated[
        str, matching(r"^[1-9][0-9]{0,3}[mh]$", "a number of minutes or hours", "4h")
    ] = Field(description="how long it lasts")
    time_zone: Annotated[
        str,
        matching(
            r"^[A-Za-z]+(/[A-Za-z0-9_+-]+)*$",
            "a name of the time zone database, such as Europe/Berlin",
            "Europe/Berlin",
        ),
    ] = Field(default="UTC", description="the time zone of the schedule")
