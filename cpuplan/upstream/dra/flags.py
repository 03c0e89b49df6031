"""The driver's command line, as Go's package flag reads it (internal/driverconfig/flags.go)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cpuplan.upstream.dra.errors import DraError
from cpuplan.upstream.dra.names import GROUPED, INDIVIDUAL, MACHINE, MODES, NUMA_NODE, SOCKET
from cpuplan.upstream.kubelet.errors import KubeletError
from cpuplan.upstream.kubelet.go.text import parse_bool, quote


def _mode(value: str) -> None:
    if value not in MODES:
        raise DraError(f"invalid value: {quote(value)}, must be {GROUPED} or {INDIVIDUAL}")


def _group(value: str) -> None:
    if value not in (SOCKET, NUMA_NODE, MACHINE):
        words = f"{SOCKET}, {NUMA_NODE} or {MACHINE}"
        raise DraError(f"invalid value: {quote(value)}, must be {words}")


#: The field that a flag sets.
FIELDS = {
    "kubeconfig": "kubeconfig",
    "hostname-override": "hostnameOverride",
    "bind-address": "bindAddress",
    "reserved-cpus": "reservedCPUs",
    "cpu-device-mode": "cpuDeviceMode",
    "group-by": "groupBy",
    "expose-pcie-roots": "exposePCIeRoots",
    "sysfs-overlay": "sysfsOverlay",
    "kubelet-root-dir": "kubeletRootDir",
}
_SWITCH = "expose-pcie-roots"
_CHECKS: Mapping[str, Callable[[str], None]] = {"cpu-device-mode": _mode, "group-by": _group}


def parse(words: Sequence[str]) -> dict[str, Any]:
    """The fields that flags set; DraError where the driver does not take them.

    Words from the first that is no flag on are those of a subcommand.
    """
    fields: dict[str, Any] = {}
    left = list(reversed(words))
    while left and len(left[-1]) > 1 and left[-1].startswith("-"):
        word = left.pop()
        if word == "--":
            break
        name, is_given, value = _taken_apart(word)
        if name == _SWITCH:
            fields[FIELDS[name]] = _switch(name, value) if is_given else True
            continue
        if not is_given:
            if not left:
                raise DraError(f"flag needs an argument: -{name}")
            value = left.pop()
        fields[FIELDS[name]] = _checked(name, value)
    return fields


def _taken_apart(word: str) -> tuple[str, bool, str]:
    given = word[2:] if word.startswith("--") else word[1:]
    if not given or given[0] in "-=":
        raise DraError(f"bad flag syntax: {word}")
    name, equals, value = given.partition("=")
    if name not in FIELDS:
        is_asked = name in ("h", "help")
        raise DraError(
            "flag: help requested" if is_asked else f"flag provided but not defined: -{name}"
        )
    return name, bool(equals), value


def _switch(name: str, value: str) -> bool:
    try:
        return parse_bool(value)
    except KubeletError:
        text = f"invalid boolean value {quote(value)} for -{name}: parse error"
        raise DraError(text) from None


def _checked(name: str, value: str) -> str:
    try:
        _CHECKS.get(name, str)(value)
    except DraError as error:
        raise DraError(f"invalid value {quote(value)} for flag -{name}: {error}") from None
    return value
