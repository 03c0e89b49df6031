"""Canonical text from plain data: YAML, JSON and TOML that are the same bytes on every machine.

Every file cpuplan emits in these formats is made here from data, never from a template, so no value
can break out of its place.

The writer of YAML is our own because libyaml's takes 1.2 s for half a megabyte, wraps lines, and
leaves texts unquoted that other readers take for numbers.
"""

import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from json.encoder import encode_basestring_ascii as json_text
from typing import Any

from cpuplan.base.patterns import expression
from cpuplan.base.text import CI_COMMAND, CI_LINE, UNPRINTABLE, escape, printable_lines


class Flow:
    """Marks a list or dict to be written, with all that it holds, on one line: `{id: 0}`."""

    __slots__ = ("data",)

    def __init__(self, data: list[Any] | tuple[Any, ...] | dict[str, Any]) -> None:
        self.data = data


class Noted(str):
    """An unreadable text of a dict, such as base64; YAML has `note` above it as a comment."""

    __slots__ = ("note",)
    note: str

    def __new__(cls, text: str, note: str) -> "Noted":
        made = super().__new__(cls, text)
        made.note = note
        return made


#: What may stand unquoted: printable ASCII from a letter, digit, `_` or path on, without `: `, ` #`
#: or an end blank.
_PLAIN_TEXT = expression(r"(?:[A-Za-z0-9_/]|\.[A-Za-z/])(?:[!-9;-~]|:(?=[!-~])| (?=[ !\"$-~]))*")
#: The same inside brackets, where commas, brackets and colons have a meaning.
_PLAIN_IN_FLOW = expression(r"(?:[A-Za-z0-9_/]|\.[A-Za-z/])[A-Za-z0-9_./<=>()$^~;+\\-]*")

#: Words with a meaning in YAML 1.1 (https://yaml.org/type/), in any case: readers differ in the
#: cases that they know.
_WORDS = frozenset({"y", "yes", "n", "no", "on", "off", "true", "false", "null", ".inf", ".nan"})

#: Digits that some reader takes for a number or date; beyond the two versions of YAML, Go reads
#: 0X1F and Ruby 1,000.
_NUMBER_LIKE = expression(
    r"[0-9][0-9A-Fa-fxXoO_.,:]*(?:[eE][-+][0-9]+)?|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}.*"
)

#: Written as an escape between quotes.
_ESCAPED = expression(rf'[{UNPRINTABLE}"\\]|(?<=#)#(?=[A-Za-z]*\[)')
#: Not in a literal block, where tabs, line feeds, quotes and backslashes stand for themselves.
_NOT_LITERAL = expression(rf"(?![\t\n])[{UNPRINTABLE}]|{CI_COMMAND}|{CI_LINE}", re.MULTILINE)


@lru_cache(maxsize=1 << 14)
def quote(text: str, flow: bool) -> str:
    """`text` on one line: plain where every reader gives the same text back, else quoted."""
    pattern = _PLAIN_IN_FLOW if flow else _PLAIN_TEXT
    if "##" in text and _ESCAPED.search(text):
        return f'"{_escape(text)}"'
    if pattern.fullmatch(text) and text.lower() not in _WORDS and not _NUMBER_LIKE.fullmatch(text):
        return text
    escaped = _escape(text)
    if (
        len(escaped) > len(text)
        and "'" not in text
        and not _ESCAPED.search(text.replace('"', "").replace("\\", ""))
    ):
        return f"'{text}'"
    return f'"{escaped}"'


def _escape(text: str) -> str:
    return _ESCAPED.sub(_escape_character, text)


def _escape_character(match: re.Match[str]) -> str:
    character = match[0]
    if character in '"\\':
        return f"\\{character}"
    if "\ud800" <= character <= "\udfff":
        raise ValueError(f"U+{ord(character):04X} is half of a character")
    return escape(character)


@lru_cache(maxsize=256)
def is_literal(text: str) -> bool:
    """Whether a literal block without indentation indicator keeps all of `text`, and visible.

    The first line tells readers the indentation, so it has text and does not begin with a blank.
    Blanks at an end of a line would be lost to editors and reviewers.
    """
    return (
        text[0] not in " \t\n"
        and not re.search(r"[ \t](?:\n|\Z)", text)
        and not _NOT_LITERAL.search(text)
    )


_CI_COMMAND = expression(CI_COMMAND)


class Encoded:
    """A part of many files, whose lines are made once."""

    __slots__ = ("text",)

    def __init__(self, data: object) -> None:
        self.text = to_json(data).removesuffix("\n")


def to_json(data: object, *, sort_keys: bool = True) -> str:
    """`data` as JSON in printable ASCII, indented by 2; TypeError for what JSON lacks.

    The lines are made here and only texts and numbers by `json`, which writes indented text in
    Python, two and a half times as slow for the plan of a class.
    """
    parts: list[str] = []
    _write_json(parts.append, data, "\n", sort_keys)
    text = "".join(parts).replace("\x7f", "\\u007f") + "\n"
    # A log of CI may show it.
    return _CI_COMMAND.sub(r"#\\u0023", text) if "##" in text else text


def _write_json(put: Callable[[str], None], data: object, line_end: str, sort_keys: bool) -> None:
    """`line_end` is a line feed and the indentation of the line on which the value begins."""
    if isinstance(data, dict) and data:
        _write_object(put, data, line_end, sort_keys)
    elif isinstance(data, list | tuple) and data:
        _write_array(put, data, line_end, sort_keys)
    elif isinstance(data, Flow):
        _write_json(put, data.data, line_end, sort_keys)
    elif isinstance(data, Encoded):
        put(data.text.replace("\n", line_end))
    else:
        put(json.dumps(data))


def _write_object(
    put: Callable[[str], None], data: dict[str, Any], line_end: str, sort_keys: bool
) -> None:
    inner = line_end + "  "
    lead = "{" + inner
    for key in sorted(data) if sort_keys else data:
        value = data[key]
        write = _PLAIN.get(type(value))
        if write:  # as most are: a third of the time
            put(f"{lead}{json_text(key)}: {write(value)}")
        else:
            put(f"{lead}{json_text(key)}: ")
            _write_json(put, value, inner, sort_keys)
        lead = "," + inner
    put(line_end + "}")


def _write_array(
    put: Callable[[str], None],
    data: list[Any] | tuple[Any, ...],
    line_end: str,
    sort_keys: bool,
) -> None:
    inner = line_end + "  "
    lead = "[" + inner
    for value in data:
        write = _PLAIN.get(type(value))
        if write:
            put(f"{lead}{write(value)}")
        else:
            put(lead)
            _write_json(put, value, inner, sort_keys)
        lead = "," + inner
    put(line_end + "]")


#: How values of these types, and not of types made of them, are written.
_PLAIN: Mapping[type, Callable[[Any], str]] = {
    str: json_text,
    int: str,
    bool: lambda value: "true" if value else "false",
    type(None): lambda _: "null",
}


def to_toml(data: dict[str, Any]) -> str:
    """`data` as TOML, keys in the order of the dict; TypeError for None, which TOML lacks."""
    import tomli_w

    return tomli_w.dumps(_without_flow(data))


def _without_flow(value: Any) -> Any:
    if isinstance(value, Flow):
        value = value.data
    if isinstance(value, dict):
        return {key: _without_flow(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_flow(item) for item in value]
    return value


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
