"""JSON and TOML that others may have written, as data: bounded, and of the form that is needed.

The JSON of Python takes numbers that JSON does not have, half characters that nothing can print,
and lists that are so deep that whoever walks through them runs out of stack.
"""

import json
import re
from typing import Any, NamedTuple, NoReturn

from cpuplan.base.fits import Form, misfit

#: Levels of nesting; what cpuplan writes has fewer than twenty.
DEPTH = 64
#: tomllib takes minutes for a key of 100,000 parts. Possessive, so that looking for one is quick.
_MOST_DOTS = 32
_LONG_KEY = re.compile(
    rf"""(?:["'A-Za-z0-9_-]{{1,64}}+[ \t]{{0,8}}+\.[ \t]{{0,8}}+){{{_MOST_DOTS}}}"""
)
_NAMES = {str: "text", bool: "true or false", int: "a number", list: "a list", dict: "a table"}
#: Digits of a whole number; the largest of what cpuplan writes count bytes of memory.
_DIGITS = 20


class ForeignError(ValueError):
    """The text is not what it should be: the problem, and its line and column if they are known."""

    def __init__(self, problem: str, line: int = 0, column: int = 0) -> None:
        super().__init__(problem)
        self.line, self.column = line, column

    @property
    def predicate(self) -> str:
        """The problem without its subject, for who names that."""
        return str(self).removeprefix("it ")


class Limits(NamedTuple):
    """The most that a text may hold."""

    bytes: int
    #: Values and keys: an object of Python takes about a hundred bytes for each.
    values: int
    #: Lists and mappings in one another.
    depth: int


#: Of a file that cpuplan writes; the largest have some hundred thousand values.
_OWN = Limits(bytes=64 * 1024 * 1024, values=16_000_000, depth=DEPTH)


def read_json(data: bytes | str, form: Form | None = None) -> Any:
    """The value of a JSON text that has the form. Raises ForeignError."""
    value = load(data, _OWN)
    measure(value, _OWN)
    if form and not form.fits(value):
        raise ForeignError(str(misfit(value, form.schema)))
    return value


def load(data: bytes | str, limits: Limits) -> Any:
    """The value of a JSON text. Raises ForeignError for what is none, and for one beyond limits.

    Only its size and the number of its values are bounded before it is read, which takes no
    more memory than these allow; `measure` bounds the depth.
    """
    if len(data) > limits.bytes:
        raise ForeignError(f"it has more than {limits.bytes:,} bytes")
    if _most_values(data) > limits.values:
        raise ForeignError(f"it has more than {limits.values:,} values")
    text = data if isinstance(data, str) else _decoded(data)
    try:
        return json.loads(
            text, parse_int=_integer, parse_float=_number, parse_constant=_no_constant
        )
    except json.JSONDecodeError as error:
        problem = f"it is no JSON: {error.msg}"
        raise ForeignError(problem, error.lineno, error.colno) from None
    except RecursionError:
        raise ForeignError(f"it is nested deeper than {limits.depth} levels") from None


def measure(value: Any, limits: Limits) -> int:
    """How many values and keys there are. Raises ForeignError beyond limits.

    Also for a text that is none: half of a surrogate pair can be written in JSON, and nowhere else.
    """
    total, depth, level = 0, 0, [value]
    while level:
        total += len(level)
        if total > limits.values:
            raise ForeignError(f"it has more than {limits.values:,} values")
        below: list[Any] = []
        is_container = False
        for item in level:
            if isinstance(item, dict):
                is_container = True
                below += item.keys()
                below += item.values()
            elif isinstance(item, list):
                is_container = True
                below += item
            elif isinstance(item, str) and not item.isascii():
                _check_text(item)
        if is_container and depth >= limits.depth:
            raise ForeignError(f"it is nested deeper than {limits.depth} levels")
        depth, level = depth + 1, below
    return total


def _most_values(data: bytes | str) -> int:
    """At least as many as there are, counted without reading: what stands in texts counts too."""
    signs: tuple[Any, ...] = (",", "[", "{", ":")
    if isinstance(data, bytes):
        signs = (b",", b"[", b"{", b":")
    return 1 + sum(data.count(sign) for sign in signs)


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        problem = "it has a text with half a character (\\ud800 to \\udfff)"
        raise ForeignError(problem) from None


def _decoded(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start]
        problem = f"it is no JSON: byte 0x{data[error.start]:02x} is not UTF-8"
        line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
        raise ForeignError(problem, line, column) from None


def _integer(text: str) -> int:
    if len(text) > _DIGITS:
        raise ForeignError(f"it has a number of {len(text):,} digits")
    return int(text)


def _number(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ForeignError("it has a number that is too large")
    return number


def _no_constant(text: str) -> NoReturn:
    raise ForeignError(f"it has {text}, which is no value of JSON")


def read_toml(text: str) -> dict[str, Any]:
    """The tables of a text. ValueError for what is no TOML, RecursionError if it is too deep."""
    import tomllib

    if text.count(".") >= _MOST_DOTS and _LONG_KEY.search(text):
        raise ValueError(f"a key has more than {_MOST_DOTS} parts")
    return tomllib.loads(text)


def name_in_toml(kind: type[Any]) -> str:
    """A type of TOML as people call it."""
    return _NAMES.get(kind, f"a {kind.__name__}")
