"""Names that nobody has, and those that were perhaps meant."""

from collections.abc import Iterable

#: Keys that people know from the targets, and the fields of an intent that they follow from.
FOLLOWS_FROM = {
    "reservedcpus": "pools.reserved and pools.shared",
    "reservedsystemcpus": "pools.reserved and pools.shared",
    "isolcpus": "pools.isolated and isolation",
    "nohz_full": "pools.isolated and isolation.nohzFull",
    "rcu_nocbs": "pools.isolated and isolation.rcuNocbs",
    "irqaffinity": "isolation.irqAffinity",
    "shared_cpuset": "pools.shared",
    "infra_ctr_cpuset": "pools.reserved",
}


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of a remedy: the nearest known name, or all of them."""
    if follows := FOLLOWS_FROM.get(word.lower()):
        return f"remove it: it follows from {follows}"
    names = sorted(known)
    if near := nearest(word, names):
        return f"did you mean {near!r}?"
    return "known: " + ", ".join(names) if names else "remove it"


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known name that is most like a word, if one is."""
    from difflib import get_close_matches

    lowered = {name.lower(): name for name in sorted(known)}
    near = get_close_matches(word.lower(), lowered, n=1, cutoff=0.6)
    return lowered[near[0]] if near else None
