"""Suites whose cases name an operation: each has a judge, and JSON values are compared whole."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.conformance.comparing import Json, judge_lines

#: From the input of a case, what cpuplan makes of it, in the form of `expected`.
Judge = Callable[[Any], Any]
#: What is wrong with a case; None: it is compared whole.
Check = Callable[[Json], Iterator[str] | None]


def run_lines(
    paths: Iterable[Path],
    default: Path,
    kinds: Mapping[str, Judge],
    pattern: str = "*.jsonl",
    check: Check = lambda case: None,
) -> Iterator[tuple[str, list[str]]]:
    """(file and id, what differs) of each case in files and folders; without any, of `default`.

    A case whose operation has no judge fails. `check` is asked first.
    """
    for path in sorted(paths) or [default]:
        for file in sorted(path.glob(pattern)) if path.is_dir() else [path]:
            yield from judge_lines(file, lambda case: check(case) or _check(case, kinds))


def _check(case: Json, kinds: Mapping[str, Judge]) -> Iterator[str]:
    judge = kinds.get(case["op"])
    if judge is None:
        return iter([f"there is no judge for the operation {case['op']}"])
    return differences("", case["expected"], judge(case["input"]))


def differences(where: str, expected: Any, found: Any) -> Iterator[str]:
    """The places in which two JSON values differ."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in sorted({*expected, *found}):
            place = f"{where}.{key}" if where else key
            yield from differences(place, expected.get(key), found.get(key))
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for index, pair in enumerate(zip(expected, found, strict=True)):
            yield from differences(f"{where}[{index}]", *pair)
    elif expected != found:
        yield f"{where} is {found!r:.300}, not {expected!r:.300}"
