"""Whether two texts of a file say the same to the program that reads it.

The node tuning operator writes its own comments, order of keys and line ends, so that its files are
compared by what they say.
"""

import json
import re
from typing import Any

from cpuplan.base.foreign import read_toml

_COMMENT = ("#", ";")
_CRIO = re.compile(r"/etc/(crio|containers|containerd)/.*\Z")
#: Programs, which the operator writes in its own words.
_PROGRAMS = "/usr/local/bin/"


def says_the_same(path: str, one: str, other: str) -> bool:
    """Whether the file at `path` means the same with either text."""
    return one == other or _meaning(path, one) == _meaning(path, other)


def is_program(path: str) -> bool:
    """Whether a file is run, and not read."""
    return path.startswith(_PROGRAMS)


def first_difference(found: str, wanted: str) -> tuple[str, str]:
    """The first lines that differ, of those that say something."""
    lines, own = _lines(found), _lines(wanted)
    pairs = zip(lines, own, strict=False)
    at = next((at for at, (one, two) in enumerate(pairs) if one != two), min(len(lines), len(own)))
    return _line(lines, at), _line(own, at)


def _line(lines: list[str], at: int) -> str:
    return lines[at] if at < len(lines) else "no further line"


def _meaning(path: str, text: str) -> Any:
    try:
        if text.lstrip().startswith("{"):
            return json.loads(text)
        if _CRIO.match(path):
            return read_toml(text)
    except (ValueError, RecursionError):
        return text
    return _lines(text)


def _lines(text: str) -> list[str]:
    """The lines that are neither blank nor comments; `key = value` as `key=value`."""
    lines = (line.strip() for line in text.splitlines())
    return [
        re.sub(r"\A([\w.:@-]+)\s*=\s*", r"\1=", line)
        for line in lines
        if line and not line.startswith(_COMMENT)
    ]
