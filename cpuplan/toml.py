"""TOML that others wrote, read within bounds."""

import re
from typing import Any

#: tomllib takes minutes for a key of 100,000 parts. Possessive, so that looking for one is quick.
_MOST_DOTS = 32
_LONG_KEY = re.compile(
    rf"""(?:["'A-Za-z0-9_-]{{1,64}}+[ \t]{{0,8}}+\.[ \t]{{0,8}}+){{{_MOST_DOTS}}}"""
)


def load(text: str) -> dict[str, Any]:
    """The tables of a text. ValueError for what is no TOML, RecursionError if it is too deep."""
    import tomllib

    if text.count(".") >= _MOST_DOTS and _LONG_KEY.search(text):
        raise ValueError(f"a key has more than {_MOST_DOTS} parts")
    return tomllib.loads(text)


_NAMES = {str: "text", bool: "true or false", int: "a number", list: "a list", dict: "a table"}


def name_of(kind: type[Any]) -> str:
    """A type of TOML as people call it."""
    return _NAMES.get(kind, f"a {kind.__name__}")
