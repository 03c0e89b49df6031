"""The rendered MachineConfig that the machine config daemon keeps on its node's disk.

What it has was delivered; what a file has instead was changed afterwards. What it lacks never
arrived: the pool has not rendered it yet, or is paused, or another MachineConfig overrides it.
"""

import json
from typing import Any, NamedTuple

from cpuplan.check.subject import Subject
from cpuplan.components.units import UNIT_FOLDER
from cpuplan.upstream.mco.common import McoError
from cpuplan.upstream.mco.ignition.url import contents

#: pkg/daemon/constants/constants.go: CurrentConfigPath.
PATH = "etc/machine-config-daemon/currentconfig"
_CACHE = "rendered MachineConfig"


class Rendered(NamedTuple):
    """A rendered MachineConfig: its name, kernel arguments, and files and units by path."""

    name: str
    arguments: tuple[str, ...]
    files: dict[str, str]


def rendered(subject: Subject) -> Rendered | None:
    """That of the node; None where there is none that can be read."""
    if _CACHE not in subject.cache:
        subject.cache[_CACHE] = _read(subject)
    found: Rendered | None = subject.cache[_CACHE]
    return found


def _read(subject: Subject) -> Rendered | None:
    text = subject.root.read(PATH)
    if text is None:
        return None
    try:
        return parse(text)
    except (ValueError, McoError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def parse(text: str) -> Rendered:
    """The object of a text. Raises ValueError, McoError, KeyError, TypeError or AttributeError."""
    data = json.loads(text)
    config = data["spec"]["config"]
    files = {path: data.decode("utf-8", "replace") for path, data in contents(config).items()}
    units = config.get("systemd", {}).get("units") or []
    for unit in units:
        files |= _unit(unit)
    arguments = data["spec"].get("kernelArguments") or []
    return Rendered(str(data["metadata"]["name"]), tuple(map(str, arguments)), files)


def _unit(unit: dict[str, Any]) -> dict[str, str]:
    """The file of a unit and its drop-ins; of a masked one none."""
    path = f"{UNIT_FOLDER}/{unit['name']}"
    files = {path: str(unit["contents"])} if unit.get("contents") else {}
    for drop_in in unit.get("dropins") or ():
        files[f"{path}.d/{drop_in['name']}"] = str(drop_in.get("contents") or "")
    return files
