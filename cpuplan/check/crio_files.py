"""CRI-O's files as the daemon takes them: what it refuses, leaves out, passes over, and traps."""

from collections.abc import Iterator, Mapping
from typing import Any

from cpuplan import toml
from cpuplan.check.lines import line_with
from cpuplan.check.root import Root
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.runtime import annotations
from cpuplan.runtime.configuration import traps
from cpuplan.runtime.configuration.defaults import RUNTIME
from cpuplan.runtime.configuration.keys import LATEST
from cpuplan.runtime.configuration.reading import (
    DROP_INS,
    MAIN,
    File,
    RefusedError,
    decode,
    of_release,
    order,
)
from cpuplan.runtime.configuration.validating import Loaded, Machine, load
from cpuplan.source import Position
from cpuplan.versions import Version, to_text

#: Where CRI-O has them on a node.
FOLDER = "etc/crio"
#: What irqbalance of Debian reads.
_DEBIAN = "etc/default/irqbalance"


def findings(root: Root, folder: str, release: Version = LATEST) -> Iterator[Diagnostic]:
    """CP847 to CP850 for the files of a folder like /etc/crio, as a release of CRI-O reads them."""
    prefix = f"{folder}/" if folder else ""
    texts = _texts(root, prefix)
    try:
        read = {path: decode(path, texts[path]) for path in order(texts)}
        files = {path: of_release(file, release) for path, file in read.items()}
        loaded = load(files, Machine(release=release))
    except RefusedError as error:
        yield diagnose("CP847", _of(error, texts, root, prefix), problem=str(error))
        return
    for code, path, word, values in _all(files, loaded, release):
        place = line_with(texts.get(path, ""), root.shown(prefix + path), word)
        yield diagnose(code, place, **values)


def irqbalance(root: Root) -> Iterator[Diagnostic]:
    """CP850 where the system's irqbalance reads another file than the one that CRI-O writes.

    CRI-O writes it for pods that ask for CPUs without interrupts, which a handler must allow.
    """
    texts = _texts(root, f"{FOLDER}/")
    try:
        loaded = load({path: decode(path, texts[path]) for path in order(texts)})
    except RefusedError:
        return  # CP847 says so
    usual = RUNTIME["irqbalance_config_file"]
    is_usual = loaded.runtime["irqbalance_config_file"] == usual
    is_read = root.is_file(usual.lstrip("/")) or not root.is_file(_DEBIAN)
    if is_usual and not is_read and _allow_irqs(loaded):
        problem = f"CRI-O bans interrupts in {usual}, and irqbalance reads /{_DEBIAN}"
        remedy = f'write irqbalance_config_file = "/{_DEBIAN}" in [crio.runtime]'
        yield diagnose("CP850", Position(root.shown(_DEBIAN), 1, 1), problem=problem, remedy=remedy)


def are_readable(root: Root) -> bool:
    """Whether all files of a node are TOML; which one is not is CP831."""
    drop_ins = [root.read(path) for path in root.files(f"{FOLDER}/{DROP_INS}")]
    if None in drop_ins or root.refused:
        return False
    try:
        for text in (*drop_ins, root.read(f"{FOLDER}/{MAIN}")):
            toml.load(text or "")
    except (ValueError, RecursionError):
        return False
    return True


def _texts(root: Root, prefix: str) -> dict[str, str]:
    """The main file and all drop-ins, by their paths below CRI-O's folder."""
    paths = [f"{prefix}{MAIN}"] if root.is_file(f"{prefix}{MAIN}") else []
    paths += root.files(f"{prefix}{DROP_INS}")
    return {path.removeprefix(prefix): root.read(path) or "" for path in paths}


def _allow_irqs(loaded: Loaded) -> bool:
    """Whether pods of a handler or workload may ask for CPUs without interrupts."""
    tables = (*loaded.handlers.values(), *loaded.workloads.values())
    return any(annotations.IRQ in table.get("allowed_annotations", ()) for table in tables)


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
        yield "CP850", trap.path, trap.key, {"problem": trap.problem, "remedy": trap.remedy}


def _of(error: RefusedError, texts: Mapping[str, str], root: Root, prefix: str) -> Position:
    """The last line that has a key of the error, in its file or in any."""
    paths = [error.path] if error.path else list(reversed(order(texts)))
    named = (word for word in str(error).split() if "_" in word or word.startswith("crio."))
    words = [word.rpartition(".")[2].strip(":") for word in named]
    for path in paths:
        for word in words:
            if word in texts[path].lower():
                return line_with(texts[path], root.shown(prefix + path), word)
    return Position(root.shown(prefix + (paths[0] if paths else MAIN)), 1, 1)


def _has(file: File, handler: str) -> bool:
    return handler in file.tables.get("runtime", {}).get("runtimes", {})
