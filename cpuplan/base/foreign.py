"""JSON and TOML that others may have written, as data: bounded, and of the form that is needed.

The JSON of Python takes numbers that JSON does not have, half characters that nothing can print,
and lists that are so deep that whoever walks through them runs out of stack.
"""

import json
import re
from typing import Any, NoReturn

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


def read_json(data: bytes | str, form: Form | None = None) -> Any:
    """The value of a JSON text that has the form. Raises ForeignError."""
    text = data if isinstance(data, str) else _decoded(data)
    value = _parsed(text)
    if _is_deep(value):
        raise ForeignError(f"it is nested deeper than {DEPTH} levels")
    if "\\u" in text:  # only an escape can be half a character
        _check_characters(value)
    if form and not form.fits(value):
        raise ForeignError(str(misfit(value, form.schema)))
    return value


def _decoded(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
        raise ForeignError(f"byte 0x{data[error.start]:02x} is not UTF-8", line, column) from None


def _parsed(text: str) -> Any:
    try:
        return json.loads(
            text, parse_int=_integer, parse_float=_number, parse_constant=_no_constant
        )
    except json.JSONDecodeError as error:
        problem = f"it is no JSON: {error.msg}"
        raise ForeignError(problem, error.lineno, error.colno) from None
    except RecursionError:
        raise ForeignError(f"it is nested deeper than {DEPTH} levels") from None


def _integer(text: str) -> int:
    if len(text) > _DIGITS:
        raise ForeignError(f"a number has {len(text):,} digits")
    return int(text)


def _number(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ForeignError("a number is too large")
    return number


def _no_constant(text: str) -> NoReturn:
    raise ForeignError(f"{text} is no value of JSON")


def _check_characters(value: Any) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ForeignError("a text has half a character (\\ud800 to \\udfff)") from None


def _is_deep(value: Any) -> bool:
    """Whether a value is nested deeper than DEPTH; without recursion."""
    level = [value]
    for _ in range(DEPTH):
        inner: list[Any] = []
        for container in level:
            if isinstance(container, dict):
                inner += container.values()
            elif isinstance(container, list):
                inner += container
        if not inner:
            return False
        level = inner
    return any(isinstance(part, dict | list) for part in level)


def read_toml(text: str) -> dict[str, Any]:
    """The tables of a text. ValueError for what is no TOML, RecursionError if it is too deep."""
    import tomllib

    if text.count(".") >= _MOST_DOTS and _LONG_KEY.search(text):
        raise ValueError(f"a key has more than {_MOST_DOTS} parts")
    return tomllib.loads(text)


def name_in_toml(kind: type[Any]) -> str:
    """A type of TOML as people call it."""
    return _NAMES.get(kind, f"a {kind.__name__}")
