"""Modules by name that load when they are asked for: a command imports what its project uses."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TypeVar, cast

_Shape = TypeVar("_Shape")


class Modules(Mapping[str, _Shape]):
    """A registry whose lines name modules, all of one shape; a module is imported when looked up.

    Names are written out in full, so that what follows imports in the source sees them.
    """

    def __init__(self, paths: Mapping[str, str]) -> None:
        self._paths = paths

    def __getitem__(self, name: str) -> _Shape:
        return cast(_Shape, import_module(self._paths[name]))

    def __contains__(self, name: object) -> bool:
        return name in self._paths  # a mapping would look the value up

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)
