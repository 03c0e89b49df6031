"""Rules of an Ignition config, spec 2.0 to 2.2 (ignition/config/v2_2/types).

What spec 3 cannot express is refused by `spec2`, whatever its values are.
"""

from collections.abc import Iterator, Mapping

from cpuplan.upstream.mco.ignition.paths import Broken
from cpuplan.upstream.mco.ignition.rules import RULES, Rule
from cpuplan.upstream.mco.ignition.schema import Config, Version
from cpuplan.upstream.mco.ignition.storage import FORMATS, problem_of_level
from cpuplan.upstream.mco.ignition.urls import problem_of_url

_MOST_MODE = 0o7777
_MOST_MODE_OF_FILES = 0o777  # the operator's own rule (bugzilla 2038240)
#: Fields of a user that exclude `create`; the last may be 0.
_NOT_BESIDE_CREATE = (
    "gecos",
    "groups",
    "homeDir",
    "noCreateHome",
    "noLogInit",
    "noUserGroup",
    "primaryGroup",
    "shell",
    "system",
)


def _path(value: str) -> str | None:
    return None if value.startswith("/") else "the path is not absolute"


def _node(entry: Config, _: Version) -> Iterator[Broken]:
    if not entry.get("filesystem"):
        yield ("filesystem",), "a filesystem is required"
    if problem := _path(entry["path"]):
        yield ("path",), problem
    if not 0 <= entry.get("mode", 0) <= _MOST_MODE:
        yield ("mode",), "not a mode"


def _file(entry: Config, version: Version) -> Iterator[Broken]:
    """Modes are checked of all files, also those that a later one of the same path replaces."""
    yield from _node(entry, version)
    if _MOST_MODE >= entry.get("mode", 0) > _MOST_MODE_OF_FILES:
        yield ("mode",), "the mode has special bits"
    if entry.get("append") and entry.get("overwrite"):
        yield ("overwrite",), "a file that appends does not overwrite"


def _reference(reference: Config, version: Version) -> Iterator[Broken]:
    """An empty source is an empty file."""
    source = reference["source"]
    if source and (problem := problem_of_url(source, version)):
        yield ("source",), problem
    if reference.get("compression", "") not in ("", "gzip"):
        yield ("compression",), "unknown compression"


def _filesystem(entry: Config, _: Version) -> Iterator[Broken]:
    mount = entry.get("mount")
    if (mount is None) == ("path" not in entry):
        yield (), "a filesystem has a path or a mount"
    if problem := _path(entry.get("path", "/")):
        yield ("path",), problem


def _mount(entry: Config, _: Version) -> Iterator[Broken]:
    if entry["format"] not in FORMATS:
        yield ("format",), "unknown format"
    if problem := _path(entry["device"]):
        yield ("device",), problem


def _raid(entry: Config, _: Version) -> Iterator[Broken]:
    if problem := problem_of_level(entry):
        yield ("level",), problem
    for index, device in enumerate(entry.get("devices") or ()):
        if problem := _path(device):
            yield ("devices", index), problem


def _disk(entry: Config, _: Version) -> Iterator[Broken]:
    if problem := _path(entry.get("device", "")):
        yield ("device",), problem


def _user(entry: Config, _: Version) -> Iterator[Broken]:
    if "create" in entry and ("uid" in entry or any(map(entry.get, _NOT_BESIDE_CREATE))):
        yield ("create",), "`create` beside fields that replace it"


#: By the name of the section's type.
RULES_2: Mapping[str, Rule] = {
    **{name: RULES[name] for name in ("Unit", "Dropin", "NodeUser", "Verification")},
    "File": _file,
    "Directory": _node,
    "Link": _node,
    "Contents": _reference,
    "Reference": _reference,
    "Filesystem": _filesystem,
    "Mount": _mount,
    "Raid": _raid,
    "Disk": _disk,
    "PasswdUser": _user,
}
