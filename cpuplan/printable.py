"""Text that others wrote, as it may be printed: what steers a terminal, breaks XML or misleads a
reader is escaped.

Used where text leaves: `cli.output.echo`, `render`, `emit`. https://trojansource.codes shows what
turned text can do.
"""

import re
from typing import Any

#: Controls, YAML 1.1's line ends, blanks of no certain width, what is invisible or turns the text's
#: direction, halves of surrogate pairs, and no characters. What is left may stand in XML 1.0
#: (section 2.2) and in YAML (section 5.1).
UNPRINTABLE = (
    "\x00-\x1f\x7f-\xa0\xad\u061c\u180e\u200b-\u200f\u2028-\u202f\u2060-\u206f\ud800-\udfff\ufeff\ufff0-\ufffb\ufffe\uffff"
    "\U000e0000-\U000e0fff"
)
_UNPRINTABLE = re.compile(f"[{UNPRINTABLE}]")
_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0"}


def printable(text: str, keep: str = "") -> str:
    """`text` with escapes such as `\\x1b` and `\\u202e` for all that is not plainly visible, but
    for `keep`.
    """
    if text.isascii() and text.isprintable():
        return text
    return _UNPRINTABLE.sub(lambda found: found[0] if found[0] in keep else escape(found[0]), text)


def printable_lines(text: str) -> str:
    """As `printable`, of a text of several lines: these, and tabs, stay."""
    return printable(text, "\n\t")


def printable_values(value: Any) -> Any:
    """Tuples, or lists and mappings as JSON has them, with all texts in them on one line each and
    printable.
    """
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
    short = _SHORT.get(character)
    return short or (
        f"\\x{code:02x}"
        if code < 0x100
        else f"\\u{code:04x}"
        if code < 0x10000
        else f"\\U{code:08x}"
    )
