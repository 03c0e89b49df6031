"""Words for people: numbers with their nouns, and lists."""

from collections.abc import Sequence


def counted(number: int, noun: str) -> str:
    """`1 core`, `2 cores`, `2 classes`."""
    plural = noun + ("es" if noun.endswith(("s", "x")) else "s")
    return f"{number} {noun if number == 1 else plural}"


def first_of(words: Sequence[str], most: int) -> str:
    """`a, b and c`; of more than `most` words the first ones and how many are left: `a, b and 7
    more`.
    """
    return (
        joined(words)
        if len(words) <= most
        else f"{', '.join(words[:most])} and {len(words) - most} more"
    )


def joined(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
