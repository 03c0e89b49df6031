"""Kubernetes quantities of memory: `500Mi`, `196633676Ki`, `1.5G`, `1e9`, plain bytes."""

import re

_FACTOR = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18}
_FACTOR |= {unit + "i": 1024**power for power, unit in enumerate("KMGTPE", start=1)}
#: A number with a unit, thousandths among them, or with an exponent (apimachinery,
#: pkg/api/resource/quantity.go).
PATTERN = r"^[0-9]{1,18}(\.[0-9]{1,9})?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?[0-9]{1,2})?$"
_QUANTITY = re.compile(PATTERN)


def to_bytes(text: str) -> int:
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


def to_text(size: int) -> str:
    """The shortest binary quantity that says `size` bytes exactly."""
    for unit in ("Ti", "Gi", "Mi", "Ki"):
        if size and size % _FACTOR[unit] == 0:
            return f"{size // _FACTOR[unit]}{unit}"
    return str(size)
