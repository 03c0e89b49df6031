"""Units as systemd knows them: its unit files and their lines, and what `systemctl show` says.

systemd.unit(5) says which file counts, and which drop-ins, masks and links; systemd.syntax(7) how
lines are read.
"""

import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple, Protocol

from cpuplan.base import nodetext
from cpuplan.base.cpuset import EMPTY, CpuSet, CpuSetError

#: Of the snapshot; of a sosreport.
SHOWN_PATHS = (
    "cpuplan/systemctl-show",
    "sos_commands/systemd/systemctl_show_--all",
    "sos_commands/systemd/systemctl_show_service_--all",
)
_COMMAND = ("systemctl", "show", "--no-pager")
_SECONDS = 5

#: Properties by name.
Unit = Mapping[str, str]


class ShownFiles(Protocol):
    """Access to the node's files."""

    def read(self, path: str) -> str | None: ...


def parse_shown(text: str) -> dict[str, Unit]:
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


def captured_units(files: ShownFiles) -> tuple[str, dict[str, Unit]]:
    """The file of a captured output and its units; "" and none where there is no such file."""
    for path in SHOWN_PATHS:
        text = files.read(path)
        if text is not None:
            return path, parse_shown(text)
    return "", {}


def ask_systemd(units: Iterable[str]) -> dict[str, Unit]:
    """The units as systemd of this machine shows them; none where it does not answer in time."""
    with suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(
            [*_COMMAND, *units], capture_output=True, text=True, timeout=_SECONDS, check=False
        )
        return parse_shown(done.stdout)
    return {}


def unit_problem(unit: Unit) -> str:
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


class Line(NamedTuple):
    """An assignment: its section, key and value, the file, and its first line there."""

    section: str
    key: str
    value: str
    path: str
    number: int


def unit_lines(text: str, path: str) -> Iterator[Line]:
    """The assignments of a file in their order; a backslash at the end continues a line."""
    section, begun, start = "", "", 0
    # The end of a file ends a line that a backslash would continue, as an empty line does.
    for number, raw in enumerate([*nodetext.lines(text), ""], start=1):
        line = raw.strip()
        if line.startswith(("#", ";")) or not (line or begun):
            continue
        start = start if begun else number
        if raw.endswith("\\"):
            begun += raw[:-1].strip() + " "
            continue
        line, begun = begun + line, ""
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1]
        elif "=" in line:
            key, _, value = line.partition("=")
            yield Line(section, key.strip(), value.strip(), path, start)


def last_line(lines: Iterable[Line], key: str) -> Line | None:
    """The assignment of a key that holds: the last; none where that one is empty."""
    line = None
    for candidate in lines:
        if candidate.key == key:
            line = candidate if candidate.value else None
    return line


def added_lines(lines: Iterable[Line], key: str) -> list[Line]:
    """The assignments of a key whose values add up: those after the last empty one."""
    kept: list[Line] = []
    for line in lines:
        if line.key == key:
            if not line.value:
                kept = []
            else:
                kept.append(line)
    return kept


def cpus_of_lines(values: Iterable[Line]) -> CpuSet:
    """The CPUs of lines that add up, as systemd reads them; what it ignores is left out."""
    total = EMPTY
    for line in values:
        try:
            total = total | CpuSet.parse_kernel(line.value)
        except CpuSetError:
            continue
    return total


def is_on(line: Line | None) -> bool:
    """Whether a switch is on (systemd.syntax(7))."""
    return line is not None and line.value.lower() in ("1", "yes", "y", "true", "t", "on")


#: In the order of their strength: a file hides those of the same name in later folders.
FOLDERS = (
    "etc/systemd/system.control",
    "run/systemd/system.control",
    "run/systemd/transient",
    "run/systemd/generator.early",
    "etc/systemd/system",
    "etc/systemd/system.attached",
    "run/systemd/system",
    "run/systemd/system.attached",
    "run/systemd/generator",
    "usr/local/lib/systemd/system",
    "usr/lib/systemd/system",
    "lib/systemd/system",
    "run/systemd/generator.late",
)
#: Of these, the ones of the administrator and of programs while the node runs, not of packages.
OWN = FOLDERS[:9]
TYPES = (".service", ".slice", ".scope", ".socket", ".timer", ".target", ".mount", ".path")
_NOWHERE = "/dev/null"
_STARTS = (".wants", ".requires", ".upholds")


