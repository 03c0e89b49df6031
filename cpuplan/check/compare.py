"""Places in the files of a node, and what a parser says of them."""

import re

from cpuplan.base import nodetext
from cpuplan.check.subject import Subject
from cpuplan.check.values import MAX_SHOWN
from cpuplan.diagnostics.source import Position

#: `(at line 2, column 16)` of tomllib, `: line 1 column 2 (char 1)` of json, `(line 1, column 2)`
#: of our own for YAML.
_STOPPED = re.compile(r"(?:\(?at )?line (\d+),? column (\d+)")
#: The kubelet and CRI-O do not start with a drop-in that they find and cannot open.
LINK_TO_NOTHING = "it is a broken link"
#: What a parser quotes of a file may be a token or a password.
_QUOTED = re.compile(r"""(["'`])(?:(?!\1).)*\1""", re.DOTALL)


def unreadable(subject: Subject, path: str, error: Exception) -> tuple[Position, str]:
    """Where a parser of YAML, TOML or JSON stopped, and its words without that place."""
    text = scrubbed(str(error))
    match = _STOPPED.search(text)
    if match is None:
        return subject.place(path), text
    place = Position(subject.root.shown(path), int(match[1]), int(match[2]))
    return place, text[: match.start()].rstrip(" :(")


def scrubbed(text: str) -> str:
    """What a parser says, without what it quotes of the file."""
    return _QUOTED.sub("...", text[:MAX_SHOWN])


def line_of(subject: Subject, path: str, key: str) -> Position:
    """The first line of a file that names the key, or its last part (`memory.available`)."""
    lines = nodetext.lines(subject.root.read(path) or "")
    for name in (key, key.partition(".")[2], key.rpartition(".")[2]):
        for number, line in enumerate(lines, start=1):
            column = line.lower().find(name.lower()) if name else -1
            if column >= 0:
                end = len(line.rstrip()) + 1
                return Position(subject.root.shown(path), number, column + 1, end)
    return subject.place(path)
