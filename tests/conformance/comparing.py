"""Sentences about what is not as expected, and groups of CPUs as values to compare."""

from collections.abc import Hashable, Iterable, Iterator

from cpuplan.cpuset import CpuSet


def differ(what: str, expected: object, found: object) -> Iterator[str]:
    """A sentence if the two are not equal."""
    if expected != found:
        yield f"{what} is {found!s:.120}, not {expected!s:.120}"


def grouped(labels: Iterable[tuple[int, Hashable]]) -> list[CpuSet]:
    """The CPUs of (CPU, label) with equal labels."""
    groups: dict[Hashable, list[int]] = {}
    for cpu, label in labels:
        groups.setdefault(label, []).append(cpu)
    return [CpuSet(members) for members in groups.values()]


def texts(sets: Iterable[CpuSet]) -> list[str]:
    """Groups in an order of their own: only which CPUs are together counts."""
    return sorted(map(str, sets))
