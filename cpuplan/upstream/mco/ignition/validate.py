"""What makes an Ignition config invalid (ignition/v2/config/*/types).

Upstream: openshift/machine-config-operator
  vendor/github.com/coreos/ignition/v2/config/validate/validate.go
  vendor/github.com/coreos/ignition/v2/config/v3_5/types/config.go
  vendor/github.com/coreos/ignition/v2/config/v3_5/types/device.go
  vendor/github.com/coreos/ignition/v2/config/v3_5/types/directory.go
  vendor/github.com/coreos/ignition/v2/config/v3_5/types/disk.go
  vendor/github.com/coreos/ignition/v2/config/v3_5/types/file.go
  vendor/github.com/coreos/ignition/v2/config/v3_5/types/filesystem.go
  vendor/github.com/coreos/ignition/v2/config/v3_5/types/luks.go
  vendor/github.com/coreos/ignition/v2/config/v3_5/types/node.go
  vendor/github.com/coreos/ignition/v2/config/v3_5/types/partition.go
  vendor/github.com/coreos/ignition/v2/config/v3_5/types/proxy.go
  vendor/github.com/coreos/ignition/v2/config/v3_5/types/raid.go
  vendor/github.com/coreos/ignition/v2/config/v3_5/types/resource.go
  vendor/github.com/coreos/ignition/v2/config/v3_5/types/storage.go
  vendor/github.com/coreos/ignition/v2/config/v3_5/types/systemd.go
  vendor/github.com/coreos/ignition/v2/config/v3_5/types/tang.go
  vendor/github.com/coreos/ignition/v2/config/v3_5/types/unit.go
  vendor/github.com/coreos/ignition/v2/config/v3_5/types/verification.go
  @ 7ff337a4ffac8e7562692181178ede61e4b2eec5
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

from cpuplan.upstream.mco.common import IgnitionError, Problem
from cpuplan.upstream.mco.ignition.types import (
    CONFIG,
    Broken,
    Config,
    Many,
    Struct,
    Version,
    below,
    clean,
    key_of,
    problem_of_path,
)
from cpuplan.upstream.mco.ignition.unit import is_drop_in_name, is_unit_name, problem_of_unit
from cpuplan.upstream.mco.ignition.url import problem_of_url, scheme_of

_GUID = re.compile(r"(|[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12})")
FORMATS = ("ext4", "btrfs", "xfs", "swap", "vfat")
#: The longest label in bytes, by format.
_LABELS = {"ext4": 16, "btrfs": 256, "xfs": 12, "swap": 15, "vfat": 11}
_NEED_A_FORMAT = ("path", "label", "uuid", "wipeFilesystem", "mountOptions", "options")
_LINEAR = ("linear", "raid0", "0", "stripe")
_LEVELS = frozenset(
    {*_LINEAR, "raid1", "1", "mirror", "raid4", "4", "raid5", "5", "raid6", "6", "raid10", "10"}
)
_NODES = ("directories", "files", "links")


def storage(section: Config, version: Version) -> Iterator[Broken]:
    """Nothing lies below a link; links have targets."""
    links = section.get("links") or []
    paths = {link["path"] for link in links}
    lengths = {len(path) for path in paths}
    for kind in _NODES:
        for index, entry in enumerate(section.get(kind) or ()):
            if _is_below(entry["path"], paths, lengths):
                yield (kind, index), "the path lies below a link"
    directories = _directories(section)
    for index, link in enumerate(links):
        if not link.get("target") and version >= (3, 3):
            yield ("links", index, "target"), "a link needs a target"
        elif link.get("hard") and _target(link) in directories:
            yield ("links", index), "a hard link to a directory"


def _is_below(path: str, links: Set[str], lengths: Set[int]) -> bool:
    """Whether a path lies below one of the links, whose paths have these lengths."""
    ends = (length for length in lengths if path[length : length + 1] == "/")
    return any(path[:end] in links for end in ends)


def _target(link: Config) -> str:
    target = clean(link.get("target", ""))
    return target if target.startswith("/") else clean(f"{link['path']}/{target}")


def _directories(section: Config) -> set[str]:
    return {directory["path"] for directory in section.get("directories") or ()}


def node(entry: Config, _: Version) -> Iterator[Broken]:
    """Rules of files, directories and links."""
    if problem := problem_of_path(entry["path"]):
        yield ("path",), problem


def directory(entry: Config, version: Version) -> Iterator[Broken]:
    """Rules of files and directories."""
    yield from node(entry, version)
    if not 0 <= entry.get("mode", 0) <= 0o7777:
        yield ("mode",), "not a mode"


def file(entry: Config, version: Version) -> Iterator[Broken]:
    """Rules of files."""
    yield from directory(entry, version)
    if entry.get("overwrite") and "source" not in entry.get("contents", {}):
        yield ("overwrite",), "overwrite without contents"


def disk(entry: Config, _: Version) -> Iterator[Broken]:
    """Rules of disks; those of single partitions are in `partition`."""
    partitions = entry.get("partitions") or []
    if problem := problem_of_path(entry["device"]):
        yield ("device",), problem
    numbers = [part["number"] for part in partitions if part["number"]]
    labels = [part["label"] for part in partitions if "label" in part]
    if len(set(numbers)) < len(numbers) or len(set(labels)) < len(labels):
        yield ("partitions",), "two partitions with one number or label"
    if _overlap(partitions):
        yield ("partitions",), "partitions overlap"
    is_removing = any(part.get("shouldExist") is False for part in partitions)
    if is_removing and any(not part["number"] for part in partitions):
        yield ("partitions",), "a partition without number beside one that is removed"


def _overlap(partitions: Iterable[Config]) -> bool:
    """Whether unequal partitions whose places are given have a place in common."""
    first_at: dict[tuple[int, int], Config] = {}
    for part in partitions:
        if not part.get("startMiB") or "sizeMiB" not in part:
            continue
        place = part["startMiB"], _end(part)
        if first_at.setdefault(place, part) != part:
            return True
    places = sorted(first_at)
    # In the order of their starts, neighbours overlap if any two do.
    return any(start <= end for (_, end), (start, _) in pairwise(places))


def _end(part: Config) -> int:
    """Size 0 is all that is left; it counts as nothing."""
    return int(part["startMiB"] + max(part["sizeMiB"] - 1, 0))


def partition(entry: Config, _: Version) -> Iterator[Broken]:
    """Rules of partitions."""
    label = entry.get("label")
    has_more = label is not None or "startMiB" in entry or "sizeMiB" in entry
    if entry.get("shouldExist") is False and (
        has_more or entry.get("typeGuid") or entry.get("guid")
    ):
        yield (), "a partition that is removed has only a number"
    if not entry["number"] and label is None:
        yield (), "a partition needs a number or a label"
    if label is not None and (len(label.encode()) > 36 or ":" in label):
        yield ("label",), "not a label"
    for field in ("guid", "typeGuid"):
        if not _GUID.fullmatch(entry.get(field, "")):
            yield (field,), "not a GUID"


def filesystem(entry: Config, version: Version) -> Iterator[Broken]:
    """Rules of filesystems."""
    kind = entry.get("format", "")
    if entry.get("path") and (problem := problem_of_path(entry["path"])):
        yield ("path",), problem
    if problem := problem_of_path(entry["device"]):
        yield ("device",), problem
    if not kind and any(entry.get(field) for field in _NEED_A_FORMAT):
        yield ("format",), "a format is required"
    if kind and kind not in FORMATS and not (kind == "none" and version >= (3, 3)):
        yield ("format",), "unknown format"
    if len(entry.get("label", "").encode()) > _LABELS.get(kind, 256):
        yield ("label",), "the label is too long"


def raid(entry: Config, _: Version) -> Iterator[Broken]:
    """Rules of RAID arrays."""
    if problem := problem_of_level(entry):
        yield ("level",), problem
    devices = entry.get("devices") or []
    if not devices:
        yield ("devices",), "devices are required"
    for index, device in enumerate(devices):
        if problem := problem_of_path(device):
            yield ("devices", index), problem


def problem_of_level(entry: Config) -> str | None:
    """Why a RAID array cannot have its level, if it cannot."""
    level = entry.get("level", "")
    if level not in _LEVELS:
        return "unknown level"
    return "spares without redundancy" if level in _LINEAR and entry.get("spares") else None


Rule: TypeAlias = Callable[[Config, Version], Iterator[Broken]]

_UNITS = "/etc/systemd/system/"
_DIGITS = {"sha512": 128, "sha256": 64}
_PINS = ("tpm2", "tang", "sss")


def _config(config: Config, _: Version) -> Iterator[Broken]:
    """A unit with text and a file with its path exclude each other."""
    paths = set()
    for unit in config.get("systemd", {}).get("units") or ():
        if unit.get("contents"):
            paths.add(_UNITS + unit["name"])
        for drop_in in unit.get("dropins") or ():
            if drop_in.get("contents"):
                paths.add(f"{_UNITS}{unit['name']}.d/{drop_in['name']}")
    for kind in ("files", "directories", "links"):
        for index, node in enumerate(config.get("storage", {}).get(kind) or ()):
            if node["path"] in paths:
                yield ("storage", kind, index, "path"), "the path is that of a unit"


def _unit(unit: Config, _: Version) -> Iterator[Broken]:
    if not is_unit_name(unit["name"]):
        yield ("name",), "not the name of a unit"
    if problem := problem_of_unit(unit.get("contents", "")):
        yield ("contents",), problem


def _drop_in(drop_in: Config, _: Version) -> Iterator[Broken]:
    if problem := problem_of_unit(drop_in.get("contents", "")):
        yield ("contents",), problem
    if not is_drop_in_name(drop_in["name"]):
        yield ("name",), "not the name of a drop-in"


def _resource(resource: Config, version: Version) -> Iterator[Broken]:
    source = resource.get("source")
    if resource.get("compression", "") not in ("", "gzip"):
        yield ("compression",), "unknown compression"
    if "hash" in resource.get("verification", {}) and source is None:
        yield ("verification", "hash"), "a hash without a source"
    if source and (problem := problem_of_url(source, version)):
        yield ("source",), problem
    if resource.get("httpHeaders") and scheme_of(source or "") not in ("http", "https"):
        yield ("httpHeaders",), "headers without a source on HTTP"


def _verification(verification: Config, version: Version) -> Iterator[Broken]:
    if "hash" not in verification:
        return
    function, dash, digits = verification["hash"].partition("-")
    known = function in _DIGITS and (function == "sha512" or version >= (3, 1))
    if not dash or not known or len(digits) != _DIGITS[function]:
        yield ("hash",), "not a hash"


def _header(header: Config, _: Version) -> Iterator[Broken]:
    if not header["name"]:
        yield ("name",), "a header needs a name"
    if header.get("value") == "":
        yield ("value",), "a header with an empty value"


def _needed_source(resources: list[Config], version: Version) -> Iterator[Broken]:
    for index, resource in enumerate(resources):
        source = resource.get("source") or ""
        problem = problem_of_url(source, version) if source else "a source is required"
        if problem:
            yield (index,), problem


def _ignition_config(section: Config, version: Version) -> Iterator[Broken]:
    if version >= (3, 1):
        yield from below(_needed_source(section.get("merge") or [], version), "merge")


def _tls(tls: Config, version: Version) -> Iterator[Broken]:
    field = "certificateAuthorities"
    yield from below(_needed_source(tls.get(field) or [], version), field)


def _proxy(proxy: Config, _: Version) -> Iterator[Broken]:
    for field in ("httpProxy", "httpsProxy"):
        if field in proxy and scheme_of(proxy[field]) not in ("http", "https"):
            yield (field,), "not the URL of a proxy"


def _owner(owner: Config, _: Version) -> Iterator[Broken]:
    if "id" in owner and owner.get("name"):
        yield (), "an owner has an id or a name"


def _luks(luks: Config, version: Version) -> Iterator[Broken]:
    clevis = luks.get("clevis", {})
    key_file = luks.get("keyFile", {}).get("source")
    others = clevis.get("tang") or clevis.get("tpm2") or clevis.get("threshold")
    pin = clevis.get("custom", {}).get("pin")
    is_cex = luks.get("cex", {}).get("enabled")
    if "/" in luks["name"]:
        yield ("name",), "a slash in a name"
    if len(luks.get("label", "").encode()) > 47:
        yield ("label",), "the label is too long"
    if problem := problem_of_path(luks.get("device", "")):
        yield ("device",), problem
    if others and (pin or (version < (3, 3) and "custom" in clevis)):
        yield ("clevis",), "a custom pin beside others"
    if key_file and problem_of_url(key_file, version):
        yield ("keyFile",), "not a source"
    if is_cex and (others or pin or key_file):
        yield ("cex",), "CEX beside other keys"


def _custom(custom: Config, version: Version) -> Iterator[Broken]:
    is_asked = custom.get("needsNetwork") and version >= (3, 3)
    if not (custom.get("pin") or custom.get("config") or is_asked):
        return
    if custom.get("pin") not in _PINS:
        yield ("pin",), "unknown pin"
    if not custom.get("config"):
        yield ("config",), "a pin needs a configuration"


def _tang(tang: Config, _: Version) -> Iterator[Broken]:
    if scheme_of(tang["url"]) not in ("http", "https"):
        yield ("url",), "not the URL of a server"
    if not tang.get("thumbprint"):
        yield ("thumbprint",), "a thumbprint is required"
    if tang.get("advertisement") and not _is_json(tang["advertisement"]):
        yield ("advertisement",), "not JSON"


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return re.search(r"NaN|Infinity", text) is None


#: By the name of the section's type.
RULES: Mapping[str, Rule] = {
    "Config": _config,
    "Unit": _unit,
    "Dropin": _drop_in,
    "Resource": _resource,
    "Verification": _verification,
    "HTTPHeader": _header,
    "IgnitionConfig": _ignition_config,
    "TLS": _tls,
    "Proxy": _proxy,
    "NodeUser": _owner,
    "NodeGroup": _owner,
    "Luks": _luks,
    "ClevisCustom": _custom,
    "Tang": _tang,
    "Storage": storage,
    "File": file,
    "Directory": directory,
    "Link": node,
    "Disk": disk,
    "Partition": partition,
    "Filesystem": filesystem,
    "Raid": raid,
}


Place = tuple[str | int, ...]


def check(config: Config, version: Version) -> None:
    """Raises IgnitionError with every broken rule of a spec."""
    check_struct(config, version, CONFIG, RULES)


def check_struct(
    config: Config, version: Version, struct: Struct, rules: Mapping[str, Rule]
) -> None:
    """The same with the fields and rules of other specs."""
    if problems := tuple(_Checker(version, rules).struct(config, struct, ())):
        raise IgnitionError("config is not valid", problems)


class _Checker(NamedTuple):
    version: Version
    rules: Mapping[str, Rule]

    def struct(self, value: Config, struct: Struct, place: Place) -> Iterator[Problem]:
        if struct.name in self.rules:
            for below, cause in self.rules[struct.name](value, self.version):
                yield Problem((*place, *below), cause)
        yield from _duplicates(value, struct, place)
        for name, field in struct.fields.items():
            if name in value:
                yield from self._field(value[name], field.kind, (*place, name))

    def _field(self, value: Any, kind: Any, place: Place) -> Iterator[Problem]:
        if isinstance(kind, Struct):
            yield from self.struct(value, kind, place)
        elif isinstance(kind, Many) and isinstance(kind.item, Struct):
            for index, item in enumerate(value):
                yield from self.struct(item, kind.item, (*place, index))


def _duplicates(value: Config, struct: Struct, place: Place) -> Iterator[Problem]:
    """Files, directories and links share their keys, as other lists with one namespace do."""
    keys: set[tuple[str, str]] = set()
    for name, kind in struct.lists.items():
        for index, item in enumerate(value.get(name) or ()):
            key = (kind.namespace or name, key_of(kind.item, item))
            if key in keys:
                yield Problem((*place, name, index), "duplicate entry")
            keys.add(key)
