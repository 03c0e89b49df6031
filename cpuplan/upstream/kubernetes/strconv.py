"""Reads and quotes text as Go does, so that messages equal the kubelet's.

Upstream: golang/go src/strconv/quote.go @ 1bfcc11beb5d91ea391237644a39119a45615b7a
Upstream: golang/go src/strconv/atoi.go @ 5e421a80a09b31583d4a161ab9238d1dab89016c
Upstream: golang/go src/strconv/atob.go @ 924ce7951c65289998092902d24de6ae77baa629
Upstream: golang/go src/strconv/atof.go @ 198e585f92db6e7ac126b49cd751b333e9a44b93
Upstream: golang/go src/strconv/ftoa.go @ 067e8dfd82163ddcbde248dbe5a1187a417e5d36
"""

import math
import re

from cpuplan.base.patterns import expression
from cpuplan.upstream.kubernetes.errors import KubeletError

TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})
_ESCAPES = {
    "\a": r"\a",
    "\b": r"\b",
    "\f": r"\f",
    "\n": r"\n",
    "\r": r"\r",
    "\t": r"\t",
    "\v": r"\v",
}
_ESCAPES |= {"\\": r"\\", '"': r"\""}
_INT64_DIGITS = 19
_EXPONENT_FROM = 1e21
_INTEGER = expression(r"[+-]?[0-9]+")
_FLOAT = expression(
    r"[+-]?(?:([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|inf(inity)?)|nan", re.IGNORECASE
)
_HEXADECIMAL_FLOAT = expression(
    r"[+-]?0x([0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)p[+-]?[0-9]+", re.IGNORECASE
)


def quote(text: str) -> str:
    """strconv.Quote: double quotes, escapes for what cannot be printed."""
    return '"' + "".join(_ESCAPES.get(char) or _printable(char) for char in text) + '"'


def _printable(char: str) -> str:
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def float_text(number: float) -> str:
    """A float64 as `%v` prints it: the shortest digits, an exponent from 1e21 on."""
    text = repr(float(number)).removesuffix(".0")
    return f"{number:.0f}" if "e+" in text and abs(number) < _EXPONENT_FROM else text


def parse_bool(text: str) -> bool:
    """strconv.ParseBool; KubeletError with its text."""
    if text in TRUE:
        return True
    if text in FALSE:
        return False
    raise KubeletError(f"strconv.ParseBool: parsing {quote(text)}: invalid syntax")


def quote_rune(char: str) -> str:
    """strconv.QuoteRune: single quotes."""
    if char in "\"'":
        return "'\\''" if char == "'" else "'\"'"
    return f"'{quote(char)[1:-1]}'"


def atoi(text: str) -> int:
    """strconv.Atoi: a 64-bit decimal with an optional sign; KubeletError with its text."""
    return _integer(text, 64, "Atoi")


def parse_int32(text: str) -> int:
    """strconv.ParseInt with base 10 and 32 bits; KubeletError with its text."""
    return _integer(text, 32, "ParseInt")


def _integer(text: str, bits: int, function: str) -> int:
    if not _INTEGER.fullmatch(text):
        raise KubeletError(f"strconv.{function}: parsing {quote(text)}: invalid syntax")
    digits = text.lstrip("+-").lstrip("0") or "0"
    number = int(digits[: _INT64_DIGITS + 1]) * (-1 if text[0] == "-" else 1)
    if not -(1 << bits - 1) <= number < 1 << bits - 1:
        raise KubeletError(f"strconv.{function}: parsing {quote(text)}: value out of range")
    return number


def parse_float(text: str) -> float:
    """strconv.ParseFloat with 64 bits; KubeletError with its text."""
    if _HEXADECIMAL_FLOAT.fullmatch(text):
        number = float.fromhex(text)
    elif _FLOAT.fullmatch(text):
        number = float(text)
    else:
        raise KubeletError(f"strconv.ParseFloat: parsing {quote(text)}: invalid syntax")
    if math.isinf(number) and "n" not in text.lower():
        raise KubeletError(f"strconv.ParseFloat: parsing {quote(text)}: value out of range")
    return number
