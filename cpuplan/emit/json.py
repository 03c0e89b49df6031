"""JSON in printable ASCII."""

import json
from collections.abc import Callable
from json.encoder import encode_basestring_ascii as json_text

from cpuplan.emit.values import Flow


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
    return "".join(parts).replace("\x7f", "\\u007f") + "\n"


def _write_json(put: Callable[[str], None], data: object, line_end: str, sort_keys: bool) -> None:
    """`line_end` is a line feed and the indentation of the line on which the value begins."""
    if isinstance(data, Flow):
        data = data.data
    inner = line_end + "  "
    if isinstance(data, str):
        put(json_text(data))
    elif isinstance(data, dict) and data:
        lead = "{" + inner
        for key in sorted(data) if sort_keys else data:
            value = data[key]
            if isinstance(value, str):  # as most are: a third of the time
                put(f"{lead}{json_text(key)}: {json_text(value)}")
            elif isinstance(value, Encoded):
                text = value.text.replace("\n", inner)
                put(f"{lead}{json_text(key)}: {text}")
            else:
                put(f"{lead}{json_text(key)}: ")
                _write_json(put, value, inner, sort_keys)
            lead = "," + inner
        put(line_end + "}")
    elif isinstance(data, list | tuple) and data:
        lead = "[" + inner
        for item in data:
            put(lead)
            _write_json(put, item, inner, sort_keys)
            lead = "," + inner
        put(line_end + "]")
    elif isinstance(data, Encoded):
        put(data.text.replace("\n", line_end))
    else:
        put(json.dumps(data))
