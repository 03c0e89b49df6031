"""Sentences about what is not as expected, groups of CPUs as values to compare, and the guard that
makes a fault of a vector its failure.
"""

import gzip
import json
import zlib
from collections.abc import Callable, Hashable, Iterable, Iterator
from pathlib import Path
from typing import Any

from cpuplan.base.cpuset import CpuSet

Json = dict[str, Any]


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


def judged(place: str, judge: Callable[[], Iterable[str]]) -> list[str]:
    """The failures of a vector. An exception is one: it must not hide what the others give."""
    try:
        return list(judge())
    except Exception as error:
        return [f"{place}: cpuplan or its comparison failed: {error!r}"]


def judge_lines(
    file: Path, check: Callable[[Json], Iterable[str] | None]
) -> Iterator[tuple[str, list[str]]]:
    """(file and id, failures as `path:line: what`) of every JSON line; .gz files are decompressed.

    `check` yields what is not as expected, or returns None for a case that the suite leaves out. A
    file or line that cannot be read is a failure of its own.
    """
    try:
        content = file.read_bytes()
        lines = (gzip.decompress(content) if file.suffix == ".gz" else content).splitlines()
    except (OSError, EOFError, zlib.error) as error:
        yield file.name, [f"{file}:1: the file cannot be read: {error}"]
        return
    for number, line in enumerate(lines, 1):
        yield from _judge_line(f"{file}:{number}", file.name, line, check)


def _judge_line(
    place: str, name: str, line: bytes, check: Callable[[Json], Iterable[str] | None]
) -> Iterator[tuple[str, list[str]]]:
    vector = name
    try:
        case = json.loads(line)
        vector = f"{name}/{case['id']}"
        problems = check(case)
        if problems is not None:
            yield vector, [f"{place}: {what}" for what in problems]
    except Exception as error:  # as in judged
        yield vector, [f"{place}: cpuplan or its comparison failed: {error!r}"]
