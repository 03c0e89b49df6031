"""Escapes for text that others wrote: terminal controls, invalid XML, and misleading characters.

Used where text is output: `cli.output.echo`, `render`, `emit`. https://trojansource.codes shows
what text with a changed direction can do.
"""

import re
from typing import Any

#: Controls, YAML 1.1's line ends, blanks of uncertain width, what is invisible or changes the
#: text's direction, halves of surrogate pairs, and noncharacters. All other characters are valid
#: in XML 1.0 (section 2.2) and in YAML (section 5.1).
UNPRINTABLE = (
    "\x00-\x1f\x7f-\xa0\xad\u061c\u180e\u200b-\u200f\u2028-\u202f\u2060-\u206f"
    "\ud800-\udfff\ufeff\ufff0-\ufffb\ufffe\uffff\U000e0000-\U000e0fff"
)
_UNPRINTABLE = re.compile(f"[{UNPRINTABLE}]")
#: What CI systems do as they are told by a log, wherever it stands in a line: `##vso[` (Azure
#: Pipelines), `##[` (there, and GitHub Actions), `##teamcity[`.
CI_COMMAND = r"##(?=[A-Za-z]*\[)"
#: GitHub Actions does what follows at the beginning of a line, behind blanks.
CI_LINE = r"^[ \t]*::(?=[A-Za-z])"
_CI_COMMAND = re.compile(CI_COMMAND)
_CI_LINE = re.compile(CI_LINE, re.MULTILINE)
_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0"}


def printable(text: str, keep: str = "") -> str:
    """`text` with escapes (`\\x1b`, `\\u202e`) for all that is not visible, except for `keep`."""
    if text.isascii() and text.isprintable():
        return text
    return _UNPRINTABLE.sub(lambda match: match[0] if match[0] in keep else escape(match[0]), text)


def printable_lines(text: str) -> str:
    """As `printable`, for a text of several lines: line ends and tabs stay."""
    return printable(text, "\n\t")


def inert_in_logs(text: str, *, has_own_commands: bool = False) -> str:
    """`text` without what CI systems take for commands, unless its lines are our own."""
    if "##" in text:
        text = _CI_COMMAND.sub(r"#\\x23", text)
    if "::" in text and not has_own_commands:
        text = _CI_LINE.sub(lambda match: match[0][:-2] + "\\x3a:", text)
    return text


def printable_values(value: Any) -> Any:
    """Tuples, or lists and mappings as in JSON, with every text printable and on one line."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {printable_values(key): printable_values(item) for key, item in value.items()}
    if isinstance(value, list):
        return [printable_values(item) for item in value]
    if not isinstance(value, tuple):
        return value
    items = [printable_values(item) for item in value]
    return type(value)(*items) if hasattr(value, "_fields") else tuple(items)


def escape(character: str) -> str:
    """As YAML and Python write it: `\\n`, `\\x1b`, `\\u202e`, `\\U000e0001`."""
    code = ord(character)
    if character in _SHORT:
        return _SHORT[character]
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
