"""CRI-O's files as the daemon takes them: what it refuses, leaves out, passes over, and traps."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from cpuplan.base import foreign
from cpuplan.check.roots.root import Root
from cpuplan.check.subject import Subject, line_with
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Position
from cpuplan.facts.settings.crio import ALLOWED_ANNOTATIONS, IRQBALANCE_CONFIG_FILE
from cpuplan.facts.versions import Version, to_text
from cpuplan.upstream.crio import releases, traps
from cpuplan.upstream.crio.config import (
    DROP_INS,
    MAIN,
    RUNTIME,
    File,
    Loaded,
    Machine,
    RefusedError,
    decode,
    load,
    of_release,
    order,
)
from cpuplan.upstream.crio.config_keys import LATEST

#: Where CRI-O has them on a node.
FOLDER = "etc/crio"
#: What irqbalance of Debian reads.
_DEBIAN = "etc/default/irqbalance"
_NO_FLAGS = File({}, ())
_TRAPS: Mapping[object, str] = {
    traps.Kind.LEFT_OVER: "CP8320",
    traps.Kind.REPLACED_TABLE: "CP8321",
    traps.Kind.UNREADABLE_SHARED_CPUS: "CP8322",
    traps.Kind.COMMON_CPUS: "CP8323",
    traps.Kind.WITHOUT_RESOURCES: "CP8324",
    traps.Kind.WITHOUT_PREFIX: "CP8325",
    traps.Kind.COMMON_ANNOTATION: "CP8326",
    traps.Kind.NAME_OF_HANDLER: "CP8327",
}


class Files(NamedTuple):
    """Texts by their paths below CRI-O's folder, these paths as shown, and what flags say."""

    texts: Mapping[str, str]
    shown: Mapping[str, str]
    flags: File = _NO_FLAGS

    def place(self, path: str, word: str) -> Position:
        """The line of a file with a word; the beginning of the main file for flags."""
        where = self.shown.get(path) or self.shown.get(MAIN) or next(iter(self.shown.values()))
        return line_with(self.texts.get(path, ""), where, word)


def findings(root: Root, folder: str, version: Version = LATEST) -> Iterator[Diagnostic]:
    """What a release of CRI-O makes of a folder like /etc/crio: CP847 to 849, CP8320 to 8327."""
    prefix = f"{folder}/" if folder else ""
    paths = [f"{prefix}{MAIN}"] if root.is_file(f"{prefix}{MAIN}") else []
    paths += root.files(f"{prefix}{DROP_INS}")
    files = read(root, {path.removeprefix(prefix): path for path in paths})
    shown = {MAIN: root.shown(prefix + MAIN), **files.shown}
    yield from of_files(files._replace(shown=shown), Machine(release=version))


def read(root: Root, paths: Mapping[str, str], flags: File = _NO_FLAGS) -> Files:
    """Files of a node by the paths that they have below /etc/crio, of those below its root."""
    texts = {name: root.read(path) or "" for name, path in paths.items()}
    return Files(texts, {name: root.shown(path) for name, path in paths.items()}, flags)


def release(subject: Subject) -> Version:
    """That of CRI-O, as the target says: its minor versions are those of Kubernetes."""
    return subject.expected.release.kubernetes or LATEST


def of_files(given: Files, machine: Machine) -> Iterator[Diagnostic]:
    """CP847 to CP849, and CP8320 to CP8327."""
    try:
        files = decoded(given, machine.release)
        loaded = load(files, machine)
    except RefusedError as error:
        yield diagnose("CP847", _of(error, given), problem=str(error))
        return
    for code, path, word, values in _all(files, loaded, machine.release):
        yield diagnose(code, given.place(path, word), **values)


def decoded(given: Files, version: Version) -> dict[str, File]:
    """The files in their order, then the flags, as a release takes them. RefusedError."""
    files = {path: decode(path, given.texts[path]) for path in order(given.texts)}
    known = {path: of_release(file, version) for path, file in files.items()}
    return {**known, "": given.flags} if given.flags.tables else known


def irqbalance(root: Root, given: Files) -> Iterator[Diagnostic]:
    """CP8328 where the system's irqbalance reads another file than the one that CRI-O writes.

    CRI-O writes it for pods that ask for CPUs without interrupts, which a handler must allow.
    """
    try:
        loaded = load(decoded(given, LATEST))
    except RefusedError:
        return  # CP847 says so
    usual = RUNTIME[IRQBALANCE_CONFIG_FILE.key]
    is_usual = loaded.runtime[IRQBALANCE_CONFIG_FILE.key] == usual
    is_read = root.is_file(usual.lstrip("/")) or not root.is_file(_DEBIAN)
    if is_usual and not is_read and _allow_irqs(loaded):
        place = Position(root.shown(_DEBIAN), 1, 1)
        yield diagnose("CP8328", place, written=usual, read=f"/{_DEBIAN}")


def are_toml(texts: Iterable[str]) -> bool:
    """Whether all files of a node are TOML; which one is not is CP831."""
    try:
        for text in texts:
            foreign.read_toml(text)
    except (ValueError, RecursionError):
        return False
    return True


def _allow_irqs(loaded: Loaded) -> bool:
    """Whether pods of a handler or workload may ask for CPUs without interrupts."""
    tables = (*loaded.handlers.values(), *loaded.workloads.values())
    return any(releases.IRQ in table.get(ALLOWED_ANNOTATIONS.last, ()) for table in tables)


def _all(
    files: Mapping[str, File], loaded: Loaded, release: Version
) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """(code, file, word of its line, values of the message)."""
    for name, reason in loaded.dropped.items():
        path = next((path for path in reversed(list(files)) if _has(files[path], name)), "")
        yield "CP848", path, name, {"handler": name, "problem": reason}
    for path, file in files.items():
        for key in file.unknown:
            values = {"key": key, "version": to_text(release)}
            yield "CP849", path, key.rpartition(".")[2], values
    for trap in traps.find(files, loaded):
        yield _TRAPS[trap.kind], trap.path, trap.key, {"problem": trap.problem}


def _of(error: RefusedError, given: Files) -> Position:
    """The last line that has a key of the error, in its file or in any."""
    paths = [error.path] if error.path else list(reversed(order(given.texts)))
    named = (word for word in str(error).split() if "_" in word or word.startswith("crio."))
    words = [word.rpartition(".")[2].strip(":") for word in named]
    for path in paths:
        for word in words:
            if word in given.texts[path].lower():
                return given.place(path, word)
    return given.place(paths[0] if paths else MAIN, "")


def _has(file: File, handler: str) -> bool:
    return handler in file.tables.get("runtime", {}).get("runtimes", {})
