"""Rules of single sections of an Ignition config; those of storage are in `storage`."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from cpuplan.upstream.mco.ignition import storage
from cpuplan.upstream.mco.ignition.paths import Broken, below, problem_of_path
from cpuplan.upstream.mco.ignition.schema import Config, Version
from cpuplan.upstream.mco.ignition.units import is_drop_in_name, is_unit_name, problem_of_unit
from cpuplan.upstream.mco.ignition.urls import problem_of_url, scheme_of

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
    "Storage": storage.storage,
    "File": storage.file,
    "Directory": storage.directory,
    "Link": storage.node,
    "Disk": storage.disk,
    "Partition": storage.partition,
    "Filesystem": storage.filesystem,
    "Raid": storage.raid,
}
