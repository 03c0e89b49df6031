"""Which changes of registries.conf need no drain (pkg/daemon/drain.go).

Only additions that cannot change where a tag is pulled from.

Upstream: openshift/machine-config-operator pkg/daemon/drain.go
  @ 7ff337a4ffac8e7562692181178ede61e4b2eec5
"""

from typing import Any, NamedTuple

from cpuplan.base import foreign
from cpuplan.upstream.mco.apihelpers import REGISTRIES_CONF
from cpuplan.upstream.mco.common import McoError
from cpuplan.upstream.mco.ignition.types import Config
from cpuplan.upstream.mco.ignition.url import decode_data_url

_DIGEST_ONLY = "digest-only"


class Mirror(NamedTuple):
    """A mirror; `pulls` says for which references it is used."""

    location: str
    is_insecure: bool
    pulls: str


class Registry(NamedTuple):
    """A registry; `is_digest_only` holds for all its mirrors."""

    location: str
    prefix: str
    is_insecure: bool
    is_blocked: bool
    is_digest_only: bool
    mirrors: tuple[Mirror, ...]


class Registries(NamedTuple):
    """Registries by prefix, or location without one, and where short names are searched."""

    searched: tuple[str, ...]
    scopes: dict[str, Registry]


def is_safe(old: Config, new: Config) -> bool:
    """Whether a node takes the new file without a drain; McoError for a file that is not TOML."""
    before, after = read_registries(_contents(old)), read_registries(_contents(new))
    if after.searched[: len(before.searched)] != before.searched:
        return False
    if before.scopes.keys() - after.scopes.keys():
        return False
    return all(
        _is_safe(before.scopes.get(scope), registry) for scope, registry in after.scopes.items()
    )


def _is_safe(old: Registry | None, new: Registry) -> bool:
    if old is None:
        return _is_for_digests(new)
    if old == new:
        return True
    if old[:4] != new[:4]:
        return False
    before = _by_location(old.mirrors)
    if before.keys() - _by_location(new.mirrors).keys():
        return False
    return all(_is_safe_mirror(before.get(mirror.location), mirror, new) for mirror in new.mirrors)


def _is_for_digests(registry: Registry) -> bool:
    if not registry.mirrors:
        return registry.is_digest_only
    return all(mirror.pulls == _DIGEST_ONLY for mirror in registry.mirrors)


def _is_safe_mirror(old: Mirror | None, new: Mirror, registry: Registry) -> bool:
    if new.pulls == _DIGEST_ONLY:
        return True
    return registry.is_digest_only if old is None else old.pulls == new.pulls


def _by_location(mirrors: tuple[Mirror, ...]) -> dict[str, Mirror]:
    """The first of each location counts."""
    locations: dict[str, Mirror] = {}
    for mirror in mirrors:
        locations.setdefault(mirror.location, mirror)
    return locations


def _contents(config: Config) -> bytes:
    """Compressed contents are not unpacked (MCO bug)."""
    for file in config.get("storage", {}).get("files") or ():
        source = file.get("contents", {}).get("source")
        if file["path"] == REGISTRIES_CONF and source is not None:
            contents = decode_data_url(source)
            if contents is None:
                raise McoError("not a data URL", path=REGISTRIES_CONF)
            return contents
    return b""


def read_registries(contents: bytes) -> Registries:
    """A file of the second version of its format; McoError for one that cannot be decoded."""
    try:
        document = foreign.read_toml(contents.decode())
        registries = [_registry(entry) for entry in _get(document, "registry", list)]
        searched = tuple(_get(document, "unqualified-search-registries", list))
    except (ValueError, TypeError, RecursionError) as error:
        raise McoError("not TOML", path=REGISTRIES_CONF, error=str(error)) from error
    return Registries(searched, {entry.prefix or entry.location: entry for entry in registries})


def _registry(entry: Any) -> Registry:
    return Registry(
        _get(entry, "location", str),
        _get(entry, "prefix", str),
        _get(entry, "insecure", bool),
        _get(entry, "blocked", bool),
        _get(entry, "mirror-by-digest-only", bool),
        tuple(_mirror(mirror) for mirror in _get(entry, "mirror", list)),
    )


def _mirror(entry: Any) -> Mirror:
    return Mirror(
        _get(entry, "location", str),
        _get(entry, "insecure", bool),
        _get(entry, "pull-from-mirror", str),
    )


def _get(table: Any, key: str, kind: type) -> Any:
    if not isinstance(table, dict):
        raise TypeError("not a table")
    value = table.get(key, kind())
    if not isinstance(value, kind):
        raise TypeError(f"{key} has a wrong type")
    return value
