"""The text of a profile: sections, options, and the place of every line of a value.

As Python's configparser reads it with `=` alone between option and value, `#` before comments that
follow a value, and later sections and options over earlier ones.

Upstream: redhat-performance/tuned tuned/utils/config_parser.py
  @ 2bfa4423586bb516452c538a232c8f7075bafbdf
"""

import re
from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

#: Bytes of an object in etcd bound a profile; a longer text is refused.
MOST_CHARACTERS = 1 << 20
_SECTION = re.compile(r"\[(?P<name>.+)\]")
_COMMENT = re.compile(r"(^|\s)#.*\Z")
_INDENT = re.compile(r"\s*")


class Line(NamedTuple):
    """A part of a value: its text, and where that begins in the profile, from 1."""

    text: str
    line: int
    column: int


class Option(NamedTuple):
    """A value with the lines that it is written in, and the place of its name."""

    lines: tuple[Line, ...]
    line: int
    column: int

    @property
    def value(self) -> str:
        """The value, with the line ends within it."""
        return "\n".join(part.text for part in self.lines).rstrip()


Sections: TypeAlias = Mapping[str, Mapping[str, Option]]


class ParseError(ValueError):
    """A line that configparser refuses."""

    def __init__(self, problem: str, line: int) -> None:
        super().__init__(problem)
        self.problem, self.line = problem, line


def parse(text: str) -> Sections:
    """The sections of a profile. Raises ParseError."""
    if len(text) > MOST_CHARACTERS:
        raise ParseError(f"it has more than {MOST_CHARACTERS} characters", 1)
    sections: dict[str, dict[str, Option]] = {}
    section: dict[str, Option] | None = None
    name, level = "", 0
    for number, written in enumerate(text.split("\n"), start=1):
        line = "" if written.lstrip()[:1] in ("#", ";") else _COMMENT.sub("", written)
        bare = line.strip()
        indent = len(_INDENT.match(line)[0])  # type: ignore[index]
        if not bare:
            if section is not None and name and not written.strip():
                # An empty line within a value is part of it; at its end it is stripped.
                section[name] = _continued(section[name], Line("", number, 1))
            continue
        if section is not None and name and indent > level:
            section[name] = _continued(section[name], Line(bare, number, indent + 1))
            continue
        level = indent
        if match := _SECTION.match(bare):
            section, name = sections.setdefault(match["name"], {}), ""
            continue
        if section is None:
            raise ParseError("an option stands before the first section", number)
        name, equals, value = bare.partition("=")
        name = name.rstrip()
        if not (equals and name):
            raise ParseError("a line is no option and no section", number)
        column = indent + len(bare) - len(value.lstrip()) + 1
        section[name] = Option((Line(value.strip(), number, column),), number, indent + 1)
    return sections


def _continued(option: Option, line: Line) -> Option:
    return option._replace(lines=(*option.lines, line))
