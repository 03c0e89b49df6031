"""What is recorded about an output folder: in its manifests, and in this machine's note."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from cpuplan.base.files import is_plain
from cpuplan.base.progress import stage
from cpuplan.diagnostics import CpuplanError, diagnose
from cpuplan.diagnostics.source import Position
from cpuplan.fleet.previous import (
    CLASSES,
    FORM,
    HEAD,
    MANIFEST,
    MANIFESTS,
    OLD_PLAN,
    is_manifest,
    lines_of,
    manifest_of,
    path_of,
)
from cpuplan.plan import Classes
from cpuplan.write.tree import FILE, FOLDER, Entry, look, read

#: SHA-256 and path of each file that this machine wrote last.
WRITTEN = ".cpuplan/written"
#: The manifest in its old form: it is read once more, and deleted.
OLD_MANIFEST = ".cpuplan/manifest.json"
#: Files of older releases, deleted whoever wrote them last: a merge brings them back.
OLD = (OLD_MANIFEST, OLD_PLAN, ".cpuplan/inputs.json")
#: Of forms 2 and 3, which say nothing of classes; a merge may bring them back.
_OLD_HEADS = frozenset(
    {
        "# cpuplan manifest 2: the files of this folder that cpuplan owns",
        "# cpuplan manifest 3: files of this folder that cpuplan owns",
    }
)
_FORM = re.compile(r"# cpuplan manifest ([0-9]{1,9})(?![0-9])")
_MARKER = re.compile(r"[<|=>]{7}( .*)?")
_WRITTEN = re.compile(r"([0-9a-f]{64})  (.+)")
_OLD = re.compile(r'^ *"(.+)": "([0-9a-f]{64})",?$', re.MULTILINE)


def ancestors(path: str) -> Iterator[str]:
    """The folders above a relative path, nearest first: `a/b/c` gives `a/b` and `a`."""
    end = path.rfind("/")
    while end > 0:
        yield path[:end]
        end = path.rfind("/", 0, end)


def parents(paths: Iterable[str]) -> set[str]:
    """All folders above any of `paths`."""
    folders: set[str] = set()
    for path in paths:
        for folder in ancestors(path):
            if folder in folders:
                break
            folders.add(folder)
    return folders


def check_paths(paths: Iterable[str]) -> None:
    """Refuse (ValueError) paths that no backend may ask for: they are a bug, not a user's mistake.

    Two spellings that differ in case only are one file on macOS and Windows, where Git users may
    check out.
    """
    files = set(paths)
    folders = parents(files)
    spellings: dict[str, str] = {}
    for path in sorted(files | folders):
        if not is_plain(path) or is_manifest(path) or path == WRITTEN:
            raise ValueError(f"not a path for an output file: {path!r}")
        other = spellings.setdefault(path.casefold(), path)
        if other != path:
            raise ValueError(f"{other!r} and {path!r} are one file where case is ignored")
    clash = files & folders
    if clash:
        raise ValueError(f"both a file and a folder: {min(clash)!r}")


class Manifest(NamedTuple):
    """What a manifest lists: paths, most with a class (`before.lines_of`)."""

    lines: frozenset[str]
    #: Whether it needs no other text while it lists the same.
    is_current: bool

    @property
    def paths(self) -> frozenset[str]:
        """The paths without the classes."""
        return frozenset(map(path_of, self.lines))


def lines(paths: Iterable[str], classes: Classes) -> Iterator[str]:
    """The lines of all manifests for these files."""
    for path in paths:
        yield from lines_of(path, classes.get(path, ()))


def divide(lines: Iterable[str]) -> dict[str, frozenset[str]]:
    """The lines that each manifest has, by its path; without lines, one that lists nothing."""
    divided: dict[str, set[str]] = {MANIFEST: set()}
    for line in lines:
        divided.setdefault(manifest_of(path_of(line)), set()).add(line)
    return {manifest: frozenset(listed) for manifest, listed in divided.items()}


def render_manifests(lines: Iterable[str]) -> dict[str, bytes]:
    """All manifests of these lines, by path."""
    return {path: render_manifest(listed) for path, listed in divide(lines).items()}


def render_manifest(lines: Iterable[str]) -> bytes:
    """One manifest; the same lines give the same bytes."""
    return ("\n".join([HEAD, *sorted(lines)]) + "\n").encode()


def parse_manifest(data: bytes, shown: str) -> Manifest:
    """What a manifest lists, also one of form 2.

    Raises CP604, with `shown` as the file's name, for text that is not a manifest.

    The file comes from a Git repository, so its paths are not trusted: one that left the folder
    could delete anything.
    """

    def refuse(problem: str) -> CpuplanError:
        return CpuplanError([diagnose("CP604", path=shown, problem=problem)])

    lines = _lines(data, refuse)
    heads = {line for line in lines if line.startswith("#")}
    if not heads:
        raise refuse("its first line is missing")
    forms = [int(match[1]) for match in map(_FORM.match, heads) if match]
    later = [form for form in forms if form > FORM]
    if later:
        place = Position(shown, 1, 1)
        raise CpuplanError(
            [diagnose("CP139", place, what="the manifest", found=max(later), expected=FORM)]
        )
    if not heads <= {HEAD, *_OLD_HEADS}:
        raise refuse(f"its first line is not `{HEAD}`")
    listed = Manifest(frozenset(lines) - heads, heads == {HEAD} and not _has_conflict(data))
    for path in sorted(listed.paths):
        if not is_plain(path) or is_manifest(path) or path == WRITTEN:
            raise refuse(f"{path!r} is not a path inside the folder")
    return listed


def _lines(data: bytes, refuse: Callable[[str], CpuplanError]) -> list[str]:
    """The lines, without those that Git marks the sides of a conflict with."""
    try:
        lines = data.decode().splitlines()
    except UnicodeDecodeError as error:
        raise refuse("it is not UTF-8") from error
    return [line for line in lines if line and not _MARKER.fullmatch(line)]


def _has_conflict(data: bytes) -> bool:
    """Whether Git left both sides of a conflict in a manifest."""
    return any(_MARKER.fullmatch(line) for line in data.decode(errors="replace").splitlines())


def parse_old_manifest(data: bytes) -> dict[str, str]:
    """SHA-256 by path from a manifest in the old form, conflicts included, and its own path."""
    entries = _OLD.findall(data.decode(errors="replace"))
    digests = {path: digest for path, digest in entries if is_plain(path)}
    return {**digests, OLD_MANIFEST: sha256(data).hexdigest()}


@stage("listing files")
def render_written(files: Mapping[str, bytes]) -> bytes:
    """The note of what this machine wrote."""
    lines = [f"{sha256(files[path]).hexdigest()}  {path}\n" for path in sorted(files)]
    return "".join(lines).encode()


def parse_written(data: bytes) -> dict[str, str]:
    """SHA-256 by path. Lines in another form are skipped: a lost note costs one question to Git."""
    matches = map(_WRITTEN.fullmatch, data.decode(errors="replace").splitlines())
    return {match[2]: match[1] for match in matches if match}


def tree_digest(written: bytes) -> str:
    """SHA-256 over the paths and contents of files, by their note (`render_written`)."""
    return sha256(written).hexdigest()


class Known(NamedTuple):
    """What is recorded about an output folder."""

    owned: frozenset[str]  # paths of cpuplan's files
    written: dict[str, str]  # SHA-256 by path of what this machine wrote
    manifests: dict[str, Manifest]  # by path; those that are there

    def lists(self, manifest: str) -> frozenset[str] | None:
        """The lines of a manifest; None where it is missing, or needs another text anyway."""
        known = self.manifests.get(manifest)
        return known.lines if known and known.is_current else None

    @property
    def is_current(self) -> bool:
        """Whether each manifest lists what it should, and none needs another text."""
        listed = {line for manifest in self.manifests.values() for line in manifest.lines}
        wanted = divide({*listed, *(self.owned - set(map(path_of, listed)))})
        return self.manifests.keys() == wanted.keys() and all(
            self.lists(path) == listed for path, listed in wanted.items()
        )


def known_of(out: Path, before: Mapping[str, Entry]) -> Known:
    """What is recorded about `out`, in which `before` was found. Raises CP604 and CP139."""
    written = parse_written(read(out / WRITTEN)) if is_file(before, WRITTEN) else {}
    manifests = {path: _read_manifest(out, path) for path in before if is_manifest(path)}
    if not manifests and is_file(before, OLD_MANIFEST):
        old = parse_old_manifest(read(out / OLD_MANIFEST))
        return Known(frozenset(old), {**old, **written}, {})
    if not manifests:
        return Known(frozenset(), written, {})
    owned = {path for manifest in manifests.values() for path in manifest.paths}
    brought = {path for path in OLD if is_file(before, path)}
    classes = {path for path in before if path.startswith(f"{CLASSES}/") and is_file(before, path)}
    return Known(frozenset(owned | brought | classes), written, manifests)


def is_file(before: Mapping[str, Entry], path: str) -> bool:
    """Whether a file was found at a path, and no link or folder."""
    return path in before and before[path].kind == FILE


def _read_manifest(out: Path, path: str) -> Manifest:
    """A manifest that is there. Raises CpuplanError (CP604, CP139)."""
    entry = look(out / path)
    shown = f"{out}/{path}"
    if entry and entry.kind != FILE:
        raise CpuplanError([diagnose("CP604", path=shown, problem=f"it is {entry.kind}")])
    text = read(out / path)
    if not text:
        raise CpuplanError([diagnose("CP604", path=shown, problem="it is empty")])
    return parse_manifest(text, shown)


def check_manifests(out: Path) -> None:
    """Raise CP604 for a manifest with which `out` can be compared with nothing."""
    paths = [MANIFEST] if look(out / MANIFEST) else []
    folder = look(out / MANIFESTS)
    if folder and folder.kind == FOLDER:
        paths += sorted(f"{MANIFESTS}/{name}" for name in os.listdir(out / MANIFESTS))
    for path in filter(is_manifest, paths):
        _read_manifest(out, path)


def foreign_in(before: Mapping[str, Entry], known: Known) -> frozenset[str]:
    """The paths that cpuplan did not make.

    A folder belongs to cpuplan, and is deleted when empty, if an owned file is or was below it.
    """
    folders = parents({*known.owned, *known.manifests, MANIFEST})
    files = {*known.owned, *known.manifests, WRITTEN}
    return frozenset(
        path
        for path, entry in before.items()
        if path not in (folders if entry.kind == FOLDER else files)
    )
