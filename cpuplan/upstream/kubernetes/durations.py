"""Go's durations, in nanoseconds (time.ParseDuration, Duration.String).

Upstream: golang/go src/time/format.go @ 53ce81ef642355d27223eaf77c0a8e74580632e8
"""

import re

from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.strconv import quote

_UNITS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
MICROSECOND, MILLISECOND = _UNITS["us"], _UNITS["ms"]
SECOND, MINUTE = _UNITS["s"], _UNITS["m"]
_INT64_DIGITS = 19
_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]*)")


def parse_duration(text: str) -> int:
    """Nanoseconds; KubeletError in Go's words."""
    sign = -1 if text.startswith("-") else 1
    rest = text[1:] if text[:1] in ("-", "+") else text
    if rest == "0":
        return 0
    if not rest:
        raise KubeletError(f"time: invalid duration {quote(text)}")
    total = 0
    while rest:
        match = _PART.match(rest)
        if (
            match is None
            or not (match[1] or match[2])
            or len((match[1] or "").lstrip("0")) > _INT64_DIGITS
        ):
            raise KubeletError(f"time: invalid duration {quote(text)}")
        if not match[3]:
            raise KubeletError(f"time: missing unit in duration {quote(text)}")
        if match[3] not in _UNITS:
            raise KubeletError(f"time: unknown unit {quote(match[3])} in duration {quote(text)}")
        unit, fraction = _UNITS[match[3]], (match[2] or "")[:_INT64_DIGITS]
        total += int((match[1] or "").lstrip("0") or "0") * unit + int(
            fraction or "0"
        ) * unit // 10 ** len(fraction)
        rest = rest[match.end() :]
    return sign * total


def is_duration(text: str) -> bool:
    """Whether Go reads a duration."""
    try:
        parse_duration(text)
    except KubeletError:
        return False
    return True


def duration_text(nanoseconds: int) -> str:
    """`2m0s`, `500µs`, `1.5s`."""
    if nanoseconds == 0:
        return "0s"
    sign, left = ("-" if nanoseconds < 0 else ""), abs(nanoseconds)
    if left < SECOND:
        unit = next(name for name in ("ms", "µs", "ns") if left >= _UNITS[name])
        return f"{sign}{_decimal(left, _UNITS[unit])}{unit}"
    minutes, seconds = divmod(left, MINUTE)
    text = f"{_decimal(seconds, SECOND)}s"
    if minutes:
        text = f"{minutes % 60}m{text}"
    if minutes >= 60:
        text = f"{minutes // 60}h{text}"
    return sign + text


def _decimal(amount: int, unit: int) -> str:
    whole, rest = divmod(amount, unit)
    digits = len(str(unit)) - 1
    return f"{whole}.{rest:0{digits}d}".rstrip("0") if rest else str(whole)
