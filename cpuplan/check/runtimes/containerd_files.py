"""containerd's files as the daemon takes them: what it refuses, loses or passes over, and traps."""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from cpuplan.check.subject import line_with
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Position
from cpuplan.facts.versions import Version, to_text
from cpuplan.upstream.containerd import cri, traps
from cpuplan.upstream.containerd.config import Loaded, RefusedError, load
from cpuplan.upstream.containerd.cri_config import unknown
from cpuplan.upstream.kubernetes.errors import Trap

_TRAPS: Mapping[object, str] = {
    traps.Kind.REPLACED_TABLE: "CP8329",
    traps.Kind.KEY_OF_A_TABLE: "CP8330",
    traps.Kind.RELATIVE_PATTERN: "CP8331",
    traps.Kind.NOT_IMPORTED: "CP8332",
    traps.Kind.HIGHER_VERSION: "CP8333",
    traps.Kind.OTHER_VERSION: "CP8334",
    traps.Kind.WITHOUT_SHIM: "CP8335",
    traps.Kind.CGROUP_DRIVER: "CP8336",
    traps.Kind.WRONG_TYPE: "CP8337",
    traps.Kind.REQUIRED_PLUGINS: "CP8338",
}


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
    """What containerd makes of config.toml and its imports; `driver` is the kubelet's.

    CP844, CP851, CP853, CP854, and CP8329 to CP8338.
    """
    try:
        loaded = load(main, release, files.read, files.names)
    except RefusedError as error:
        place = files.place(error.path, str(error).partition(" ")[0])
        yield diagnose("CP844", place, path=place.path, problem=str(error))
        return
    yield from of_loaded(files, loaded, release, driver)


def of_loaded(files: Files, loaded: Loaded, release: Version, driver: str) -> Iterator[Diagnostic]:
    """CP851, CP853, CP854, and CP8329 to CP8338."""
    refusals = list(cri.refusals(loaded, release))
    for trap in refusals:
        yield _diagnosed("CP851", trap, files)
    for path, tables in loaded.files.items():
        for way in unknown(tables, release):
            is_of_plugin = way[:1] == ("plugins",) and len(way) > 2
            if not (is_of_plugin and traps.is_passed_over(path, way[1], loaded, release)):
                place = files.place(path, way[-1])
                yield diagnose("CP854", place, key=".".join(way), version=to_text(release))
    for trap in traps.find_in_files(loaded, release, files.names):
        yield _diagnosed(_TRAPS[trap.kind], trap, files)
    if not refusals:
        for trap in traps.find_in_handlers(loaded, release, driver):
            yield _diagnosed(_TRAPS[trap.kind], trap, files)
        for trap in traps.switched_off(loaded, release):
            yield _diagnosed("CP853", trap, files)


def _diagnosed(code: str, trap: Trap, files: Files) -> Diagnostic:
    place = files.place(trap.path, trap.key)
    return diagnose(code, place, problem=trap.problem, remedy=trap.remedy)
