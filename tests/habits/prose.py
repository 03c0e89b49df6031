"""Habits of pages: lines of at most 100 columns, where a line can be broken."""

import re
from collections.abc import Iterator

from tests.habits.finding import Finding

COLUMNS = 100
_FENCES = ("```", "~~~")
#: How an item of a list begins.
_ITEM = re.compile(r"(?:[*+-]|\d+[.)]) ")
#: In the first lines of a page that a program writes.
_GENERATED = "`python -m tests.generate`"


def findings(path: str, text: str) -> list[Finding]:
    """The long lines of a page in Markdown."""
    if is_generated(text):
        return []
    what = f"at most {COLUMNS} columns: break the line"
    return [
        Finding(path, number, COLUMNS + 1, "columns", f"{len(line)} columns, {what}")
        for number, line in prose(text)
        if len(line) > COLUMNS and not _is_unbreakable(line)
    ]


def is_generated(text: str) -> bool:
    """Whether the page says at its top that it is generated."""
    top = text.partition("\n## ")[0]
    return "Generated" in top and _GENERATED in top


def prose(text: str) -> Iterator[tuple[int, str]]:
    """The lines outside code blocks and tables, with their numbers."""
    fence, before, in_list = "", "", False
    for number, line in enumerate(text.splitlines(), 1):
        start = line.lstrip()[:3]
        if start in _FENCES and fence in ("", start):
            fence = "" if fence else start
        elif not fence and not _is_code(line, before, in_list) and not start.startswith("|"):
            yield number, line
            if line and not line.startswith(" "):
                in_list = _ITEM.match(line) is not None
            before = line


def _is_code(line: str, before: str, in_list: bool) -> bool:
    """Whether the line belongs to a block that is indented, below an empty line."""
    return line.startswith("    ") and not before.strip() and not in_list


def _is_unbreakable(line: str) -> bool:
    """One word, or an address at the end that begins within the columns."""
    words = line.split()
    last = words[-1]
    return len(words) == 1 or ("://" in last and len(line) - len(last) <= COLUMNS)
