"""Lists of CPUs as the kernel reads them (lib/bitmap-str.c, bitmap_parselist).

Upstream: torvalds/linux lib/bitmap-str.c @ adc218676eef25575469234709c2d87185ca223a
"""

from functools import lru_cache
from typing import NamedTuple

from cpuplan.base.patterns import expression

#: What is wrong with a list.
EINVAL, ERANGE, EOVERFLOW = "EINVAL", "ERANGE", "EOVERFLOW"

_BLANKS = expression(r"[\s,]+")
_NUMBER = r"(N|[0-9]+)"
_REGION = expression(rf"(?:((?i:all))|{_NUMBER}(?:-{_NUMBER})?)(?::{_NUMBER}/{_NUMBER})?")
_LARGEST = 2**32 - 1


class CpuList(NamedTuple):
    """The CPUs of a list as bits, those before an error too; and the error, empty for none."""

    bits: int
    error: str = ""


@lru_cache(maxsize=256)
def parse(text: str, size: int) -> CpuList:
    """The list `text` of CPUs 0 to `size` - 1, by commas and blanks; N is the last one."""
    bits = 0
    for item in _BLANKS.split(text):
        if item:
            region = _region(item, size)
            if region.error:
                return CpuList(bits, region.error)
            bits |= region.bits
    return CpuList(bits)


def _region(item: str, size: int) -> CpuList:
    """One region: `4`, `0-3`, `0-7:1/2` (the first of every two), `all`, `0-N`."""
    match = _REGION.fullmatch(item)
    if match is None:
        return CpuList(0, EINVAL)
    try:
        first = 0 if match[1] else _number(match[2], size)
        last = size - 1 if match[1] else _number(match[3] or match[2], size)
        group = _number(match[5], size) if match[5] else last + 1
        used = _number(match[4], size) if match[4] else group
    except OverflowError:
        return CpuList(0, EOVERFLOW)
    if first > last or group == 0 or used > group:
        return CpuList(0, EINVAL)
    if last >= size:
        return CpuList(0, ERANGE)
    bits = 0
    for start in range(first, last + 1, group):
        end = min(start + used - 1, last)
        bits |= (1 << end + 1) - (1 << start)
    return CpuList(bits)


def _number(text: str, size: int) -> int:
    if text == "N":
        return size - 1
    digits = text.lstrip("0") or "0"
    if len(digits) > len(str(_LARGEST)) or int(digits) > _LARGEST:
        raise OverflowError(text)
    return int(digits)
