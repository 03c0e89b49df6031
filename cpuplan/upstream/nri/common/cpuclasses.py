"""What the policy refuses about CPU classes (ValidateCPUClasses)."""

from typing import Any

from cpuplan.upstream.kubelet.go.text import quote
from cpuplan.upstream.nri.errors import NriError

Json = dict[str, Any]
_TURBO_DOMAINS = ("", "package", "system")


def validate(classes: list[Json]) -> None:
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
        raise _wrong(name, "pctPriority and sstClosID are mutually exclusive")
    if priority not in ("", "high", "low"):
        raise _wrong(name, f'invalid pctPriority {quote(priority)} (allowed: "high", "low")')
    if clos is not None and clos < 0:
        raise _wrong(name, f"sstClosID must be >= 0, got {clos}")
    if given.get("pctMinFreq") or given.get("pctMaxFreq"):
        _validate_frequencies(name, priority, clos)
    if given.get("publishExtendedResource") and not priority and clos is None:
        raise _wrong(
            name,
            "publishExtendedResource requires the cpuClass to be a PCT class "
            "(set pctPriority or sstClosID)",
        )


def _validate_frequencies(name: str, priority: str, clos: int | None) -> None:
    managed = "pctMinFreq/pctMaxFreq require pctPriority (managed mode); "
    if clos is not None:
        raise _wrong(
            name,
            f"{managed}they are incompatible with sstClosID, where the SST CLOS is "
            "pre-programmed by intel-speed-select/BIOS",
        )
    if not priority:
        raise _wrong(name, f"{managed}the cpuClass is currently not a PCT class")


def _wrong(name: str, text: str) -> NriError:
    return NriError(f"cpuClass {quote(name)}: {text}")


def _map_text(values: dict[str, Any]) -> str:
    """A map as Go prints it."""
    return f"map[{' '.join(f'{name}:{values[name]}' for name in sorted(values))}]"
