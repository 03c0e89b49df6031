"""Write the output folder and single files, completely or not at all."""

import errno
import fcntl
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from cpuplan.base.files import Unreadable, read_regular
from cpuplan.base.progress import stage
from cpuplan.diagnostics import CpuplanError, Diagnostic, diagnose
from cpuplan.language.read.files import LOCK_PATH, Inputs, refusal
from cpuplan.plan import NO_CLASSES, Classes
from cpuplan.write import emitted
from cpuplan.write.compare import Changes, compare, describe
from cpuplan.write.exchange import Beside, recover, replace
from cpuplan.write.manifest import check_manifests
from cpuplan.write.tree import FILE, FOLDER, create, in_the_way, look, read, stage_of, sync_folder

__all__ = [
    "Changes",
    "Locked",
    "check_tree",
    "compare_tree",
    "write_compiled",
    "write_file",
    "write_tree",
]

#: How often a run starts again because cpuplan's own files were changed under it.
ATTEMPTS = 5
#: Checks files before they are written.
Inspect = Callable[[Mapping[str, bytes]], list[Diagnostic]]


class Locked(CpuplanError):  # noqa: N818 - what is the case, not what went wrong
    """Another run is writing in the same place (CP606)."""


@stage("writing out/")
def write_tree(
    out: Path,
    files: Mapping[str, bytes],
    *,
    force: bool = False,
    beside: Beside | None = None,
    inspect: Inspect = lambda _files: [],
    written: bytes | None = None,
    classes: Classes = NO_CLASSES,
) -> Changes:
    """Make the folder `out` hold `files`, beside whatever else is in it.

    `force` drops edits of cpuplan's own files. For `written` and `classes` see `compare`.

    The file `beside` is written with the tree: if a run is killed between the two, the next run
    finishes it.

    The old tree is replaced in one step: every reader, at any time, also after a kill, sees either
    all of the old tree or all of the new. Raises CpuplanError (CP601 to CP607, and the results of
    `inspect` for new and changed files) with the old tree in place; `Locked` if another run writes.
    """
    place = _place(out)
    with _reporting(out):
        os.makedirs(place.parent, exist_ok=True)
        with _lock(place.parent, shown=out):
            recover(place)
            for _ in range(ATTEMPTS):
                comparison = compare(out, files, classes, written)
                blocked = comparison.blocked if force else comparison.edited | comparison.blocked
                if blocked:
                    raise CpuplanError(blocked[path] for path in sorted(blocked))
                problems = inspect(comparison.write)
                if problems:
                    raise CpuplanError(problems)
                if comparison.is_empty:
                    break
                if replace(place, comparison, beside):
                    return comparison.changes
            else:
                raise CpuplanError([diagnose("CP607", path=out, problem="its files keep changing")])
    if beside:
        write_file(place.parent / beside.path, beside.data.decode())
    return comparison.changes


def finish(out: Path) -> None:
    """Finish or undo what a killed run left beside `out`. Raises CpuplanError as `write_tree`."""
    place = _place(out)
    if look(stage_of(place).folder) is None:
        return
    with _reporting(out), _lock(place.parent, shown=out):
        recover(place)


@stage("writing out/")
def write_compiled(
    out: Path,
    files: Mapping[str, bytes],
    classes: Classes,
    written: bytes,
    read: Inputs,
    lock: str,
    *,
    force: bool,
) -> Changes:
    """Write the folder `out` and its lock, if the lock is still as it was `read`.

    For `written` and `classes` see `compare`.

    Raises CpuplanError as `write_tree`, CP570 and CP611.
    """
    path = read.root / LOCK_PATH
    with _reporting(path):
        if _content(read.root) != read.lock:
            raise CpuplanError([diagnose("CP611", path=LOCK_PATH)])
    data = lock.encode()
    # Git may have made the line ends of a checkout.
    beside = Beside(LOCK_PATH, data) if (read.lock or b"").replace(b"\r\n", b"\n") != data else None
    return write_tree(
        out,
        files,
        force=force,
        beside=beside,
        inspect=emitted.check,
        written=written,
        classes=classes,
    )


def _content(root: Path) -> bytes | None:
    """The lock as it is now. Raises CpuplanError if it is not a file of the project."""
    try:
        return read_regular(root / LOCK_PATH, within=root)
    except Unreadable as error:
        if error.errno == errno.ENOENT:
            return None
        raise CpuplanError([refusal(LOCK_PATH, error)]) from error


