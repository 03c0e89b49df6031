"""The driver's configuration: defaults, then the file, then flags.

Upstream: kubernetes-sigs/dra-driver-cpu internal/driverconfig/config.go
  internal/driverconfig/cfgfile.go internal/driverconfig/defaults.go internal/driverconfig/flags.go
  internal/driverconfig/load.go @ de98098690f25e59d781c1659b5c3e0b0a210c2a
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from cpuplan.upstream.dra.api import (
    API_VERSION,
    GROUPED,
    GROUPS,
    INDIVIDUAL,
    MACHINE,
    MODES,
    NUMA_NODE,
    SOCKET,
    DraError,
)
from cpuplan.upstream.kubernetes.bits import parse_cpus
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.json import kind_of
from cpuplan.upstream.kubernetes.strconv import parse_bool, quote
from cpuplan.upstream.kubernetes.yaml import load


def _check_mode(value: str) -> None:
    if value not in MODES:
        raise DraError(f"invalid value: {quote(value)}, must be {GROUPED} or {INDIVIDUAL}")


def _check_group(value: str) -> None:
    if value not in (SOCKET, NUMA_NODE, MACHINE):
        words = f"{SOCKET}, {NUMA_NODE} or {MACHINE}"
        raise DraError(f"invalid value: {quote(value)}, must be {words}")


#: The field that a flag sets.
FLAG_FIELDS = {
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
_CHECKS: Mapping[str, Callable[[str], None]] = {
    "cpu-device-mode": _check_mode,
    "group-by": _check_group,
}


def parse_flags(words: Sequence[str]) -> dict[str, Any]:
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
            fields[FLAG_FIELDS[name]] = _switch(name, value) if is_given else True
            continue
        if not is_given:
            if not left:
                raise DraError(f"flag needs an argument: -{name}")
            value = left.pop()
        fields[FLAG_FIELDS[name]] = _checked(name, value)
    return fields


def _taken_apart(word: str) -> tuple[str, bool, str]:
    given = word[2:] if word.startswith("--") else word[1:]
    if not given or given[0] in "-=":
        raise DraError(f"bad flag syntax: {word}")
    name, equals, value = given.partition("=")
    if name not in FLAG_FIELDS:
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


#: The file of the chart's ConfigMap.
FILE = "config.yaml"
KUBELET_ROOT = "/var/lib/kubelet"
#: What the file must not set, and what does instead.
_NOT_IN_FILE = {
    "bindAddress": "use helm chart's healthzPort instead",
    "exposePCIeRoots": "use args.exposePCIeRoots instead",
    "kubeletRootDir": "use the chart's top-level kubeletRootDir value, "
    "or --kubelet-root-dir when running the binary directly",
}
_MAP = "map[string]interface {}"


class Config(NamedTuple):
    """What the driver runs with. `reserved_cpus` is the list as it was written."""

    kubeconfig: str = ""
    hostname_override: str = ""
    bind_address: str = ":8080"
    reserved_cpus: str = ""
    cpu_device_mode: str = GROUPED
    group_by: str = NUMA_NODE
    expose_pcie_roots: bool = False
    sysfs_overlay: str = ""
    kubelet_root_dir: str = KUBELET_ROOT
    publish_node_allocatable_resource_mapping: bool = False

    @property
    def reserved(self) -> int:
        """The reserved CPUs as a set; DraError where they are no list."""
        try:
            return parse_cpus(self.reserved_cpus)
        except KubeletError as error:
            raise DraError(f"failed to parse reserved CPUs: {error}") from None

    def fields(self) -> dict[str, Any]:
        """By their names in files."""
        return dict(zip(NAMES, self, strict=True))


#: The names of the fields in files, in the order of Config.
NAMES = (
    "kubeconfig",
    "hostnameOverride",
    "bindAddress",
    "reservedCPUs",
    "cpuDeviceMode",
    "groupBy",
    "exposePCIeRoots",
    "sysfsOverlay",
    "kubeletRootDir",
    "publishNodeAllocatableResourceMapping",
)
_ATTRIBUTES = dict(zip(NAMES, Config._fields, strict=True))
_KNOWN = sorted(("apiVersion", *NAMES))


def resolve(file: str | None = None, words: Sequence[str] = (), name: str = FILE) -> Config:
    """The configuration of a file's text and of flags; DraError with the driver's text.

    A wrong value in the file is healed by a flag, and groupBy counts only in grouped mode.
    """
    given = parse_flags(words)
    config = Config()
    if file is not None:
        try:
            config = _apply(config, _fields(file, name))
        except DraError as error:
            raise DraError(f"cannot apply {name}: {error}") from None
    config = _cleaned(_apply(config, given))
    try:
        validate(config)
    except DraError as error:
        raise DraError(f"cannot validate config: {error}") from None
    _ = config.reserved
    return config


def validate(config: Config) -> None:
    """DraError for words that the driver does not know, and for a wrong folder of the kubelet."""
    mode, group = config.cpu_device_mode, config.group_by
    if mode not in MODES:
        words = " or ".join(map(quote, MODES))
        raise DraError(f"invalid cpuDeviceMode {quote(mode)}: must be {words}")
    if mode == GROUPED and group not in GROUPS:
        words = f"{quote(SOCKET)}, {quote(NUMA_NODE)}, or {quote(MACHINE)}"
        raise DraError(f"invalid groupBy {quote(group)}: must be {words}")
    if not config.kubelet_root_dir:
        raise DraError("invalid kubeletRootDir: must not be empty")
    if not config.kubelet_root_dir.startswith("/"):
        root = quote(config.kubelet_root_dir)
        raise DraError(f"invalid kubeletRootDir {root}: must be an absolute path")


def _fields(file: str, name: str) -> Mapping[str, Any]:
    """What a file sets; DraError for what the driver does not take in it."""
    fields = _parsed(file, name)
    if "apiVersion" in fields:
        given = fields.pop("apiVersion")
        if given != API_VERSION:
            shown = quote(given if isinstance(given, str) else "")
            raise DraError(f"unsupported apiVersion {shown}, want {quote(API_VERSION)}")
    if misspelt := [text for key in sorted(fields) for text in _misspelt(key)]:
        raise DraError("; ".join(misspelt))
    for key in sorted(_NOT_IN_FILE):
        if key in fields:
            raise DraError(_not_in_file(key, key))
    return fields


def _parsed(file: str, name: str) -> dict[str, Any]:
    try:
        document, duplicates = load(file, "found character that cannot start any token")
        if duplicates:
            lines = "\n  ".join(duplicates)
            raise KubeletError(f"yaml: unmarshal errors:\n  {lines}")
    except KubeletError as error:
        raise DraError(f"parsing {name}: error converting YAML to JSON: {error}") from None
    if document is None:
        return {}
    if not isinstance(document, dict):
        text = f"json: cannot unmarshal {kind_of(document)} into Go value of type {_MAP}"
        raise DraError(f"parsing {name}: error unmarshaling JSON: while decoding JSON: {text}")
    return document


def _misspelt(key: str) -> list[str]:
    """What the driver says of a known name in other letter case."""
    if key in _KNOWN:
        return []
    folded = key.casefold()
    wanted = next((known for known in _KNOWN if known.casefold() == folded), None)
    if wanted is None:
        return []
    if wanted in _NOT_IN_FILE:
        return [_not_in_file(key, wanted)]
    return [f"field {quote(key)} is spelled differently from the schema; use {quote(wanted)}"]


def _not_in_file(key: str, name: str) -> str:
    return f"field {quote(key)} is not configurable via the config file; {_NOT_IN_FILE[name]}"


def _apply(config: Config, fields: Mapping[str, Any]) -> Config:
    """With fields set; null sets nothing. Of several mistakes the first by name is told."""
    changes: dict[str, Any] = {}
    for key in sorted(fields):
        if key not in _ATTRIBUTES:
            raise DraError(f"applying config map: json: unknown field {quote(key)}")
        value, attribute = fields[key], _ATTRIBUTES[key]
        if value is None:
            continue
        wanted = "bool" if isinstance(getattr(config, attribute), bool) else "string"
        if kind_of(value) != wanted:
            where = f"Go struct field Config.{key} of type {wanted}"
            text = f"json: cannot unmarshal {kind_of(value)} into {where}"
            raise DraError(f"applying config map: {text}")
        changes[attribute] = value
    return config._replace(**changes)


def _cleaned(config: Config) -> Config:
    root = config.kubelet_root_dir
    return config._replace(kubelet_root_dir=_clean(root)) if root else config


def _clean(path: str) -> str:
    """filepath.Clean: without `.`, `..` and empty parts."""
    is_absolute = path.startswith("/")
    parts: list[str] = []
    for part in re.split("/+", path):
        if part in ("", "."):
            continue
        if part != ".." or (not is_absolute and (not parts or parts[-1] == "..")):
            parts.append(part)
        elif parts:
            parts.pop()
    cleaned = "/".join(parts)
    return f"/{cleaned}" if is_absolute else cleaned or "."
