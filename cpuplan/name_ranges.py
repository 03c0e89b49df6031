"""Ranges of node names: `worker-[00-11]`."""

import re
from collections.abc import Iterable

_NODE_RANGE = re.compile(r"\[([0-9]+)-([0-9]+)\]")


def expand_names(pattern: str) -> list[str]:
    """Expand `worker-[00-11]` into its names, zeros kept; of several ranges, the last runs first.

    Raises ValueError for a range that runs backwards, or for more than 100,000 names.
    """
    names = [""]
    at = 0
    for match in _NODE_RANGE.finditer(pattern):
        first, last = int(match[1]), int(match[2])
        if last < first:
            raise ValueError(f"the range {match[0]} runs backwards")
        if len(names) * (last - first + 1) > 100_000:
            raise ValueError("it expands to more than 100,000 names")
        numbers = [str(number).zfill(len(match[1])) for number in range(first, last + 1)]
        names = [
            name + pattern[at : match.start()] + number for name in names for number in numbers
        ]
        at = match.end()
    return [name + pattern[at:] for name in names]


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
