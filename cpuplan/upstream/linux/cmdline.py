"""Numbers and sizes of the kernel command line, and an argument with the place it came from.

Upstream: torvalds/linux lib/cmdline.c lib/kstrtox.c @ adc218676eef25575469234709c2d87185ca223a
"""

import re
from typing import NamedTuple

#: Sizes and numbers are those of 64 bits.
_LARGEST = 2**64 - 1
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]{1,16}|[0-9]{1,20}")
_UNITS = "kmgtpe"


class Argument(NamedTuple):
    """One argument of a command line; `place` is where it came from, in words of who reads it."""

    #: As the kernel compares names: `-` written as `_`.
    name: str
    #: None for a word without `=`.
    value: str | None
    text: str
    place: str = ""


def memparse(text: str) -> int:
    """The bytes of a size; 0 for none. What stands behind the unit is ignored: `1GB` is `1G`."""
    match = _NUMBER.match(text)
    if not match:
        return 0
    number = _to_int(match[0])
    unit = text[match.end() : match.end() + 1].lower()
    power = _UNITS.find(unit) + 1 if unit else 0
    return min(number << 10 * power, _LARGEST)


def get_option(text: str) -> int | None:
    """The number at the start of a text, negative too; None for none."""
    match = _NUMBER.match(text.removeprefix("-"))
    if not match:
        return None
    number = _to_int(match[0])
    return -number if text.startswith("-") else number


def _to_int(text: str) -> int:
    """Of base 16 with `0x`, of base 8 with `0`."""
    if text[:2].lower() == "0x":
        return int(text, 16)
    is_octal = text.startswith("0") and re.fullmatch("[0-7]+", text)
    return int(text, 8 if is_octal else 10)
