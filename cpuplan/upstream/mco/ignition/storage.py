"""Rules of an Ignition config's storage."""

import re
from collections.abc import Iterable, Iterator, Set
from itertools import pairwise

from cpuplan.upstream.mco.ignition.paths import Broken, clean, problem_of_path
from cpuplan.upstream.mco.ignition.schema import Config, Version

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
