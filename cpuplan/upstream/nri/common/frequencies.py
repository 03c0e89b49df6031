"""Frequencies of CPU classes, in kHz; names of limits are numbers beyond all others."""

import json
import re
from typing import Any

from cpuplan.upstream.kubelet.go.text import float_text, quote
from cpuplan.upstream.nri.errors import NriError

_NAMES = {"min": (1 << 64) - 3, "base": (1 << 64) - 2, "turbo": (1 << 64) - 1}
_NUMBER = re.compile(r"([0-9]*\.?[0-9]+)\s*(ghz|g|mhz|m|khz|k)?\Z", re.IGNORECASE)
_UNITS = {"g": 1_000_000, "m": 1000, "k": 1}


def read(value: Any) -> int:
    """A text with a unit, or a number; NriError with the plugin's text."""
    if isinstance(value, str):
        return _parse(value.strip())
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise NriError(f"invalid frequency: expected string or number, got {_json(value)}")
    if value < 0:
        raise NriError(f"invalid frequency: negative value {float_text(value)}")
    return _rounded(value)


def _parse(text: str) -> int:
    if not text:
        return 0
    if text.lower() in _NAMES:
        return _NAMES[text.lower()]
    match = _NUMBER.match(text)
    if match is None:
        raise NriError(
            f"invalid frequency {quote(text)}: expected number with optional unit "
            "(GHz, MHz, kHz) or symbolic name (min, base, turbo)"
        )
    amount = float(match[1])
    frequency = _rounded(amount * _UNITS[(match[2] or "k")[0].lower()])
    if not frequency and amount:
        raise NriError(f"invalid frequency {quote(text)}: value too small to represent in kHz")
    return frequency


def _rounded(amount: float) -> int:
    return int(amount + 0.5)


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
