"""containerd's files as the daemon takes them: what it refuses, loses or passes over, and traps."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from cpuplan.check.subject import line_with
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Position
from cpuplan.facts.versions import Version, to_text
from cpuplan.upstream.containerd import cri, traps
from cpuplan.upstream.containerd.config import Loaded, RefusedError, load
from cpuplan.upstream.containerd.cri_config import unknown
from cpuplan.upstream.kubernetes.errors import Trap


class Files(NamedTuple):
    """Access to files by their paths on the node: texts, names in a folder, and paths as shown."""

    read: Callable[[str], str | None]
    names: Callable[[str], list[str]]
    shown: Callable[[str], str]

    def place(self, path: str, word: str) -> Position:
        """The line of a file with a word."""
        return line_with(self.read(path) or "", self.shown(path), word)


def findings(
    files: Files, main: str, release: Version, driver: str = "systemd"
) -> Iterator[Diagnostic]:
    """CP844, and CP851 to CP854, of config.toml and its imports; `driver` is the kubelet's."""
    try:
        loaded = load(main, release, files.read, files.names)
    except RefusedError as error:
        place = files.place(error.path, str(error).partition(" ")[0])
        yield diagnose("CP844", place, path=place.path, problem=str(error))
        return
    yield from of_loaded(files, loaded, release, driver)


def of_loaded(files: Files, loaded: Loaded, release: Version, driver: str) -> Iterator[Diagnostic]:
    """CP851 to CP854."""
    refusals = list(cri.refusals(loaded, release))
    for trap in refusals:
        yield _found("CP851", trap, files)
    for path, tables in loaded.files.items():
        for way in unknown(tables, release):
            is_of_plugin = way[:1] == ("plugins",) and len(way) > 2
            if not (is_of_plugin and traps.is_passed_over(path, way[1], loaded, release)):
                place = files.place(path, way[-1])
                yield diagnose("CP854", place, key=".".join(way), version=to_text(release))
    for trap in traps.find_in_files(loaded, release, files.names):
        yield _found("CP852", trap, files)
    if not refusals:
        for trap in traps.find_in_handlers(loaded, release, driver):
            yield _found("CP852", trap, files)
        for trap in traps.switched_off(loaded, release):
            yield _found("CP853", trap, files)


def _found(code: str, trap: Trap, files: Files) -> Diagnostic:
    place = files.place(trap.path, trap.key)
    return diagnose(code, place, problem=trap.problem, remedy=trap.remedy)
