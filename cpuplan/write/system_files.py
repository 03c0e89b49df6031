"""Files of the operating system as values: units and drop-ins, profiles, sysctls, rules of udev.

Programs of the system pass over a line that they cannot read, with a word in a log at most. So
every line must have the form of its file here.
"""

import re

_COMMENT = ("#", ";")
_SECTION = re.compile(r"\[([^\[\]\s]+)\]")
_PAIR = re.compile(r"([^\s=\[#;][^=]*?)\s*=\s*(.*)")
#: A match or an assignment of udev(7).
_TOKEN = re.compile(r'(\w+(?:\{[^{}"]+\})?)(==|!=|\+=|:=|=)"([^"]*)"')
_TOKENS = re.compile(rf"{_TOKEN.pattern}(, ?{_TOKEN.pattern})*")
#: A line of tmpfiles.d(5) that writes to a file.
_WRITE = re.compile(r"w (/\S+) - - - - (\S+)")


def sections(data: bytes) -> dict[str, dict[str, list[str]]]:
    """The values of each key by section, in their order: systemd's files and TuneD's profiles."""
    found: dict[str, dict[str, list[str]]] = {}
    current: dict[str, list[str]] | None = None
    for number, line in _lines(data):
        if match := _SECTION.fullmatch(line):
            current = found.setdefault(match[1], {})
        elif (pair := _PAIR.fullmatch(line)) and current is not None:
            current.setdefault(pair[1], []).append(pair[2])
        else:
            raise _wrong(number, line)
    return found


def pairs(data: bytes) -> dict[str, str]:
    """Values by key, of sysctl.d(5) and of environment files; each key once."""
    found: dict[str, str] = {}
    for number, line in _lines(data):
        pair = _PAIR.fullmatch(line)
        if pair is None or pair[1] in found:
            raise _wrong(number, line)
        found[pair[1]] = pair[2]
    return found


def rules(data: bytes) -> list[list[str]]:
    """The keys with their operators of each rule of udev."""
    found: list[list[str]] = []
    for number, line in _lines(data):
        if not _TOKENS.fullmatch(line):
            raise _wrong(number, line)
        found.append([key + operator for key, operator, _ in _TOKEN.findall(line)])
    return found


def writes(data: bytes) -> dict[str, str]:
    """What tmpfiles.d writes, by file."""
    found: dict[str, str] = {}
    for number, line in _lines(data):
        match = _WRITE.fullmatch(line)
        if match is None:
            raise _wrong(number, line)
        found[match[1]] = match[2]
    return found


def _lines(data: bytes) -> list[tuple[int, str]]:
    """(number, text) of the lines that are not empty and no comments.

    Raises ValueError for a text without an end of its last line, and for one that is not UTF-8.
    """
    text = data.decode()
    if not text.endswith("\n"):
        raise ValueError("the last line has no end")
    numbered = enumerate(text.splitlines(), start=1)
    return [(number, line) for number, line in numbered if line and line[0] not in _COMMENT]


def _wrong(number: int, line: str) -> ValueError:
    return ValueError(f"line {number} has another form: {line}")
