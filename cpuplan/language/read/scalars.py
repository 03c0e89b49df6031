"""What an unquoted YAML scalar means, and which ones mean two things.

Compared are YAML 1.1 (https://yaml.org/type/, as PyYAML reads it) and the core schema of YAML 1.2
(section 10.3.2; `_` and a sign before `0o` as ruamel reads them). Only where both give the same,
and the same text again when written, is a scalar taken: true, false, null, decimal whole numbers,
text.
"""

import re
from typing import Any, NamedTuple

from cpuplan.base.text import SHOWN, clip

#: Unquoted words that both versions read alike.
WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


class Refusal(NamedTuple):
    """A scalar that is not taken: the code that says why and the values for its wording."""

    code: str
    values: dict[str, Any]


#: What YAML 1.1 makes of words that are text to YAML 1.2, and how to write that so that both
#: understand it.
_WORDS_11 = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "on", "On", "ON"), ("true", "true")),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "off", "Off", "OFF"), ("false", "false")),
    "<<": ("a merge of another mapping", "the merged keys out"),
    "=": ("the default value of its mapping", "the value out"),
}

_MAX_INT = 2**63 - 1  # what Go and JSON readers hold without rounding

_INT = re.compile(r"0|-?[1-9][0-9]*")
_DIGITS = re.compile(r"[-+]?[0-9]+")
_OCTAL_12 = re.compile(r"[-+]?0o[0-7]+")
_HEX_12 = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT_12 = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)

_BINARY_11 = re.compile(r"[-+]?0b[01_]+")
_OCTAL_11 = re.compile(r"[-+]?0[0-7_]+")
_HEX_11 = re.compile(r"[-+]?0x[0-9a-fA-F_]+")
_DECIMAL_11 = re.compile(r"[-+]?[1-9][0-9_]*")
_BASE60_11 = re.compile(
    r"[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*"
)
_FLOAT_11 = re.compile(r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+][0-9]+)?")
_DATE_11 = re.compile(
    r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
    r"(?:(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]*)?(?:[ "
    r"\t]*(?:Z|[-+][0-9]{1,2}(?::[0-9]{2})?))?)?"
)


def read_plain(text: str) -> bool | int | str | Refusal | None:
    """The value of the unquoted scalar `text`."""
    if text in WORDS:
        return WORDS[text]
    if text in _WORDS_11:
        first, plain = _WORDS_11[text]
        return _ambiguous(text, first, "text", plain)
    if text[0] not in "+-.0123456789":
        return text
    # Lengths before int(): Python refuses to convert more than 4300 digits, and 2 MiB of them would
    # take seconds.
    if _INT.fullmatch(text) and len(text) <= 20 and -_MAX_INT <= (number := int(text)) <= _MAX_INT:
        return number
    return _read_number_like(text)


def _read_number_like(text: str) -> str | Refusal:
    first, second = _number_11(text), _number_12(text)
    if _FLOAT_12.fullmatch(text) and (first == second or not _DIGITS.fullmatch(text)):
        return _lossy(text, _float_words(text))
    if first == second:
        return text if first is None else _lossy(text, first.removeprefix("the number "))
    readings = [
        words for words in (first, second) if words is not None and words.startswith("the number ")
    ]
    plain = " or ".join(words.removeprefix("the number ") for words in readings)
    return _ambiguous(text, first or "text", second or "text", plain)


def _number_11(text: str) -> str | None:
    """What YAML 1.1 makes of `text`, in words; None when it is text."""
    digits = text.replace("_", "")
    for pattern, base in (_BINARY_11, 2), (_OCTAL_11, 8), (_HEX_11, 16), (_DECIMAL_11, 10):
        if pattern.fullmatch(text):
            return _int_words(digits, base)
    if re.fullmatch(r"[-+]?0", text):
        return "the number 0"
    if _BASE60_11.fullmatch(text):
        return _base60_words(digits)
    if _FLOAT_11.fullmatch(text):
        return f"the number {_float_words(digits)}"
    return "a date" if _DATE_11.fullmatch(text) else None


def _number_12(text: str) -> str | None:
    """What YAML 1.2 makes of `text`, in words; None when it is text."""
    for pattern, base in (_DIGITS, 10), (_OCTAL_12, 8), (_HEX_12, 16):
        if pattern.fullmatch(text):
            return _int_words(text, base)
    return None


def _int_words(digits: str, base: int) -> str:
    if len(digits) > SHOWN:
        return f"a number in base {base}"
    try:
        return f"the number {int(digits, base)}"
    except ValueError:  # a prefix without digits, as in 0x_
        return f"a number in base {base}"


def _float_words(text: str) -> str:
    if text[-1] in "nN":
        return "not-a-number"
    number = float(text.replace(".", "") if text[-1] in "fF" else text) + 0  # + 0 makes 0 of -0
    return f"{number:.15g}".replace("inf", "infinity")


def _base60_words(digits: str) -> str:
    if len(digits) > SHOWN:
        return "a number in base 60"
    value = 0.0
    for part in digits.lstrip("+-").split(":"):
        value = value * 60 + float(part)
    return f"the number {'-' if digits[0] == '-' else ''}{value:.15g}"


def _ambiguous(text: str, first: str, second: str, plain: str) -> Refusal:
    shown = clip(text)
    alternative = f"; otherwise write {plain}" if plain else ""
    values = {
        "text": shown,
        "first": first,
        "second": second,
        "quoted": f'"{shown}"',
        "alternative": alternative,
    }
    return Refusal("CP103", values)


def _lossy(text: str, value: str) -> Refusal:
    shown = clip(text)
    return Refusal("CP104", {"text": shown, "value": value, "quoted": f'"{shown}"'})
