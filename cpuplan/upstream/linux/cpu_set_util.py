"""Lists of CPUs as systemd 252 reads them (src/shared/cpu-set-util.c): not as the kernel does.

Upstream: systemd/systemd src/shared/cpu-set-util.c @ 4c72e716dc37553bd320e5f4dfa374560f0b97d1
"""

import re
from collections.abc import Iterable

from cpuplan.base.patterns import expression

#: CPUs of a set; a line with a higher one is ignored.
LIMIT = 8192
_WORDS = expression(r"[\s,]+")
_MOST_DIGITS = 100
_QUOTED = expression(r"([\"'])(.*)\1")
_NUMBER = expression(r"\+?(0x[0-9a-f]+|0b[01]+|0o[0-7]+|0[0-7]*|[1-9][0-9]*)", re.IGNORECASE)


def allowed_cpus(lines: Iterable[str]) -> int:
    """What the values of a unit's AllowedCPUs= lines add up to, in their order, as bits.

    A value without CPUs discards those before it; one that cannot be read is ignored.
    """
    cpus = 0
    for line in lines:
        listed = _line(line)
        if listed is not None:
            cpus = cpus | listed if listed else 0
    return cpus


def _line(text: str) -> int | None:
    """The CPUs of one line; None for one that is ignored."""
    cpus = 0
    for word in _WORDS.split(text.strip()):
        quoted = _QUOTED.fullmatch(word)
        bare = quoted[2] if quoted else word
        if not bare:
            continue
        first, dash, last = bare.partition("-")
        lower = _number(first)
        upper = _number(last) if dash else lower
        if lower is None or upper is None:
            return None
        if lower > upper:
            continue  # systemd says so and goes on
        if upper >= LIMIT:
            return None
        cpus |= (1 << upper + 1) - (1 << lower)
    return cpus


def _number(text: str) -> int | None:
    """A number as C reads it: with a plus sign, and octal where it begins with 0."""
    match = _NUMBER.fullmatch(text)
    if match is None or len(text) > _MOST_DIGITS:
        return None
    digits = match[1].lower()
    if digits[:2] in ("0x", "0b", "0o"):
        return int(digits, 0)
    return int(digits, 8) if digits.startswith("0") else int(digits)
