"""Regular expressions that are compiled when something is first matched with them.

To compile those of all modules takes a tenth of a command that uses a few of them.
"""

import re
from typing import Any, cast

_METHODS = ("fullmatch", "match", "search", "finditer", "findall", "split", "sub", "pattern")


class _Pattern:
    """A `re.Pattern` to be: once it is compiled, its methods are the compiled pattern's."""

    def __init__(self, text: str, flags: int) -> None:
        self._given = (text, flags)

    def __getattr__(self, name: str) -> Any:
        if name not in _METHODS:
            raise AttributeError(name)
        compiled = re.compile(*self._given)
        vars(self).update((method, getattr(compiled, method)) for method in _METHODS)
        return getattr(compiled, name)


def expression(text: str, flags: int = 0) -> re.Pattern[str]:
    """The compiled pattern, for what calls its methods."""
    return cast("re.Pattern[str]", _Pattern(text, flags))
