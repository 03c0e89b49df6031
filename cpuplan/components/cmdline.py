"""The syntax of kernel command lines (kernel: lib/cmdline.c, kernel/params.c)."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from cpuplan.base.cpuset import CpuSet, CpuSetError
from cpuplan.facts.settings.kernel import (
    CPU_AFFINITY,
    DEFAULT_HUGEPAGESZ,
    IRQAFFINITY,
    NOHZ_FULL,
    NON_ISOLCPUS,
    RCU_NOCBS,
)
from cpuplan.plan.setting import Value
from cpuplan.upstream.linux import cmdline as linux
from cpuplan.upstream.linux.cmdline import Word, memparse, split

#: The words of a line as arguments with a place.
arguments = linux.arguments
#: Arguments whose value is a CPU list or mask.
CPU_LISTS = frozenset(
    {
        RCU_NOCBS.key,
        NOHZ_FULL.key,
        IRQAFFINITY.key,
        "isolcpus",
        CPU_AFFINITY.key,
        NON_ISOLCPUS.key,
    }
)
#: Arguments that take turns: a size, and then what holds for pages of that size.
_HUGE_SIZE, _HUGE_COUNT = "hugepagesz", "hugepages"
_DEFAULT_SIZE = DEFAULT_HUGEPAGESZ.key
_FIRST_HOLDS = (f"{_HUGE_SIZE}=", f"{_DEFAULT_SIZE}=")
#: Arguments that may be given often, each adding to what was said before; those of rd. and systemd.
#: too.
ADDING_UP = frozenset(
    {"console", "crashkernel", "earlycon", "efi", "memmap", "modprobe.blacklist", "pci"}
)
_BLANK = re.compile(r"\s")
_ISOLCPUS_FLAGS = ("domain", "managed_irq", "nohz")


class Occurrence(NamedTuple):
    """One occurrence of an argument: its value, its words, and the column of the first (from 1)."""

    value: Value
    text: str
    column: int


def pairs(text: str) -> list[tuple[str, str | None]]:
    """Name and value of every word of a command line, in order; None for a word without `=`."""
    return [(word.name, word.value) for word in split(text)]


def quote(word: str) -> str:
    """A word as it stands in a command line: quotes around a value with blanks."""
    if not _BLANK.search(word):
        return word
    name, equals, value = word.partition("=")
    return f'{name}="{value}"' if equals else f'"{word}"'


def canonical(key: str) -> str:
    """The key as the kernel compares names (parameq): `-` and `_` are one, except in values.

    A size of huge pages is one however it is written: `1G`, `1GB`, `1048576k`.
    """
    name, equals, rest = key.partition("=")
    if name == _HUGE_SIZE and (size := memparse(rest)):
        rest = f"{size // 1024}k"
    return name.replace("-", "_") + equals + rest


def keyed(text: str) -> dict[str, Value]:
    """Values by argument name, in order; of a repeated argument what the kernel takes.

    Arguments that add up (`console=`) are keys by themselves, `console=tty0`: True. A number of
    pages belongs to the size before it, `hugepagesz=2M`: 64.
    """
    return {key: effective(given) for key, given in occurrences(text).items()}


def effective(given: Sequence[Occurrence]) -> Value:
    """What the kernel makes of an argument that is given so often: the last value.

    isolcpus= is taken with each list whose flags no earlier one has (kernel/sched/isolation.c):
    several make a tuple. Of huge pages the first count holds, and the first default size
    (mm/hugetlb.c).
    """
    if given[0].text.startswith(_FIRST_HOLDS):
        return next((time.value for time in given if time.value is not True), True)
    if not all(isinstance(occurrence.value, tuple) for occurrence in given):
        return given[-1].value
    return _taken([occurrence.value for occurrence in given])


def together(first: Value, later: Value) -> Value:
    """What the kernel makes of two values of isolcpus= with the same CPUs, else the later one.

    It drops a list whose CPUs differ from those before it.
    """
    given = [*lists(first), *lists(later)]
    are_lists = all(isinstance(value, tuple) and value for value in given)
    cpus = {str(value[-1]) for value in given if isinstance(value, tuple) and value}
    return _taken(given) if are_lists and len(cpus) == 1 else later


def _taken(given: Sequence[Value]) -> Value:
    """The lists of isolcpus= whose flags no earlier one has."""
    flags: set[Value] = set()
    taken: list[Value] = []
    for value in given:
        *own, _ = value if isinstance(value, tuple) else (value,)
        if flags.isdisjoint(own):
            flags.update(own)
            taken.append(value)
    return taken[0] if len(taken) == 1 else tuple(taken)


def same(key: str, actual: Value, wanted: Value) -> bool:
    """Whether two values of an argument are one to the kernel: `2M` and `2048k` are one size.

    A size without a number, True, is not one page.
    """
    if key == _DEFAULT_SIZE:
        return _bytes(actual) == _bytes(wanted)
    return actual == wanted and isinstance(actual, bool) == isinstance(wanted, bool)


def _bytes(value: Value) -> Value:
    """A size in bytes; what is none as it is."""
    return memparse(str(value)) or value


def lists(value: Value) -> tuple[Value, ...]:
    """The values of the words that say `value`; isolcpus= may have a list for each flag."""
    if isinstance(value, tuple) and any(isinstance(part, tuple) for part in value):
        return value
    return (value,)


def occurrences(text: str) -> dict[str, list[Occurrence]]:
    """Every time that each key of `keyed` is given, in the order of their last times."""
    times_of_key: dict[str, list[Occurrence]] = {}
    for key, occurrence in _described(text):
        times = times_of_key.pop(key, [])
        times.append(occurrence)
        times_of_key[key] = times
    return times_of_key


def _described(text: str) -> Iterator[tuple[str, Occurrence]]:
    size: Word | None = None
    for word in split(text):
        if size and word.name == _HUGE_COUNT:
            pair = f"{size.text} {word.text}"
            yield f"{_HUGE_SIZE}={size.value}", Occurrence(_count(word.value), pair, size.column)
            size = None
            continue
        if size:
            yield f"{_HUGE_SIZE}={size.value}", Occurrence(True, size.text, size.column)
        size = word if word.name == _HUGE_SIZE and word.value else None
        if not size:
            yield _single(word)
    if size:
        yield f"{_HUGE_SIZE}={size.value}", Occurrence(True, size.text, size.column)


def _single(word: Word) -> tuple[str, Occurrence]:
    name = canonical(word.name)
    if name in CPU_LISTS:
        return name, Occurrence(_value(name, word.value), word.text, word.column)
    adds_up = word.name in ADDING_UP or word.name.startswith(("rd.", "systemd."))
    if word.value is None or adds_up:
        key = word.name if word.value is None else f"{word.name}={word.value}"
        return key, Occurrence(True, word.text, word.column)
    return word.name, Occurrence(word.value, word.text, word.column)


def _count(raw: str | None) -> Value:
    return int(raw) if raw is not None and raw.isdecimal() else raw or ""


def _value(key: str, raw: str | None) -> Value:
    """A CPU list as a set; one that cannot be read as it is."""
    if raw is None:
        return True
    try:
        if key == "isolcpus":
            return _isolcpus(raw)
        return CpuSet.parse_mask(raw) if key == NON_ISOLCPUS.key else CpuSet.parse_kernel(raw)
    except CpuSetError:
        return raw


def _isolcpus(raw: str) -> Value:
    """Flags in one order, then the list; no flag is `domain` (kernel/sched/isolation.c)."""
    items = raw.split(",")
    flags: set[str] = set()
    while items and items[0] in _ISOLCPUS_FLAGS:
        flags.add(items.pop(0))
    return (
        *(flag for flag in _ISOLCPUS_FLAGS if flag in (flags or {"domain"})),
        CpuSet.parse_kernel(",".join(items)),
    )


def words(key: str, value: Value) -> list[str]:
    """The words that say `value`; the opposite of `keyed`."""
    if value is True:
        return [key]
    if key.startswith(f"{_HUGE_SIZE}="):
        return [key, f"{_HUGE_COUNT}={value}"]
    if isinstance(value, CpuSet):
        forms = {NON_ISOLCPUS.key: CpuSet.mask, CPU_AFFINITY.key: CpuSet.expanded}
        return [f"{key}={forms.get(key, str)(value)}"]
    if isinstance(value, tuple):
        texts = (",".join(map(str, parts)) for parts in lists(value) if isinstance(parts, tuple))
        return [f"{key}={text}" for text in texts]
    return [f"{key}={value}"]
