"""Functions in profiles that the CPUs of a machine are enough for.

What would run a program, or read more of a node, is not known here.

Upstream: redhat-performance/tuned tuned/profiles/functions tuned/utils/commands.py
  @ 2bfa4423586bb516452c538a232c8f7075bafbdf
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from cpuplan.base.cpuset import MAX_CPU

#: Expressions that take no more than a moment on any text: no repeated group, few repetitions.
_LONG = re.compile(r"\)\s*[*+?{]")
_REPETITION = re.compile(r"(?<!\\)[*+{]")
_MOST_REPETITIONS = 3
_LONGEST = 256


class Unknown(Exception):  # noqa: N818 - what a node alone can tell is no error
    """A value that only the node can tell."""


class AssertionFailedError(Exception):
    """TuneD refuses the profile: an assertion in it does not hold."""


class Machine(NamedTuple):
    """What is known of a node: CPU numbers, and the lines of lscpu(1) that are known."""

    online: tuple[int, ...]
    present: tuple[int, ...]
    lscpu: str = ""


def unpacked(text: str) -> list[int]:
    """The CPUs of a list, ascending; masks begin with 0x, and `^` or `!` take CPUs out."""
    cpus: set[int] = set()
    negated: set[int] = set()
    parts = iter(text.strip("'\"").split(","))
    for part in map(str.strip, parts):
        if part[:2].lower() == "0x":
            cpus |= set(_bits("".join([part, *_rest_of_mask(parts)])))
        elif part[:1] in ("^", "!"):
            negated |= set(_range(part[1:]))
        elif part:
            cpus |= set(_range(part))
    return sorted(cpus - negated)


def _rest_of_mask(parts: Iterator[str]) -> Iterator[str]:
    """The further words of a mask, up to an empty one."""
    for part in parts:
        if not part:
            return
        yield part


def _bits(mask: str) -> Iterator[int]:
    try:
        bits = int(mask.replace(",", ""), 16)
    except ValueError as error:
        raise Unknown from error
    return (cpu for cpu in range(min(bits.bit_length(), MAX_CPU + 1)) if bits >> cpu & 1)


def _range(text: str) -> range:
    first, dash, last = text.partition("-")
    if not (first.isdecimal() and (last.isdecimal() if dash else not last)):
        raise Unknown
    begin, end = int(first[:9]), int((last or first)[:9])
    if end > MAX_CPU:
        raise Unknown
    return range(begin, end + 1)


def _expanded(cpus: Sequence[int]) -> str:
    return ",".join(map(str, cpus))


def packed(cpus: Sequence[int]) -> str:
    """CPUs as ranges, which have no blanks between them."""
    parts: list[str] = []
    for cpu in cpus:
        if parts and int(parts[-1].rpartition("-")[2]) == cpu - 1:
            parts[-1] = f"{parts[-1].partition('-')[0]}-{cpu}"
        else:
            parts.append(str(cpu))
    return ",".join(parts)


def mask_of(cpus: Sequence[int]) -> str:
    """CPUs as words of 32 bits."""
    text = f"{sum(1 << cpu for cpu in cpus):x}"
    text = text.zfill(-(-len(text) // 8) * 8)
    return ",".join(text[at : at + 8] for at in range(0, len(text), 8))


def _search(pattern: str, text: str) -> bool:
    """Whether an expression fits, if it is one that is safe to try."""
    repetitions = len(_REPETITION.findall(pattern))
    if len(pattern) > _LONGEST or _LONG.search(pattern) or repetitions > _MOST_REPETITIONS:
        raise Unknown
    try:
        return bool(re.search(pattern, text[: 1 << 12], re.MULTILINE))
    except re.error as error:
        raise Unknown from error


_Function = Callable[[Machine, Sequence[str]], str | None]


def _assertion(_machine: Machine, arguments: Sequence[str]) -> None:
    _name, first, second = _exactly(3, arguments)
    if first != second:
        raise AssertionFailedError


def _assertion_non_equal(_machine: Machine, arguments: Sequence[str]) -> None:
    _name, first, second = _exactly(3, arguments)
    if first == second:
        raise AssertionFailedError


def _exactly(number: int, arguments: Sequence[str]) -> Sequence[str]:
    if len(arguments) != number:
        raise Unknown
    return arguments


def _regex_search_ternary(_machine: Machine, arguments: Sequence[str]) -> str:
    text, pattern, first, second = _exactly(4, arguments)
    return first if _search(pattern, text) else second


def _lscpu_check(machine: Machine, arguments: Sequence[str]) -> str:
    pairs = list(zip(arguments[::2], arguments[1::2], strict=False))
    for pattern, result in pairs:
        if _search(pattern, machine.lscpu):
            return result
    # Another line of lscpu than the known ones may fit.
    raise Unknown


def _number(arguments: Sequence[str]) -> int:
    (text,) = _exactly(1, arguments)
    if not text.isdecimal() or len(text) > 18:
        raise Unknown
    return int(text)


def _inverted(machine: Machine, arguments: Sequence[str]) -> list[int]:
    return sorted(set(machine.online) - set(unpacked(",,".join(arguments))))


FUNCTIONS: Mapping[str, _Function] = {
    "assertion": _assertion,
    "assertion_non_equal": _assertion_non_equal,
    "cpulist2devs": lambda _, given: ",".join(f"cpu{cpu}" for cpu in unpacked(",".join(given))),
    "cpulist2hex": lambda _, given: mask_of(unpacked(",,".join(given))),
    "cpulist2hex_invert": lambda machine, given: mask_of(_inverted(machine, given)),
    "cpulist_invert": lambda machine, given: _expanded(_inverted(machine, given)),
    "cpulist_online": lambda machine, given: _expanded(
        [cpu for cpu in unpacked(",".join(given)) if cpu in machine.online]
    ),
    "cpulist_pack": lambda _, given: packed(unpacked(",,".join(given))),
    "cpulist_present": lambda machine, given: _expanded(
        [cpu for cpu in unpacked(",,".join(given)) if cpu in machine.present]
    ),
    "cpulist_unpack": lambda _, given: _expanded(unpacked(",,".join(given))),
    "hex2cpulist": lambda _, given: _expanded(list(_bits(_exactly(1, given)[0]))),
    "kb2s": lambda _, given: str(_number(given) * 2),
    "log": lambda _, given: "".join(given),
    "lscpu_check": _lscpu_check,
    "regex_search_ternary": _regex_search_ternary,
    "s2kb": lambda _, given: str(round(_number(given) / 2)),
    "strip": lambda _, given: "".join(given).strip(),
}
