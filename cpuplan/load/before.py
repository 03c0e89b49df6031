"""What was compiled before: the classes of `out/`, with their nodes, pools and settings."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cpuplan import apiversion
from cpuplan.diagnostics import CpuplanError, diagnose
from cpuplan.files import Unreadable, list_files, read_regular
from cpuplan.load.files import refusal
from cpuplan.source import Position

#: Below `out/`: a file for each class, `<cluster>/<class>.json`, so that merges of unlike classes touch unlike files.
CLASSES = ".cpuplan/classes"
#: The files of `out/` that cpuplan owns, a path a line.
MANIFEST = ".cpuplan/manifest"

#: Of these files.
VERSION = 2

#: The classes by (cluster, class), each as `backends.planfile` wrote it.
Before = dict[tuple[str, str], dict[str, Any]]


def read(out: Path) -> Before:
    """The classes of the plan in `out`; what is damaged is left out, for the next compilation writes it anew.

    Raises CpuplanError for one that a later cpuplan wrote (CP139), and for what may not be read: it may be a class that
    is about to vanish.
    """
    found: Before = {}
    listed = list_files(out / CLASSES, within=out, suffixes=(".json",))
    if listed.problems:
        raise CpuplanError(refusal(str(path), error) for path, error in listed.problems)
    for path in listed.files:
        if path.parents[1] == out / CLASSES and (each := _class(path)) is not None:
            found[each["cluster"], each["class"]] = each
    return found


def _class(path: Path) -> dict[str, Any] | None:
    try:
        data = json.loads(read_regular(path))
    except Unreadable as error:
        raise CpuplanError([refusal(str(path), error)]) from None
    except (ValueError, RecursionError):
        return None
    if isinstance(data, dict) and apiversion.is_later_number(found := data.get("version"), VERSION):
        place = Position(str(path), 1, 1)
        raise CpuplanError([diagnose("CP139", place, what="a class in out/", found=found, expected=VERSION)])
    if not isinstance(data, dict) or (data.get("cluster"), data.get("class")) != (path.parent.name, path.stem):
        return None
    return data


def members(before: Before) -> dict[tuple[str, str], list[str]]:
    """The nodes of each class."""
    return {key: nodes(each) for key, each in before.items()}


def nodes(compiled: dict[str, Any]) -> list[str]:
    """The nodes of one class."""
    return list(_texts(compiled.get("nodes")))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, str))
