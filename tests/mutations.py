"""Expectations with one value changed or taken away: what a comparison must notice."""

import copy
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

Path = tuple[str | int, ...]


class Mutant(NamedTuple):
    """What was done to which kind of value, the value, and the whole expectation afterwards."""

    kind: str
    leaf: Any
    value: Any


def mutants(
    expected: Any, lines: Callable[[Path, str], str | None] | None = None
) -> Iterator[Mutant]:
    """One mutant for each kind of leaf and each thing that can be done to it, in their order.

    Leaves are of one kind where only their places in lists differ. `lines` is the text of a leaf
    that is changed line by line, or None for one that is changed as a whole.
    """
    done = set()
    for path, leaf in _leaves(expected):
        text = lines(path, leaf) if lines and isinstance(leaf, str) else None
        changes = _line_changes(text) if text is not None else _changes(leaf)
        for what, changed in changes:
            kind = f"{kind_of(path)} {what}"
            if kind not in done:
                done.add(kind)
                yield Mutant(kind, leaf, with_value(expected, path, changed))
        removed = f"{kind_of(path)} removed"
        if isinstance(path[-1], str) and removed not in done:
            done.add(removed)
            yield Mutant(removed, leaf, _without(expected, path))


def kind_of(path: Path) -> str:
    """A path with its places in lists left out."""
    return ".".join("[]" if isinstance(step, int) else step for step in path)


def with_value(value: Any, path: Path, changed: Any) -> Any:
    """A copy with `changed` at `path`."""
    result = copy.deepcopy(value)
    _parent(result, path)[path[-1]] = changed
    return result


def _without(value: Any, path: Path) -> Any:
    result = copy.deepcopy(value)
    del _parent(result, path)[path[-1]]
    return result


def _parent(value: Any, path: Path) -> Any:
    for step in path[:-1]:
        value = value[step]
    return value


def _leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Scalars, and mappings and lists without items."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _leaves(item, (*path, key))
    elif isinstance(value, list) and value:
        for place, item in enumerate(value):
            yield from _leaves(item, (*path, place))
    elif path:
        yield path, value


def _changes(leaf: Any) -> Iterator[tuple[str, Any]]:
    yield "changed", _other(leaf)


def _other(leaf: Any) -> Any:
    if isinstance(leaf, bool):
        return not leaf
    if isinstance(leaf, int | float):
        return leaf + 1
    if isinstance(leaf, str):
        return other_text(leaf)
    if isinstance(leaf, dict):
        return {"x": "x"}
    return ["x"] if isinstance(leaf, list) else "x"


def other_text(text: str) -> str:
    """A text with its last number one higher; without numbers, with one letter more."""
    numbers = list(re.finditer(r"\d+", text))
    if not numbers:
        return f"{text}x"
    last = numbers[-1]
    return f"{text[: last.start()]}{int(last[0]) + 1}{text[last.end() :]}"


def _line_changes(text: str) -> Iterator[tuple[str, str]]:
    """(what, text) with one line changed or taken away; comments and blank lines stay."""
    lines = text.splitlines()
    section = ""
    for number, line in enumerate(lines):
        bare = line.strip()
        if bare.startswith("["):
            section = bare
        if bare and bare[0] not in "#;" and not bare.startswith("["):
            name = f"{section}{re.split('[=:]', bare)[0].strip()}"
            before, after = lines[:number], lines[number + 1 :]
            yield f"{name} changed", "\n".join([*before, _other_line(line), *after, ""])
            yield f"{name} removed", "\n".join([*before, *after, ""])


def _other_line(line: str) -> str:
    """Changed before what ends a line: quotes, brackets, a backslash."""
    match = re.fullmatch(r"(.*?)([\s\"'\])},\\]*)", line)
    assert match
    return other_text(match[1]) + match[2]
