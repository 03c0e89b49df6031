"""JSON in printable ASCII."""

import json
import re
from collections.abc import Callable, Mapping
from json.encoder import encode_basestring_ascii as json_text
from typing import Any

from cpuplan.base.emit.values import Flow
from cpuplan.base.printable import CI_COMMAND

_CI_COMMAND = re.compile(CI_COMMAND)


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
