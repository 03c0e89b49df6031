"""Paths of Ignition configs, and how a broken rule is told."""

import posixpath
from collections.abc import Iterable, Iterator
from typing import TypeAlias

#: Where, below the section, and the rule.
Broken: TypeAlias = tuple[tuple[str | int, ...], str]


def problem_of_path(path: str) -> str | None:
    """Why text is not an absolute path in its shortest form, if it is not."""
    if not path:
        return "a path is required"
    if not path.startswith("/"):
        return "the path is not absolute"
    return None if clean(path) == path else "the path is not in its shortest form"


def clean(path: str) -> str:
    """Go's path.Clean; unlike Python's, two leading slashes are one."""
    shortest = posixpath.normpath(path)
    return "/" + shortest.lstrip("/") if shortest.startswith("/") else shortest


def below(broken: Iterable[Broken], field: str) -> Iterator[Broken]:
    """The same, one level up."""
    for place, cause in broken:
        yield (field, *place), cause
