"""Expressions about containers, names of groups, and the globs of both.

Upstream: containers/nri-plugins pkg/apis/resmgr/v1alpha1/expression.go
  @ 83d986e963ad28ca31790102af6d509c7b7e7d45
"""

import re
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from cpuplan.upstream.kubernetes.strconv import quote
from cpuplan.upstream.nri.api import NriError


def matches(pattern: str, text: str) -> bool:
    """Whether a text matches; a malformed pattern matches nothing."""
    compiled = compiled_pattern(pattern)
    return compiled is not None and compiled.fullmatch(text) is not None


@cache
def compiled_pattern(pattern: str) -> re.Pattern[str] | None:
    """The pattern, or None if it is malformed."""
    parts, rest = [], pattern
    while rest:
        char, rest = rest[0], rest[1:]
        if char == "*":
            parts.append("[^/]*")
        elif char == "?":
            parts.append("[^/]")
        elif char == "[":
            group = _group(rest)
            if group is None:
                return None
            part, rest = group
            parts.append(part)
        elif char == "\\":
            if not rest:
                return None
            parts.append(re.escape(rest[0]))
            rest = rest[1:]
        else:
            parts.append(re.escape(char))
    return re.compile("".join(parts), re.DOTALL)


def _group(rest: str) -> tuple[str, str] | None:
    """(a character class, what follows it); None if it is malformed."""
    negated = rest.startswith("^")
    rest = rest.removeprefix("^")
    ranges: list[str] = []
    while not (ranges and rest.startswith("]")):
        low = _character(rest)
        if low is None:
            return None
        first, rest = low
        last = first
        if rest.startswith("-"):
            high = _character(rest[1:])
            if high is None:
                return None
            last, rest = high
        if first <= last:
            ranges.append(f"{re.escape(first)}-{re.escape(last)}")
        else:
            ranges.append("")
    inside = "".join(ranges)
    if not inside:
        return ("." if negated else r"(?!)"), rest[1:]
    return f"[{'^' * negated}{inside}]", rest[1:]


def _character(rest: str) -> tuple[str, str] | None:
    """(a character of a class, what follows it); None where there is none."""
    if not rest or rest[0] in "-]":
        return None
    if rest[0] == "\\":
        rest = rest[1:]
    return (rest[0], rest[1:]) if len(rest) > 1 else None


_PLAIN_KEYS = ("id", "uid", "name", "namespace", "qosclass")
_MAP_KEYS = ("labels", "tags")
#: How many values an operator takes; None is any number.
_VALUES = {
    "Equals": 1,
    "NotEqual": 1,
    "Matches": 1,
    "MatchesNot": 1,
    "Exists": 0,
    "NotExist": 0,
    "AlwaysTrue": 0,
    "In": None,
    "NotIn": None,
    "MatchesAny": None,
    "MatchesNone": None,
}
_NEGATED = {"NotEqual", "NotIn", "NotExist", "MatchesNot", "MatchesNone"}

#: The value of a key of a container, None where it has none.
Lookup = Callable[[str], str | None]


class Expression(NamedTuple):
    """`key operator values`."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


def validate_expression(expression: Expression) -> None:
    """NriError for an unknown key or operator, and for a wrong number of values."""
    keys, _ = _split_key(expression.key)
    for key in keys:
        _validate_key(key.lstrip("/"))
    if expression.operator not in _VALUES:
        raise _invalid(f"unknown operator: {quote(expression.operator)}")
    wanted = _VALUES[expression.operator]
    if wanted is not None and len(expression.values) != wanted:
        rule = "requires a single value" if wanted else "does not take any values"
        raise _invalid(f"'{expression.operator}' {rule}")


def _validate_key(key: str) -> None:
    name, _, rest = key.partition("/")
    if name in _PLAIN_KEYS:
        if rest:
            raise _invalid(f"trailing key {quote(rest)} after {quote(name)}")
    elif name == "pod" or name in _MAP_KEYS:
        if not rest:
            kind = "pod" if name == "pod" else "map"
            raise _invalid(f"missing trailing {kind} key after {quote(name)}")
        if name == "pod":
            _validate_key(rest)
    else:
        raise _invalid(f"unknown key {quote(name)}")


def holds(expression: Expression, lookup: Lookup) -> bool:
    """Whether an expression is true. Every negated operator is true of a value that is absent."""
    if expression.operator == "AlwaysTrue":
        return True
    value = value_of(expression.key, lookup)
    compares = value is not None and _compare(expression, value)
    return compares != (expression.operator in _NEGATED)


def _compare(expression: Expression, value: str) -> bool:
    operator, values = expression.operator, expression.values
    if operator in ("Exists", "NotExist"):
        return True
    if operator.startswith("Matches"):
        return any(matches(pattern, value) for pattern in values)
    wildcard = operator != "NotEqual" and "*" in values
    return value in values or wildcard


def value_of(key: str, lookup: Lookup) -> str | None:
    """The value of a key, or those of joint keys (`:pod/name:name`) with their separator."""
    keys, separator = _split_key(key)
    values = [lookup(part) for part in keys]
    if len(keys) == 1 or all(value is None for value in values):
        return values[0]
    return separator.join(value or "" for value in values)


def _split_key(key: str) -> tuple[list[str], str]:
    """(keys, separator of their values) of a key that may be joint."""
    if len(key) < 4 or key[0] != ":":
        return [key], ""
    rest = key[1:]
    if _separates(rest[0]) and _separates(rest[1]):
        return rest[2:].split(rest[0]), rest[1]
    return rest.split(":"), ":"


def _separates(char: str) -> bool:
    return not (char.isascii() and char.isalnum()) and char not in "/."


def _invalid(text: str) -> NriError:
    return NriError(f"expression: invalid expression, {text}")


def expand(text: str, lookup: Lookup, *, strict: bool) -> str | None:
    """A text with `${key}` and `$key` replaced; None if it is malformed.

    A key without a value is nothing, or makes a strict expansion fail.
    """
    result, rest = "", text
    while rest:
        before, dollar, rest = rest.partition("$")
        result += before
        if not dollar:
            break
        if rest.startswith("$"):
            result, rest = result + "$", rest[1:]
            continue
        key, end, rest = _reference(rest)
        value = value_of(key, lookup) if key else None
        if not key or (value is None and strict):
            return None
        result += value or ""
        if end == "$":
            rest = f"${rest}"
    return result


def _reference(rest: str) -> tuple[str, str, str]:
    """(key, what ended it, what follows); no key where the reference is malformed.

    A key without braces ends where the next reference begins.
    """
    braced = rest.startswith("{")
    key, end, rest = rest.removeprefix("{").partition("}" if braced else "$")
    if any(char in "{}$" for char in key) or (braced and not end):
        key = ""
    return key, end, rest
