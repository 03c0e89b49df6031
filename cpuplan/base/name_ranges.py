"""Ranges of node names: `worker-[00-11]`."""

import re
from collections.abc import Iterable

_NODE_RANGE = re.compile(r"\[([0-9]+)-([0-9]+)\]")
#: The most names of one pattern, or of all patterns of a selector.
MOST = 100_000
TOO_MANY = f"with those before it, it expands to more than {MOST:,} names"
#: Characters of a node's name (apimachinery, DNS1123SubdomainMaxLength).
_LONGEST = 253


def expand_names(pattern: str) -> list[str]:
    """Expand `worker-[00-11]` into its names, zeros kept; of several ranges, the last runs first.

    Raises ValueError for a range that runs backwards, for more than 100,000 names, and for ranges
    of which each name is longer than that of a node.
    """
    _check(pattern)
    names = [""]
    at = 0
    for match in _NODE_RANGE.finditer(pattern):
        first, last = int(match[1]), int(match[2])
        numbers = [str(number).zfill(len(match[1])) for number in range(first, last + 1)]
        names = [
            name + pattern[at : match.start()] + number for name in names for number in numbers
        ]
        at = match.end()
    return [name + pattern[at:] for name in names]


def expand_all(patterns: Iterable[str]) -> list[str]:
    """The names of several patterns, which are as many as one may have; ValueError like it."""
    names: list[str] = []
    for pattern in patterns:
        names += expand_names(pattern)
        if len(names) > MOST:
            raise ValueError(TOO_MANY)
    return names


def _check(pattern: str) -> None:
    """Raise ValueError for a pattern whose names are too many or too long, before any is made."""
    count, length = 1, len(pattern)
    for match in _NODE_RANGE.finditer(pattern):
        digits = len(match[1])
        length += digits - len(match[0])
        if max(digits, len(match[2])) > _LONGEST:
            raise ValueError(f"a number of a range has more than {_LONGEST} digits")
        first, last = int(match[1]), int(match[2])
        if last < first:
            raise ValueError(f"the range {match[0]} runs backwards")
        count *= last - first + 1
        if count > MOST:
            raise ValueError(f"it expands to more than {MOST:,} names")
    if count > 1 and length > _LONGEST:
        raise ValueError(f"its names are longer than {_LONGEST} characters")


def fold_names(names: Iterable[str]) -> list[str]:
    """`worker-[0-2]` for worker-0, worker-1, worker-2; `expand_names` undoes it.

    The last number of a name's first label becomes a range.
    """
    runs: list[tuple[str, str, list[str]]] = []
    parts = sorted(
        map(_split_at_number, names), key=lambda part: (part[0], part[2], _order(part[1]))
    )
    for prefix, digits, suffix in parts:
        same_names = bool(runs) and runs[-1][:2] == (prefix, suffix)
        if same_names and digits and _follows(runs[-1][2][-1], digits):
            runs[-1][2].append(digits)
        else:
            runs.append((prefix, suffix, [digits]))
    return [f"{prefix}{_range_of(digits)}{suffix}" for prefix, suffix, digits in runs]


def _split_at_number(name: str) -> tuple[str, str, str]:
    match = re.fullmatch(r"([^.]*?)(\d{0,9})((?:[^.\d][^.\d]*)?(?:\..*)?)", name)
    return (match[1], match[2], match[3]) if match else (name, "", "")


def _order(digits: str) -> tuple[int, int]:
    return int(digits or 0), len(digits)


def _follows(last: str, digits: str) -> bool:
    """Whether a range from `last` to `digits` has just these two numbers, zeros included."""
    if not last or int(digits) != int(last) + 1:
        return False
    # `expand_names` pads each number to the width of the first
    return str(int(digits)).zfill(len(last)) == digits


def _range_of(digits: list[str]) -> str:
    return f"[{digits[0]}-{digits[-1]}]" if len(digits) > 1 else digits[0]
