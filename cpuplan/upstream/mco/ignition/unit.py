"""Text of systemd units, as Ignition's parser takes it (go-systemd, unit/deserialize.go).

Upstream: openshift/machine-config-operator
  vendor/github.com/coreos/ignition/v2/config/v3_5/types/unit.go
  vendor/github.com/coreos/go-systemd/v22/unit/deserialize.go
  @ 7ff337a4ffac8e7562692181178ede61e4b2eec5
"""

from functools import lru_cache

from cpuplan.upstream.mco.common import McoError

_LINE_LIMIT = 2048
_COMMENT = "#;"
_SUFFIXES = frozenset(
    {
        "automount",
        "device",
        "mount",
        "path",
        "scope",
        "service",
        "slice",
        "snapshot",
        "socket",
        "swap",
        "target",
        "timer",
    }
)


def is_unit_name(name: str) -> bool:
    """Whether systemd has a kind of unit with this suffix."""
    _, dot, suffix = name.rpartition("/")[2].rpartition(".")
    return bool(dot) and suffix in _SUFFIXES


def is_drop_in_name(name: str) -> bool:
    """Whether systemd reads a drop-in of this name."""
    return name.rpartition("/")[2].endswith(".conf")


@lru_cache(maxsize=256)
def problem_of_unit(text: str) -> str | None:
    """Why the text is not a unit, if it is not. Anything may stand before the first section."""
    try:
        _Reader(text).read()
    except McoError as error:
        return error.cause
    return None


class _Reader:
    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0

    def read(self) -> None:
        in_section = False
        while self._at < len(self._text):
            self._check_line()
            character = self._text[self._at]
            if character == "[":
                self._at += 1
                self._section()
                in_section = True
            elif character in _COMMENT:
                self._at += 1
                self._comment()
            elif in_section and not character.isspace():
                self._option()
            else:
                self._at += 1

    def _check_line(self) -> None:
        """systemd truncates long lines; the parser refuses them, once it has begun to read."""
        line = self._text[self._at : self._at + _LINE_LIMIT]
        if self._at and len(line) == _LINE_LIMIT and not {"\r", "\n"} & set(line):
            raise McoError("a line is too long")

    def _section(self) -> None:
        end = self._text.find("]", self._at)
        if end < 0:
            raise McoError("a section has no end")
        self._at = end + 1
        if self._line().strip():
            raise McoError("text follows the name of a section")

    def _comment(self) -> None:
        while self._at < len(self._text) and self._line().removesuffix(" ").endswith("\\"):
            pass

    def _option(self) -> None:
        for index in range(self._at, len(self._text)):
            if self._text[index] in "\r\n":
                raise McoError("a line is not an option")
            if self._text[index] == "=":
                self._at = index + 1
                return self._value()
        raise McoError("a line is not an option")

    def _value(self) -> None:
        while self._at < len(self._text):
            self._check_line()
            line = self._line()
            if not line.strip() or not line.endswith("\\"):
                return

    def _line(self) -> str:
        line, newline, _ = self._text[self._at :].partition("\n")
        self._at += len(line) + len(newline)
        return line
