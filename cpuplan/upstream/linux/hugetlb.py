"""Huge pages of a command line: which sizes, how many, on which NUMA nodes, and what is ignored.

Of one size, the first count holds; a count belongs to the size before it, and to the default size
where none is before it.

Upstream: torvalds/linux mm/hugetlb.c @ adc218676eef25575469234709c2d87185ca223a
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from cpuplan.upstream.linux.cmdline import Argument, memparse

DEFAULT_SIZE, SIZE, COUNT = "default_hugepagesz", "hugepagesz", "hugepages"
#: The arguments that are read here.
NAMES = frozenset((DEFAULT_SIZE, SIZE, COUNT))
#: Why a size is not taken.
UNSUPPORTED = "the machine has no huge pages of this size"
_ON_NODE = re.compile(r"([0-9]{1,10}):([0-9]{1,18})")
_NUMBER = re.compile(r"[0-9]{1,18}")


class Pages(NamedTuple):
    """A count of pages of a size in bytes, of the machine (None) or of a NUMA node."""

    size: int
    number: int
    numa_node: int | None
    argument: Argument


class Ignored(NamedTuple):
    """An argument of which the kernel takes nothing, and why."""

    argument: Argument
    reason: str


class HugePages(NamedTuple):
    """What a command line says about huge pages."""

    #: In bytes; None where no argument says it, or none that counts.
    default_size: int | None
    #: What said it.
    said_by: Argument | None
    pages: tuple[Pages, ...]
    #: The sizes that are named, in bytes, each with its first argument.
    sizes: tuple[tuple[int, Argument], ...]
    ignored: tuple[Ignored, ...]


class _Reader:
    """What the kernel knows while it reads the arguments in order."""

    def __init__(self, sizes: frozenset[int], usual: int) -> None:
        self.valid, self.usual = sizes, usual
        self.default: int | None = None
        self.said_by: Argument | None = None
        #: The size that a count belongs to; None for the default size, not yet known.
        self.size: int | None = None
        self.has_valid_size = True
        self.last: int | str | None = "none yet"
        self.counts: dict[int | None, list[Pages]] = {}
        self.sizes: dict[int, Argument] = {}
        self.ignored: list[Ignored] = []

    def ignore(self, argument: Argument, reason: str) -> None:
        self.ignored.append(Ignored(argument, reason))

    def _is_supported(self, argument: Argument, size: int) -> bool:
        is_known = bool(size) and (not self.valid or size in self.valid)
        if not is_known:
            self.ignore(argument, UNSUPPORTED)
        return is_known

    def default_size(self, argument: Argument) -> None:
        """`default_hugepagesz=`: the first one holds."""
        self.has_valid_size = False
        if self.default is not None:
            self.ignore(argument, "an earlier argument says the default size")
            return
        size = memparse(argument.value or "")
        if not self._is_supported(argument, size):
            return
        self.default, self.said_by, self.size, self.has_valid_size = size, argument, size, True
        self.sizes.setdefault(size, argument)
        if None in self.counts and size not in self.counts:
            self.counts[size] = self.counts.pop(None)

    def page_size(self, argument: Argument) -> None:
        """`hugepagesz=`: each size once, the default size again while it has no count."""
        self.has_valid_size = False
        size = memparse(argument.value or "")
        if not self._is_supported(argument, size):
            return
        if size in self.sizes and not self._may_repeat(size):
            self.ignore(argument, "the size is named before, and of one size the first count holds")
            return
        self.size, self.has_valid_size = size, True
        self.sizes.setdefault(size, argument)

    def _may_repeat(self, size: int) -> bool:
        return size == self.default and not any(page.number for page in self.counts.get(size, ()))

    def count(self, argument: Argument) -> None:
        """`hugepages=N` or `hugepages=NODE:N,NODE:N`."""
        if not self.has_valid_size:
            self.ignore(argument, "the size before it is not taken")
            self.has_valid_size = True
            return
        size = self.size if self.sizes else None
        if self.last == size:
            self.ignore(argument, "of one size the first count holds")
            return
        counts = list(_counts(argument, size or 0))
        if not counts:
            self.ignore(argument, "it is no count of pages")
            return
        self.last = size
        self.counts[size] = counts

    def result(self) -> HugePages:
        """What holds after the last argument."""
        without = self.counts.pop(None, [])
        size = self.default or self.usual
        if without and size not in self.counts:
            self.counts[size] = without
        elif without:
            self.ignore(without[0].argument, "of one size the first count holds")
        pages = tuple(
            page._replace(size=size or 0) for size, given in self.counts.items() for page in given
        )
        return HugePages(
            self.default, self.said_by, pages, tuple(self.sizes.items()), tuple(self.ignored)
        )


def _counts(argument: Argument, size: int) -> Iterator[Pages]:
    """The counts of an argument; none where it cannot be read."""
    text = argument.value or ""
    on_nodes = [_ON_NODE.match(part) for part in text.split(",")]
    if on_nodes[0]:
        matches = [match for match in on_nodes if match]
        if len(matches) == len(on_nodes):
            yield from (Pages(size, int(match[2]), int(match[1]), argument) for match in matches)
        return
    number = _NUMBER.match(text)
    if number:
        yield Pages(size, int(number[0]), None, argument)


def parse(
    arguments: Iterable[Argument],
    sizes: Iterable[int] = (),
    usual: int = 2 * 1024**2,
) -> HugePages:
    """What the kernel makes of arguments, in their order.

    `sizes` are those of the machine in bytes (none: any), `usual` its default size.
    """
    reader = _Reader(frozenset(sizes), usual)
    steps = {DEFAULT_SIZE: reader.default_size, SIZE: reader.page_size, COUNT: reader.count}
    for argument in arguments:
        step = steps.get(argument.name)
        if step:
            step(argument)
    return reader.result()
