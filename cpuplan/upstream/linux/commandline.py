"""The words of a kernel command line, in the order in which the kernel takes them."""

import re
from typing import NamedTuple

_DECIMAL = re.compile(r"[0-9]{1,6}")


class Word(NamedTuple):
    """One option; `rest` is the command line behind it."""

    key: str
    value: str
    has_value: bool
    rest: str


class Line:
    """The options of a command line."""

    def __init__(self, text: str) -> None:
        self.words: list[Word] = []
        rest = text.strip()
        while rest:
            word, _, rest = rest.partition(" ")
            key, equals, value = word.partition("=")
            if key:
                # Options of the kernel itself have underscores, however they are written.
                name = key if "." in key else key.replace("-", "_")
                self.words.append(Word(name, value.replace('"', ""), bool(equals), rest))

    def last(self, key: str) -> str | None:
        """The value of the last option of this name; None without one."""
        return next((word.value for word in reversed(self.words) if word.key == key), None)

    def has(self, key: str) -> bool:
        """Whether the option is given."""
        return self.last(key) is not None

    def number(self, key: str, otherwise: int) -> int:
        """The last value as a number."""
        value = self.last(key) or ""
        return int(value) if _DECIMAL.fullmatch(value) else otherwise
