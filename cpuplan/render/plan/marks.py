"""Text of others in Markdown: nothing in it is taken for a mark."""

import re

from cpuplan.base.printable import printable

#: Within a word an underscore is a letter (GFM, section 6.2).
_MARKS = re.compile(r"([\\`*\[\]<&#|~$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))")


#: Words that GitHub and GitLab make links of, or tell somebody about, after Markdown is read: so a
#: backslash changes nothing. They leave code alone.
_REFERENCE = re.compile(r"@|://|www\.|#[0-9]|![0-9]|\bGH-[0-9]|mailto:", re.IGNORECASE)
_WORD = re.compile(r"\S+")


def plain(text: str) -> str:
    """Text whose marks are letters, and that links to nothing, on one line."""
    shown, parts, at = printable(text), [], 0
    for word in _WORD.finditer(shown):
        if _REFERENCE.search(word[0]):
            parts += [_MARKS.sub(r"\\\1", shown[at : word.start()]), cell(word[0])]
            at = word.end()
    return "".join([*parts, _MARKS.sub(r"\\\1", shown[at:])])


def code(text: str) -> str:
    """A piece of code; its fence is longer than any in it (CommonMark, section 6.1)."""
    shown = printable(text)
    fence = "`" * (max(map(len, re.findall("`+", shown)), default=0) + 1)
    pad = " " if shown.startswith("`") or shown.endswith("`") or not shown.strip() else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def cell(text: str) -> str:
    """A piece of code in a table, where pipes end cells even in code (GFM, section 4.10)."""
    return code(text).replace("|", "\\|") if text else ""
