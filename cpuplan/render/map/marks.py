"""What tells CPUs apart in drawings: a letter, which is enough without colours, and the style of
both.

Pools have capitals, partitions of isolated small letters, and containers with exclusive CPUs the
other capitals.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, product, repeat
from string import ascii_lowercase, ascii_uppercase
from typing import NamedTuple

from cpuplan.model.pools import PARTITION, POOLS, QOS_SETS


class Mark(NamedTuple):
    """What a legend calls some CPUs, the letter on them, and their style in `ansi` and
    `colours`.
    """

    name: str
    letter: str
    style: str
    rank: int = 0  # the place in legends


_LETTERS = {"reserved": "R", "shared": "S", "isolated": "I", "isolcpus": "K", "offlined": "O"}
#: What is in no pool: CPUs that the kernel has not, and those that a layout forgot.
OFFLINE, NO_POOL = Mark("offline", ".", "offline", 900), Mark("no pool", "?", "none", 901)
#: Partitions and containers beyond these many have the style of an earlier one again, but never its
#: letter.
PARTITION_STYLES, OWNER_STYLES = 12, 6
_TAKEN = {*_LETTERS.values()}
#: Small letters that are not taken for the capital of a pool, or for a 1.
_SMALL = [letter for letter in ascii_lowercase if letter.upper() not in _TAKEN and letter != "l"]
_OWNER_LETTERS = [letter for letter in ascii_uppercase if letter not in _TAKEN]


def kind_mark(core_type: str) -> Mark:
    """Cores where no pools are drawn: their kind, told by a colour and in a title, without a
    letter.
    """
    return Mark(core_type or "plain", "", core_type or "plain")


def pool_marks(names: Iterable[str]) -> dict[str, Mark]:
    """Pools by name."""
    made = {}
    for rank, name in enumerate(names):
        style = name if name in POOLS else "other"
        made[name] = Mark(
            name or NO_POOL.name, _LETTERS.get(name, name[:1].upper() or "?"), style, 100 + rank
        )
    return made


def partition_marks(names: Sequence[str]) -> dict[str, Mark]:
    """Partitions by name, `isolated.dpdk`: the first letter of theirs that no other one has."""
    letters = _own_letters([name.removeprefix(PARTITION) for name in names])
    return {
        name: Mark(name, letters[index], f"partition{index % PARTITION_STYLES}", 200 + index)
        for index, name in enumerate(names)
    }


def set_marks(names: Iterable[str]) -> dict[str, Mark]:
    """QoS sets, which lie over the pools: b and o."""
    return {name: Mark(name, "", name, 300) for name in names if name in QOS_SETS}


def owner_marks(names: Sequence[str]) -> list[Mark]:
    """Containers with CPUs of their own, in their order: A, B, C, ..., AA, AB, ..."""
    pairs = ("".join(pair) for pair in product(_OWNER_LETTERS, repeat=2))
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
    """A small letter for each name: of its own if one is free, else any; pairs where there are too
    many names.
    """
    found: list[str] = []
    pairs = ("".join(pair) for pair in product(_SMALL, repeat=2))
    for name in names:
        own = [letter for letter in name if letter in _SMALL]
        found.append(
            next((letter for letter in (*own, *_SMALL) if letter not in found), "") or next(pairs)
        )
    return found
