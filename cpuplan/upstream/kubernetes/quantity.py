"""Kubernetes quantities, exactly: `1500m`, `1.5Gi`, `1e9` (apimachinery pkg/api/resource).

Upstream: kubernetes/kubernetes staging/src/k8s.io/apimachinery/pkg/api/resource/quantity.go
  staging/src/k8s.io/apimachinery/pkg/api/resource/suffix.go
  staging/src/k8s.io/apimachinery/pkg/api/resource/amount.go
  @ 24e2b02af5543d7910c2bb074c7264df5a8f0467
"""

import re
from typing import NamedTuple

from cpuplan.base.patterns import expression
from cpuplan.upstream.kubernetes.errors import KubeletError

DECIMAL, BINARY, EXPONENT = "DecimalSI", "BinarySI", "DecimalExponent"
#: A quantity is kept in billionths: Go rounds anything finer up.
SCALE = 9
#: Larger amounts are cut to this (2^63 - 1 units).
_MOST_DIGITS = 30
_ONE: int = 10**SCALE
_MILLI: int = 10 ** (SCALE - 3)
_LARGEST = ((1 << 63) - 1) * _ONE
_DECIMAL_EXPONENTS = {
    "n": -9,
    "u": -6,
    "m": -3,
    "": 0,
    "k": 3,
    "M": 6,
    "G": 9,
    "T": 12,
    "P": 15,
    "E": 18,
}
_DECIMAL_SUFFIXES = {exponent: suffix for suffix, exponent in _DECIMAL_EXPONENTS.items()}
_BINARY_EXPONENTS = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_NUMBER = expression(r"([+-]?)([0-9]*)(?:\.([0-9]*))?")
_EXPONENT = expression(r"[eE]([+-]?[0-9]+)")
_MALFORMED = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)


class Quantity(NamedTuple):
    """An amount in billionths, and the form in which it is printed."""

    nano: int
    format: str = DECIMAL

    @property
    def value(self) -> int:
        """Whole units, rounded up."""
        return -(-self.nano // _ONE)

    @property
    def milli(self) -> int:
        """Thousandths, rounded up."""
        return -(-self.nano // _MILLI)

    @property
    def is_whole(self) -> bool:
        return self.nano % _ONE == 0

    def plus(self, other: "Quantity") -> "Quantity":
        """The sum, in the form of the first that is not zero (Quantity.Add)."""
        return Quantity(self.nano + other.nano, self.format if self.nano else other.format)

    def minus(self, other: "Quantity") -> "Quantity":
        """The difference, in the form of the first that is not zero (Quantity.Sub)."""
        return Quantity(self.nano - other.nano, self.format if self.nano else other.format)

    def round_up_milli(self) -> "Quantity":
        """Without anything finer than thousandths, as the API server's defaulting leaves it."""
        return Quantity(self.milli * _MILLI, self.format)

    def __str__(self) -> str:
        """The canonical form (CanonicalizeBytes)."""
        if self.format == BINARY and abs(self.nano) >= 1024 * _ONE and self.is_whole:
            number, power = self.nano // _ONE, 0
            while number % 1024 == 0 and power < len(_BINARY_EXPONENTS):
                number, power = number // 1024, power + 1
            return f"{number}{['', *_BINARY_EXPONENTS][power]}"
        number, exponent = self.nano, -SCALE
        while number and number % 1000 == 0 and exponent < 18:
            number, exponent = number // 1000, exponent + 3
        if not number:
            return "0"
        if self.format == EXPONENT:
            return f"{number}e{exponent}" if exponent else str(number)
        return f"{number}{_DECIMAL_SUFFIXES[exponent]}"


#: Of a number in Go; and in a text, beyond which digits say nothing more than that it is large, or
#: not 0.
_INT64_DIGITS = 19
_MOST_WRITTEN = 200


def parse(text: str) -> Quantity:
    """ParseQuantity; KubeletError with its text."""
    match = _NUMBER.match(text)
    if not text or not match or not (match[2] or match[3]):
        raise KubeletError(_MALFORMED)
    sign, whole, fraction = match[1], *_shortened(match[2] or "", match[3] or "")
    suffix = text[match.end() :]
    exponent = _EXPONENT.fullmatch(suffix)
    number, scale = int(whole + fraction or "0"), -len(fraction)
    if suffix in _BINARY_EXPONENTS:
        number, form = number * 1024 ** _BINARY_EXPONENTS[suffix], BINARY
    elif suffix in _DECIMAL_EXPONENTS:
        scale, form = scale + _DECIMAL_EXPONENTS[suffix], DECIMAL
    elif exponent and len(exponent[1]) <= _INT64_DIGITS:
        scale, form = scale + int(exponent[1]), EXPONENT
    elif re.fullmatch(r"[eEinumkKMGTP]*[-+]?[0-9]*", suffix):
        raise KubeletError("unable to parse quantity's suffix")
    else:
        raise KubeletError(_MALFORMED)
    nano = min(_shifted(number, scale + SCALE), _LARGEST)
    return Quantity(-nano if sign == "-" else nano, form)


def _shortened(whole: str, fraction: str) -> tuple[str, str]:
    """The digits of a number, of a very long one as many as change the result."""
    more = "1" if fraction[_MOST_WRITTEN:].strip("0") else ""
    return whole.lstrip("0")[:_MOST_WRITTEN], fraction[:_MOST_WRITTEN] + more


def _shifted(number: int, exponent: int) -> int:
    """number x 10^exponent, rounded up; exponents beyond every quantity are not worked out."""
    if not number:
        return 0
    if exponent > _MOST_DIGITS:
        return _LARGEST
    if exponent < -_MOST_DIGITS - len(str(number)):
        return 1
    return number * 10**exponent if exponent >= 0 else int(-(-number // 10**-exponent))


def of(value: int, form: str = DECIMAL) -> Quantity:
    """`value` whole units."""
    return Quantity(value * _ONE, form)


ZERO = Quantity(0)