@stage("comparing out/")
def compare_tree(
    out: Path,
    files: Mapping[str, bytes],
    written: bytes | None = None,
    classes: Classes = NO_CLASSES,
) -> tuple[Changes, list[Diagnostic]]:
    """What `write_tree` would do, and a diagnostic for each path that it would change.

    For `written` and `classes` see `compare`.

    Raises CpuplanError if the folder cannot be compared at all (CP601, CP604, CP605, CP607).
    """
    _place(out)
    with _reporting(out):
        refused = in_the_way(stage_of(out))
        comparison = compare(out, files, classes, written)
    others = [refused] if refused else []
    return comparison.changes, [*others, *describe(out, comparison)]


def check_tree(out: Path) -> tuple[Diagnostic, ...]:
    """Why the folder `out` cannot be compared (CP601, CP604, CP607) or written (CP602).

    Reads no file but the manifests.
    """
    try:
        with _reporting(out):
            entry = look(out)
            if entry is not None and entry.kind != FOLDER:
                raise CpuplanError([diagnose("CP601", path=out, kind=entry.kind, wanted=FOLDER)])
            check_manifests(out)
            refused = in_the_way(stage_of(out))
    except CpuplanError as error:
        return error.diagnostics
    return (refused,) if refused else ()


def write_file(path: Path, content: str | bytes) -> None:
    """Write one file, text in UTF-8, completely or not at all, unless it holds that already.

    The mode of an existing file is kept. Raises CpuplanError: CP601 for a link or folder, CP607.
    Waits for another run that is writing in the same folder, so it must not be called while this
    process holds that lock.
    """
    data = content.encode() if isinstance(content, str) else content
    stage = stage_of(path).folder
    with _reporting(path):
        entry = look(path)
        if entry is not None and entry.kind != FILE:
            raise CpuplanError([diagnose("CP601", path=path, kind=entry.kind, wanted=FILE)])
        if entry is not None and entry.size == len(data) and read(path) == data:
            return
        os.makedirs(path.parent, exist_ok=True)
        with _lock(path.parent, shown=path, wait=True):
            _remove(stage)
            try:
                create(
                    stage,
                    data,
                    mode=None if entry is None else os.stat(path).st_mode & 0o7777,
                    sync=True,
                )
                os.rename(stage, path)
            except BaseException:
                _remove(stage)
                raise
            sync_folder(path.parent)


def _remove(path: Path) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)


def _place(out: Path) -> Path:
    """The absolute path of the output folder.

    Raises CP601 or CP605 unless it is, or can become, a folder of cpuplan alone.
    """
    place = Path(os.path.abspath(out))
    with _reporting(out):
        entry = look(place)
        if os.path.ismount(place):
            raise CpuplanError([diagnose("CP605", path=out)])
        if entry is not None and entry.kind != FOLDER:
            raise CpuplanError([diagnose("CP601", path=out, kind=entry.kind, wanted=FOLDER)])
        # The exchange would leave a shell that stands inside in a deleted folder.
        if Path.cwd().is_relative_to(os.path.realpath(place)):
            kind = "the current folder, or one above it"
            raise CpuplanError(
                [diagnose("CP601", path=out, kind=kind, wanted="a folder of its own")]
            )
    return place


@contextmanager
def _lock(folder: Path, *, shown: Path, wait: bool = False) -> Iterator[None]:
    """Hold the folder's flock(2).

    It ends with the process, so no lock is ever stale and no lock file remains.
    """
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Locked([diagnose("CP606", path=shown)]) from None
        yield
    finally:
        os.close(file)


@contextmanager
def _reporting(shown: Path) -> Iterator[None]:
    """Turn an OSError into CP607, or CP605, naming the path as the user knows it."""
    try:
        yield
    except OSError as error:
        path = _shown(error.filename, shown)
        if error.errno == errno.EXDEV:
            raise CpuplanError([diagnose("CP605", path=path)]) from error
        problem = error.strerror or str(error)
        raise CpuplanError([diagnose("CP607", path=path, problem=problem)]) from error


def _shown(filename: str | bytes | int | None, shown: Path) -> str:
    """The path of an OSError as the user knows it: below `shown`, or in the stage beside it."""
    if not isinstance(filename, str | bytes):
        return os.fspath(shown)
    path, place = os.fsdecode(filename), Path(os.path.abspath(shown))
    stage = stage_of(place)
    for inside, name in (
        (stage.tree, shown),
        (stage.folder, stage_of(shown).folder),
        (place, shown),
    ):
        if Path(path).is_relative_to(inside):
            return os.fspath(name / Path(path).relative_to(inside))
    return path
