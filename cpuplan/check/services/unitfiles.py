"""Unit files as systemd finds them (systemd.unit(5)): which file counts, drop-ins, masks, links."""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from cpuplan.check.services.unitlines import Line, lines

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
                    found = (each for each in self.files.names(path) if each.endswith(".conf"))
                    for each in found:
                        by_name.setdefault(each, f"{path}/{each}")
        paths = (path for _, path in sorted(by_name.items()))
        return [path for path in paths if self.files.link(path) != _NOWHERE]

    def lines(self, unit: str) -> list[Line]:
        """All that the files of a unit say, in the order in which it counts."""
        fragment = None if self.mask(unit) else self.fragment(unit)
        paths = [fragment, *self.drop_ins(unit)] if fragment else self.drop_ins(unit)
        texts = ((path, self.files.read(path) or "") for path in paths)
        return [line for path, text in texts for line in lines(text, path)]

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
        found = {name.removesuffix(".d") for names in self.folders.values() for name in names}
        return sorted(name for name in found if name.endswith(TYPES))


def of(files: Files) -> UnitFiles:
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
