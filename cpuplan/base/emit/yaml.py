"""YAML in block style.

The writer is our own because libyaml's takes 1.2 s for half a megabyte, wraps lines, and leaves
texts unquoted that other readers take for numbers.
"""

import re
from functools import lru_cache
from typing import Any

from cpuplan.base.emit.scalars import is_literal, quote
from cpuplan.base.emit.values import Flow, Noted
from cpuplan.base.printable import printable_lines

# YAML ends the search for the colon of a `key: value` pair after 1024 characters (1.2, section
# 7.4.2)
_MAX_KEY = 1000


def to_yaml(data: object, header: str = "") -> str:
    """`data` as a YAML document in block style, keys in order, below `header` as a comment.

    Takes None, bool, int, str, lists, tuples, dicts with text keys, and Flow; raises TypeError for
    anything else and ValueError for text that is not Unicode (half of a surrogate pair), which YAML
    cannot hold.
    """
    lines = list(_comment(header))
    _write_document(lines, data)
    lines.append("")
    return "\n".join(lines)


@lru_cache(maxsize=256)
def _comment(header: str) -> tuple[str, ...]:
    return tuple(("# " + printable_lines(line)).rstrip() for line in header.splitlines())


def _write_document(lines: list[str], data: object) -> None:
    if isinstance(data, dict) and data:
        _write_dict(lines, data, "", "")
    elif isinstance(data, list | tuple) and data:
        _write_list(lines, data, "", "")
    else:
        _write_leaf(lines, "", data, "")


def _write_dict(lines: list[str], data: dict[str, Any], lead: str, indent: str) -> None:
    """`lead` stands before the first key: the indent, or the dashes of lists that begin here."""
    for key, value in data.items():
        start = f"{lead}{_key(key, indent)}:"
        # not between the dash of a list and its first key
        if isinstance(value, Noted) and lead == indent:
            lines += [f"{indent}{line}" for line in _comment(value.note)]
        lead = indent
        if isinstance(value, dict) and value:
            lines.append(start)
            _write_dict(lines, value, indent + "  ", indent + "  ")
        elif isinstance(value, list | tuple) and value:
            lines.append(start)
            _write_list(lines, value, indent, indent)
        else:
            _write_leaf(lines, start + " ", value, indent)


def _write_list(
    lines: list[str], data: list[Any] | tuple[Any, ...], lead: str, indent: str
) -> None:
    for value in data:
        start = f"{lead}- "
        lead = indent
        if isinstance(value, dict) and value:
            _write_dict(lines, value, start, indent + "  ")
        elif isinstance(value, list | tuple) and value:
            _write_list(lines, value, start, indent + "  ")
        else:
            _write_leaf(lines, start, value, indent)


def _write_leaf(lines: list[str], start: str, value: object, indent: str) -> None:
    """A value that begins on the line of its key or dash."""
    if isinstance(value, str) and "\n" in value and is_literal(value):
        line_ends = len(value) - len(value.rstrip("\n"))
        lines.append(f"{start}|{_chomping(line_ends)}")
        text = value.removesuffix("\n")
        lines.extend(f"{indent}  {line}" if line else "" for line in text.split("\n"))
    else:
        lines.append(start + _inline(value, isinstance(value, Flow)))


def _chomping(line_ends: int) -> str:
    """The sign after `|` for the number of line ends at the end of a text."""
    if line_ends == 0:
        return "-"
    return "" if line_ends == 1 else "+"


def _inline(value: object, flow: bool) -> str:
    """A value on one line; `flow` when brackets stand around it."""
    if isinstance(value, str):
        return quote(value, flow)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float) and value - value == 0:
        # no exponent, which YAML 1.1 writes differently
        return re.sub(r"(\.[0-9]+?)0+\Z", r"\1", f"{value:.15f}")
    if isinstance(value, Flow):
        value = value.data
    if isinstance(value, dict):
        return (
            "{"
            + ", ".join(f"{_key(key)}: {_inline(item, True)}" for key, item in value.items())
            + "}"
        )
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_inline(item, True) for item in value) + "]"
    raise TypeError(f"no YAML for {value!r}")


def _key(key: str, indent: str | None = None) -> str:
    """A key up to its colon, in brackets or, with `indent`, in a block; `?` before a long one."""
    if not isinstance(key, str):
        raise TypeError(f"the key {key!r} is not text")
    text = quote(key, indent is None)
    if len(text) <= _MAX_KEY:
        return text
    return f"? {text} " if indent is None else f"? {text}\n{indent}"
