"""CPU classes: what is refused about them, and their frequencies in kHz.

Upstream: containers/nri-plugins pkg/apis/config/v1alpha1/resmgr/policy/cpuclass.go
  pkg/apis/config/v1alpha1/resmgr/policy/frequency.go
  pkg/resmgr/cpuclass/internal/cpufreq/cpufreq.go @ 83d986e963ad28ca31790102af6d509c7b7e7d45
"""

import json
import re
from typing import Any

from cpuplan.upstream.kubernetes.strconv import float_text, quote
from cpuplan.upstream.nri.api import NriError

Json = dict[str, Any]
_TURBO_DOMAINS = ("", "package", "system")


def validate_classes(classes: list[Json]) -> None:
    """NriError for the first that is wrong."""
    names: set[str] = set()
    managed: dict[str, str] = {}
    associated: dict[str, int] = {}
    for given in classes:
        name = given.get("name", "")
        _validate_class(name, given)
        if name in names:
            raise NriError(f"duplicate cpuClasses name: {quote(name)}")
        names.add(name)
        if given.get("pctPriority"):
            managed[name] = given["pctPriority"]
        elif given.get("sstClosID") is not None:
            associated[name] = given["sstClosID"]
    if managed and associated:
        raise NriError(
            "mixing managed (pctPriority) and assoc-only (sstClosID) PCT cpuClasses is not "
            f"allowed: managed={_map_text(managed)}, assocOnly={_map_text(associated)}"
        )
    for priority in ("high", "low"):
        same = [name for name, given in managed.items() if given == priority]
        if len(same) > 1:
            raise NriError(
                f"at most one managed PCT cpuClass with pctPriority={priority} allowed, "
                f"got {len(same)}: [{' '.join(same)}]"
            )


def validate_turbo_domain(domain: str) -> None:
    """NriError for a domain that is no package and not the system."""
    if domain not in _TURBO_DOMAINS:
        raise NriError(
            f"cpuclass: cpufreq configure: cpufreq: unsupported turboDomain {quote(domain)} "
            '(expected "package" or "system")'
        )


def _validate_class(name: str, given: Json) -> None:
    if not name:
        raise NriError("missing or empty name in a cpuClasses entry")
    priority, clos = given.get("pctPriority", ""), given.get("sstClosID")
    if priority and clos is not None:
        raise _invalid_class(name, "pctPriority and sstClosID are mutually exclusive")
    if priority not in ("", "high", "low"):
        raise _invalid_class(
            name, f'invalid pctPriority {quote(priority)} (allowed: "high", "low")'
        )
    if clos is not None and clos < 0:
        raise _invalid_class(name, f"sstClosID must be >= 0, got {clos}")
    if given.get("pctMinFreq") or given.get("pctMaxFreq"):
        _validate_frequencies(name, priority, clos)
    if given.get("publishExtendedResource") and not priority and clos is None:
        raise _invalid_class(
            name,
            "publishExtendedResource requires the cpuClass to be a PCT class "
            "(set pctPriority or sstClosID)",
        )


def _validate_frequencies(name: str, priority: str, clos: int | None) -> None:
    managed = "pctMinFreq/pctMaxFreq require pctPriority (managed mode); "
    if clos is not None:
        raise _invalid_class(
            name,
            f"{managed}they are incompatible with sstClosID, where the SST CLOS is "
            "pre-programmed by intel-speed-select/BIOS",
        )
    if not priority:
        raise _invalid_class(name, f"{managed}the cpuClass is currently not a PCT class")


def _invalid_class(name: str, text: str) -> NriError:
    return NriError(f"cpuClass {quote(name)}: {text}")


def _map_text(values: dict[str, Any]) -> str:
    """A map as Go prints it."""
    return f"map[{' '.join(f'{name}:{values[name]}' for name in sorted(values))}]"


_NAMES = {"min": (1 << 64) - 3, "base": (1 << 64) - 2, "turbo": (1 << 64) - 1}
_NUMBER = re.compile(r"([0-9]*\.?[0-9]+)\s*(ghz|g|mhz|m|khz|k)?\Z", re.IGNORECASE)
_UNITS = {"g": 1_000_000, "m": 1000, "k": 1}


def read_frequency(value: Any) -> int:
    """A text with a unit, or a number; NriError with the plugin's text."""
    if isinstance(value, str):
        return _parse_frequency(value.strip())
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise NriError(f"invalid frequency: expected string or number, got {_json(value)}")
    if value < 0:
        raise NriError(f"invalid frequency: negative value {float_text(value)}")
    return _rounded(value)


def _parse_frequency(text: str) -> int:
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
