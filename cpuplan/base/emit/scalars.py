"""Texts on one line of a YAML document: plain where every reader gives the same text back."""

import re
from functools import lru_cache

from cpuplan.base.printable import CI_COMMAND, CI_LINE, UNPRINTABLE, escape

#: What may stand unquoted: printable ASCII from a letter, digit, `_` or path on, without `: `, ` #`
#: or an end blank.
_PLAIN = re.compile(r"(?:[A-Za-z0-9_/]|\.[A-Za-z/])(?:[!-9;-~]|:(?=[!-~])| (?=[ !\"$-~]))*")
#: The same inside brackets, where commas, brackets and colons have a meaning.
_PLAIN_IN_FLOW = re.compile(r"(?:[A-Za-z0-9_/]|\.[A-Za-z/])[A-Za-z0-9_./<=>()$^~;+\\-]*")

#: Words with a meaning in YAML 1.1 (https://yaml.org/type/), in any case: readers differ in the
#: cases that they know.
_WORDS = frozenset({"y", "yes", "n", "no", "on", "off", "true", "false", "null", ".inf", ".nan"})

#: Digits that some reader takes for a number or date; beyond the two versions of YAML, Go reads
#: 0X1F and Ruby 1,000.
_NUMBER_LIKE = re.compile(
    r"[0-9][0-9A-Fa-fxXoO_.,:]*(?:[eE][-+][0-9]+)?|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}.*"
)

#: Written as an escape between quotes.
_ESCAPED = re.compile(rf'[{UNPRINTABLE}"\\]|(?<=#)#(?=[A-Za-z]*\[)')
#: Not in a literal block, where tabs, line feeds, quotes and backslashes stand for themselves.
_NOT_LITERAL = re.compile(rf"(?![\t\n])[{UNPRINTABLE}]|{CI_COMMAND}|{CI_LINE}", re.MULTILINE)


@lru_cache(maxsize=1 << 14)
def quote(text: str, flow: bool) -> str:
    """`text` on one line: plain where every reader gives the same text back, else quoted."""
    pattern = _PLAIN_IN_FLOW if flow else _PLAIN
    if "##" in text and _ESCAPED.search(text):
        return f'"{_escape(text)}"'
    if pattern.fullmatch(text) and text.lower() not in _WORDS and not _NUMBER_LIKE.fullmatch(text):
        return text
    escaped = _escape(text)
    if (
        len(escaped) > len(text)
        and "'" not in text
        and not _ESCAPED.search(text.replace('"', "").replace("\\", ""))
    ):
        return f"'{text}'"
    return f'"{escaped}"'


def _escape(text: str) -> str:
    return _ESCAPED.sub(_escape_character, text)


def _escape_character(match: re.Match[str]) -> str:
    character = match[0]
    if character in '"\\':
        return f"\\{character}"
    if "\ud800" <= character <= "\udfff":
        raise ValueError(f"U+{ord(character):04X} is half of a character")
    return escape(character)


@lru_cache(maxsize=256)
def is_literal(text: str) -> bool:
    """Whether a literal block without indentation indicator keeps all of `text`, and visible.

    The first line tells readers the indentation, so it has text and does not begin with a blank.
    Blanks at an end of a line would be lost to editors and reviewers.
    """
    return (
        text[0] not in " \t\n"
        and not re.search(r"[ \t](?:\n|\Z)", text)
        and not _NOT_LITERAL.search(text)
    )
