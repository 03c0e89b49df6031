"""Words for people: numbers with their nouns, lists, and names that were perhaps meant."""

from collections.abc import Iterable, Sequence

#: Characters of a scalar that a message repeats.
SHOWN = 40
#: So many letters say which name is meant; fewer begin names by chance.
_FEW_LETTERS = 3


def plural(noun: str, number: int) -> str:
    """`core`, `cores`, `classes`."""
    return noun if number == 1 else noun + ("es" if noun.endswith(("s", "x")) else "s")


def counted(number: int, noun: str) -> str:
    """`1 core`, `2 cores`, `2 classes`."""
    return f"{number} {plural(noun, number)}"


def joined(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def first_of(words: Sequence[str], most: int) -> str:
    """`a, b and c`; of more than `most` words the first ones, and a number: `a, b and 7 more`."""
    more = len(words) - most
    return joined(words) if more <= 0 else f"{', '.join(words[:most])} and {more} more"


def listed(words: Sequence[str], most: int) -> str:
    """`a, b, c`; of many more than `most` words the first ones, and a number: `a, b and 7 more`."""
    more = len(words) - most
    return ", ".join(words) if more <= 1 else f"{', '.join(words[:most])} and {more} more"


def at_most(words: Sequence[str], most: int) -> str:
    """`a, b, c`; of more than `most` words the first ones, and a number: `a, b and 1 more`."""
    more = f" and {len(words) - most} more" if len(words) > most else ""
    return ", ".join(words[:most]) + more


def clip(text: str, longest: int = SHOWN) -> str:
    """`text`, shortened to what a message has room for."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of a remedy: the nearest known name, or all of them."""
    names = sorted(known)
    if near := nearest(word, names):
        return f"did you mean {near!r}?"
    return "known: " + ", ".join(names) if names else "remove it"


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known name that is most like a word, if one is.

    A name that the word begins is meant rather than one that only looks like it: `worker1` is
    `worker1.internal` and not `core-1`. The host name of a node, up to its first dot, comes first.
    """
    from difflib import get_close_matches  # start-up time: only mistakes need it

    lowered = {name.lower(): name for name in sorted(known)}
    wanted = word.lower()
    hosts = [name for name in lowered if wanted == name.partition(".")[0]]
    longer = sorted((name for name in lowered if name.startswith(wanted)), key=len)
    begun = longer if len(wanted) >= _FEW_LETTERS else []
    near = hosts or begun or get_close_matches(wanted, lowered, n=1, cutoff=0.6)
    return lowered[near[0]] if near else None
