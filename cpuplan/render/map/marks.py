"""What distinguishes CPUs in drawings: a letter, which is enough without colours, and a style.

Pools have capitals, partitions of isolated small letters, and containers with exclusive CPUs the
other capitals.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, product, repeat
from string import ascii_lowercase, ascii_uppercase
from typing import NamedTuple

from cpuplan.language.model.pools import POOLS, QOS_SETS


class Mark(NamedTuple):
    """The name of some CPUs in a legend, the letter on them, and their style."""

    name: str
    letter: str
    style: str  # of `ansi.STYLES` and `svg.colours`
    rank: int = 0  # the place in legends


_LETTERS = {"reserved": "R", "shared": "S", "isolated": "I", "isolcpus": "K", "offlined": "O"}
#: What is in no pool: CPUs that are offline, and those that a layout forgot.
OFFLINE, NO_POOL = Mark("offline", ".", "offline", 900), Mark("no pool", "?", "none", 901)
#: More partitions and containers than these repeat styles, but never letters.
PARTITION_STYLES, OWNER_STYLES = 12, 6
_TAKEN = {*_LETTERS.values()}
#: Small letters that cannot be mistaken for the capital of a pool, or for a 1.
_SMALL = [letter for letter in ascii_lowercase if letter.upper() not in _TAKEN and letter != "l"]
_OWNER_LETTERS = [letter for letter in ascii_uppercase if letter not in _TAKEN]


def kind_mark(core_type: str) -> Mark:
    """Cores outside of pools: their kind has a colour and is in a title, without a letter."""
    return Mark(core_type or "plain", "", core_type or "plain")


def pool_marks(names: Iterable[str]) -> dict[str, Mark]:
    """Pools by name."""
    marks = {}
    for rank, name in enumerate(names):
        letter = _LETTERS.get(name, name[:1].upper() or "?")
        style = name if name in POOLS else "other"
        marks[name] = Mark(name or NO_POOL.name, letter, style, 100 + rank)
    return marks


def partition_marks(names: Sequence[str]) -> dict[str, Mark]:
    """Partitions by name, `isolated.dpdk`: the first letter of theirs that is free."""
    letters = _own_letters([name.partition(".")[2] for name in names])
    marks = {}
    for index, (name, letter) in enumerate(zip(names, letters, strict=True)):
        marks[name] = Mark(name, letter, f"partition{index % PARTITION_STYLES}", 200 + index)
    return marks


def set_marks(names: Iterable[str]) -> dict[str, Mark]:
    """QoS sets, which lie over the pools, without letters."""
    return {name: Mark(name, "", name, 300) for name in names if name in QOS_SETS}


def owner_marks(names: Sequence[str]) -> list[Mark]:
    """Containers with exclusive CPUs, in their order: A, B, C, ..., AA, AB, ..."""
    pairs = map("".join, product(_OWNER_LETTERS, repeat=2))
    letters = chain(_OWNER_LETTERS, pairs, repeat("*"))
    return [
        Mark(name, letter, f"owner{index % OWNER_STYLES}", 1 + index)
        for index, (name, letter) in enumerate(zip(names, letters, strict=False))
    ]


def equally_wide(marks: Mapping[str, Mark]) -> dict[str, Mark]:
    """The marks with letters of one width, so that columns stay columns."""
    widest = max((len(mark.letter) for mark in marks.values()), default=0)
    return {
        name: mark._replace(letter=mark.letter and mark.letter.ljust(widest))
        for name, mark in marks.items()
    }


def _own_letters(names: Sequence[str]) -> list[str]:
    """A small letter for each name, unique if possible; pairs if there are many names."""
    letters: list[str] = []
    pairs = map("".join, product(_SMALL, repeat=2))
    for name in names:
        own = [letter for letter in name if letter in _SMALL]
        free = [letter for letter in (*own, *_SMALL) if letter not in letters]
        letters.append(free[0] if free else next(pairs))
    return letters