class Files(Protocol):
    """Access to the node's files."""

    def read(self, path: str) -> str | None: ...
    def names(self, path: str) -> list[str]: ...
    def link(self, path: str) -> str | None: ...


class UnitFiles(NamedTuple):
    """The unit files of a node."""

    files: Files
    #: The names in each folder that exists, in the order of `FOLDERS`.
    folders: dict[str, frozenset[str]]

    def fragment(self, unit: str) -> str | None:
        """The file of a unit, or of its template; None where there is none."""
        for name in _names(unit):
            for folder, names in self.folders.items():
                if name in names:
                    return f"{folder}/{name}"
        return None

    def mask(self, unit: str) -> str | None:
        """The link to /dev/null, or the empty file, by which a unit is masked."""
        path = self.fragment(unit)
        if path is None:
            return None
        target = self.files.link(path)
        if target is not None:
            return path if target == _NOWHERE else None
        return path if self.files.read(path) == "" else None

    def drop_ins(self, unit: str) -> list[str]:
        """The drop-ins of a unit in the order in which they count: that of their names."""
        by_name: dict[str, str] = {}
        for name in (*_names(unit), *_prefixes(unit), unit.rpartition(".")[2]):
            for folder, names in self.folders.items():
                if f"{name}.d" in names:
                    path = f"{folder}/{name}.d"
                    configs = (
                        file_name
                        for file_name in self.files.names(path)
                        if file_name.endswith(".conf")
                    )
                    for drop_in in configs:
                        by_name.setdefault(drop_in, f"{path}/{drop_in}")
        paths = (path for _, path in sorted(by_name.items()))
        return [path for path in paths if self.files.link(path) != _NOWHERE]

    def lines(self, unit: str) -> list[Line]:
        """All that the files of a unit say, in the order in which it counts."""
        fragment = None if self.mask(unit) else self.fragment(unit)
        paths = [fragment, *self.drop_ins(unit)] if fragment else self.drop_ins(unit)
        texts = ((path, self.files.read(path) or "") for path in paths)
        return [line for path, text in texts for line in unit_lines(text, path)]

    def starters(self, unit: str) -> Iterator[str]:
        """The links by which other units want or require a unit."""
        for folder, names in self.folders.items():
            for name in sorted(names):
                if name.endswith(_STARTS) and unit in self.files.names(f"{folder}/{name}"):
                    yield f"{folder}/{name}/{unit}"

    def has_links(self) -> bool:
        """Whether there are links that start units at all: a copy of files may lack them."""
        return any(name.endswith(_STARTS) for names in self.folders.values() for name in names)

    def units(self) -> list[str]:
        """The units that have a file or a drop-in of their own, without instances of templates."""
        names_of_units = {
            name.removesuffix(".d") for names in self.folders.values() for name in names
        }
        return sorted(name for name in names_of_units if name.endswith(TYPES))


def unit_files_of(files: Files) -> UnitFiles:
    """The unit files of a node."""
    folders = {folder: frozenset(files.names(folder)) for folder in FOLDERS}
    return UnitFiles(files, {folder: names for folder, names in folders.items() if names})


def _names(unit: str) -> tuple[str, ...]:
    """The names under which the files of a unit are looked for: its own, and its template's."""
    stem, _, kind = unit.rpartition(".")
    prefix, at, instance = stem.partition("@")
    return (unit, f"{prefix}@.{kind}") if at and instance else (unit,)


def _prefixes(unit: str) -> Iterator[str]:
    """`a-b-.slice` and `a-.slice` of `a-b-c.slice`, whose drop-ins count for all that begins so."""
    stem, _, kind = unit.rpartition(".")
    while "-" in stem.rstrip("-"):
        stem = stem.rstrip("-").rpartition("-")[0]
        yield f"{stem}-.{kind}"


def masked_at_boot(line: str) -> frozenset[str]:
    """The units that the kernel's command line masks (systemd-debug-generator(8))."""
    words = (word.partition("=") for word in line.split())
    names = (name for key, _, name in words if key == "systemd.mask" and name)
    return frozenset(name if name.endswith(TYPES) else f"{name}.service" for name in names)
