"""What systemd says of its units: the output of `systemctl show`, captured or asked for."""

import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Protocol

from cpuplan.base import nodetext

#: Of the snapshot; of a sosreport.
PATHS = (
    "cpuplan/systemctl-show",
    "sos_commands/systemd/systemctl_show_--all",
    "sos_commands/systemd/systemctl_show_service_--all",
)
_COMMAND = ("systemctl", "show", "--no-pager")
_SECONDS = 5

#: Properties by name.
Unit = Mapping[str, str]


class Files(Protocol):
    """Access to the node's files."""

    def read(self, path: str) -> str | None: ...


def parse(text: str) -> dict[str, Unit]:
    """The units of an output by name: blocks of `Name=value`, each with an `Id`."""
    units: dict[str, Unit] = {}
    for block in _blocks(text):
        name = block.get("Id")
        if name:
            units[name] = block
    return units


def _blocks(text: str) -> Iterator[dict[str, str]]:
    block: dict[str, str] = {}
    for line in nodetext.lines(text):
        key, equals, value = line.partition("=")
        if equals and key.isalnum():
            block[key] = value
        elif not line.strip():
            yield block
            block = {}
    yield block


def captured(files: Files) -> tuple[str, dict[str, Unit]]:
    """The file of a captured output and its units; "" and none where there is no such file."""
    for path in PATHS:
        text = files.read(path)
        if text is not None:
            return path, parse(text)
    return "", {}


def ask(units: Iterable[str]) -> dict[str, Unit]:
    """The units as systemd of this machine shows them; none where it does not answer in time."""
    with suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(
            [*_COMMAND, *units], capture_output=True, text=True, timeout=_SECONDS, check=False
        )
        return parse(done.stdout)
    return {}


def problem(unit: Unit) -> str:
    """What is wrong with a unit that was to run, in systemd's own words; "" where nothing is."""
    state, result = unit.get("ActiveState", ""), unit.get("Result", "success")
    if unit.get("LoadState") in ("masked", "not-found", "bad-setting", "error"):
        return f"systemd shows it as {unit['LoadState']}"
    if result not in ("success", "") or state == "failed":
        status = unit.get("ExecMainStatus", "0")
        ended = f", status {status}" if status not in ("0", "") else ""
        return f"it failed: {result}{ended}"
    if state == "inactive" and _never_ran(unit) and not _was_passed_over(unit):
        return "it has not run since the node booted"
    return ""


def _was_passed_over(unit: Unit) -> bool:
    """Whether a condition of its file was not met, as is meant on some nodes."""
    times = unit.get("ConditionTimestampMonotonic", "0")
    return unit.get("ConditionResult") == "no" and times != "0"


def _never_ran(unit: Unit) -> bool:
    times = ("InactiveExitTimestampMonotonic", "ExecMainStartTimestampMonotonic")
    known = [unit[time] for time in times if time in unit]
    return bool(known) and set(known) == {"0"}
