"""Ignition configs of any spec that a release knows, as configs of the newest one.

Upstream: openshift/machine-config-operator pkg/controller/common/helpers.go
  pkg/controller/common/ignition_converter.go
  vendor/github.com/coreos/ignition/v2/config/v3_5/config.go
  @ 7ff337a4ffac8e7562692181178ede61e4b2eec5
"""

import re
from collections.abc import Mapping
from typing import Any

from cpuplan.upstream.mco.common import IgnitionError, Release, has, newest_ignition
from cpuplan.upstream.mco.ignition import v23tov30
from cpuplan.upstream.mco.ignition.types import FIRST, Config, Version, decode, get_field
from cpuplan.upstream.mco.ignition.validate import check

_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)(-[^+]*)?(\+.*)?")
_SPECIAL_BITS = 0o7000
_SPEC_2 = ((2, 0), (2, 1), (2, 2))


def parse(raw: Any, release: Release) -> Config:
    """The config as the operator of `release` reads it; IgnitionError for one that is not valid."""
    newest = newest_ignition(release)
    version = _version(raw)
    if version in _SPEC_2:
        config = v23tov30.translate(raw, version)
    elif version is None or not FIRST <= version <= newest:
        raise IgnitionError("unknown Ignition version", version=_written(raw))
    else:
        config = decode(raw, version)
        check(config, version)
        if version < (3, 4) and not has(release, "merge.special_mode_bits_kept"):
            _drop_special_bits(config)
    config["ignition"] = {**config["ignition"], "version": "{}.{}.0".format(*newest)}
    return config


def parse_valid(raw: Any, release: Release) -> Config:
    """The same, where the rules of the newest spec hold too, as for every object of a pool.

    A link of spec 3.2 that lacks its target is taken where a rendered config is read, and refused
    in an object of the user (pkg/controller/common/helpers.go, ValidateIgnition).
    """
    config = parse(raw, release)
    if _version(raw) not in (*_SPEC_2, newest_ignition(release)):
        check(config, newest_ignition(release))
    return config


def _version(raw: Any) -> Version | None:
    """None for a version that no spec has."""
    written = _written(raw)
    match = _VERSION.fullmatch(written) if isinstance(written, str) else None
    if match is None:
        raise IgnitionError("invalid Ignition version", version=written)
    major, minor, patch, *pre_release = match.groups()
    return None if any(pre_release) or int(patch) else (int(major), int(minor))


def _written(raw: Any) -> Any:
    """The version that the text of a config names."""
    section = get_field(raw, "ignition") if isinstance(raw, Mapping) else None
    return get_field(section, "version") if isinstance(section, Mapping) else None


def _drop_special_bits(config: Config) -> None:
    storage = config.get("storage", {})
    for node in [*storage.get("files", ()), *storage.get("directories", ())]:
        if "mode" in node:
            node["mode"] &= ~_SPECIAL_BITS
