"""Text for people and of others: nouns, lists, quantities, and escapes of misleading characters.

Escapes are used where text is output: `cli.output.echo`, `render`, `emit`.
https://trojansource.codes shows what text with a changed direction can do.
"""

import re
from collections.abc import Iterable, Sequence
from textwrap import fill
from typing import Any

from cpuplan.base.patterns import expression

#: Controls, YAML 1.1's line ends, blanks of uncertain width, what is invisible or changes the
#: text's direction, halves of surrogate pairs, and noncharacters. All other characters are valid
#: in XML 1.0 (section 2.2) and in YAML (section 5.1).
UNPRINTABLE = (
    "\x00-\x1f\x7f-\xa0\xad\u061c\u180e\u200b-\u200f\u2028-\u202f\u2060-\u206f"
    "\ud800-\udfff\ufeff\ufff0-\ufffb\ufffe\uffff\U000e0000-\U000e0fff"
)
_UNPRINTABLE = expression(f"[{UNPRINTABLE}]")
#: What CI systems do as they are told by a log, wherever it stands in a line: `##vso[` (Azure
#: Pipelines), `##[` (there, and GitHub Actions), `##teamcity[`.
CI_COMMAND = r"##(?=[A-Za-z]*\[)"
#: GitHub Actions does what follows at the beginning of a line, behind blanks.
CI_LINE = r"^[ \t]*::(?=[A-Za-z])"
_CI_COMMAND = expression(CI_COMMAND)
_CI_LINE = expression(CI_LINE, re.MULTILINE)
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


_FACTOR = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18}
_FACTOR |= {unit + "i": 1024**power for power, unit in enumerate("KMGTPE", start=1)}
#: A number with a unit, thousandths among them, or with an exponent (apimachinery,
#: pkg/api/resource/quantity.go).
QUANTITY_PATTERN = (
    r"^[0-9]{1,18}(\.[0-9]{1,9})?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?[0-9]{1,2})?$"
)
_QUANTITY = expression(QUANTITY_PATTERN)


def quantity_bytes(text: str) -> int:
    """The number of bytes that `text` stands for, rounded up as Kubernetes does (Quantity.Value).

    ValueError when it is not a valid quantity.
    """
    match = _QUANTITY.fullmatch(text)
    if not match:
        raise ValueError(
            f"{text!r} is not a valid quantity, such as 500Mi, 16Gi or a number of bytes"
        )
    unit = match[2] or ""
    whole, _, decimals = text[: len(text) - len(unit)].partition(".")
    number, power = int(whole + decimals), -len(decimals)
    if unit == "m":
        power -= 3
    elif unit[1:].lstrip("+-").isdecimal():
        power += int(unit[1:])
    else:
        number *= _FACTOR[unit]
    scale: int = 10 ** abs(power)
    return number * scale if power >= 0 else -(-number // scale)


def quantity_text(size: int) -> str:
    """The shortest binary quantity that says `size` bytes exactly."""
    for unit in ("Ti", "Gi", "Mi", "Ki"):
        if size and size % _FACTOR[unit] == 0:
            return f"{size // _FACTOR[unit]}{unit}"
    return str(size)


#: Characters of a scalar that a message repeats.
SHOWN = 40
#: So many letters say which name is meant; fewer begin names by chance.
_FEW_LETTERS = 3


def plural(noun: str, number: int) -> str:
    """`core`, `cores`, `classes`."""
    return noun if number == 1 else noun + ("es" if noun.endswith(("s", "x")) else "s")


def counted(number: int, noun: str) -> str:
    """`1 core`, `2 cores`, `2 classes`."""
    return f"{number} {plural(noun, number)}"


def joined(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def first_of(words: Sequence[str], most: int) -> str:
    """`a, b and c`; of more than `most` words the first ones, and a number: `a, b and 7 more`."""
    more = len(words) - most
    return joined(words) if more <= 0 else f"{', '.join(words[:most])} and {more} more"


def listed(words: Sequence[str], most: int) -> str:
    """`a, b, c`; of many more than `most` words the first ones, and a number: `a, b and 7 more`."""
    more = len(words) - most
    return ", ".join(words) if more <= 1 else f"{', '.join(words[:most])} and {more} more"


def at_most(words: Sequence[str], most: int) -> str:
    """`a, b, c`; of more than `most` words the first ones, and a number: `a, b and 1 more`."""
    more = f" and {len(words) - most} more" if len(words) > most else ""
    return ", ".join(words[:most]) + more


def clip(text: str, longest: int = SHOWN) -> str:
    """`text`, shortened to what a message has room for."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of a remedy: the nearest known name, or all of them."""
    names = sorted(known)
    if near := nearest(word, names):
        return f"did you mean {near!r}?"
    return "known: " + ", ".join(names) if names else "remove it"


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known name that is most like a word, if one is.

    A name that the word begins is meant rather than one that only looks like it: `worker1` is
    `worker1.internal` and not `core-1`. The host name of a node, up to its first dot, comes first.
    """
    from difflib import get_close_matches  # start-up time: only mistakes need it

    lowered = {name.lower(): name for name in sorted(known)}
    wanted = word.lower()
    hosts = [name for name in lowered if wanted == name.partition(".")[0]]
    longer = sorted((name for name in lowered if name.startswith(wanted)), key=len)
    begun = longer if len(wanted) >= _FEW_LETTERS else []
    near = hosts or begun or get_close_matches(wanted, lowered, n=1, cutoff=0.6)
    return lowered[near[0]] if near else None


#: Columns of a paragraph for people.
_WIDTH = 88


def page(*parts: str) -> str:
    """Paragraphs; a text with line breaks keeps them."""
    return "\n\n".join(part if "\n" in part else fill(part, _WIDTH) for part in parts) + "\n"
