"""Where something stands in a file of a runtime."""

from cpuplan.base import nodetext
from cpuplan.diagnostics.source import Position


def line_with(text: str, path: str, word: str) -> Position:
    """The first line with a word, whatever its case; the first line without one."""
    for number, line in enumerate(nodetext.lines(text), start=1):
        column = line.lower().find(word.lower()) if word else -1
        if column >= 0:
            return Position(path, number, column + 1, len(line.rstrip()) + 1)
    return Position(path, 1, 1)
