"""An entry of a boot menu."""

import re
from collections.abc import Mapping
from typing import NamedTuple

_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


class Entry(NamedTuple):
    """A kernel that can be booted, with its arguments on one line."""

    #: The name by which a default is chosen: a file's name without `.conf`, or an id or title.
    name: str
    title: str
    arguments: str
    version: str = ""
    #: The line of the file with the arguments, from 1.
    line: int = 1


def is_rescue(entry: Entry) -> bool:
    """Whether an entry is there for repairs, and not for every day."""
    text = f"{entry.name} {entry.title} {entry.version}".lower()
    words = ("rescue", "recovery", "memtest", "single-user", "firmware")
    return any(word in text for word in words)


def expanded(text: str, variables: Mapping[str, str]) -> str:
    """A text with the values of variables; unknown ones are empty."""
    return _VARIABLE.sub(lambda match: variables.get(match[1] or match[2], ""), text)


def in_order(version: str) -> tuple[tuple[int, int, str], ...]:
    """A key to sort versions by, numbers as numbers; the highest is last."""
    parts = re.findall(r"[0-9]+|[A-Za-z]+", version)
    return tuple(_in_order(part) for part in parts)


def _in_order(part: str) -> tuple[int, int, str]:
    """Of numbers, that of more digits is the larger one."""
    if not part.isdigit():
        return 0, 0, part
    digits = part.lstrip("0")
    return 1, len(digits), digits
