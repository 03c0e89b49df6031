"""What the output folder holds, what it should hold, and what stands between the two."""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cpuplan.diagnostics import CpuplanError, Diagnostic, diagnose
from cpuplan.diagnostics.source import Position
from cpuplan.fleet.previous import MANIFEST, MANIFESTS, is_manifest, path_of
from cpuplan.plan import Classes
from cpuplan.write.manifest import (
    OLD,
    WRITTEN,
    Known,
    check_paths,
    divide,
    foreign_in,
    is_file,
    known_of,
    lines,
    parents,
    render_manifest,
    render_written,
    tree_digest,
)
from cpuplan.write.tree import FILE, FOLDER, Entry, look, read, scan

if TYPE_CHECKING:
    from cpuplan.git.trees import Tracked


class Changes(NamedTuple):
    """Paths relative to the output folder, sorted. The manifests are never among them."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    unchanged: int = 0


class Comparison(NamedTuple):
    """An output folder against the files that are wanted in it."""

    #: What is there now, and the part of it that stays as it is: `keep` holds foreign paths and
    #: unchanged files.
    before: dict[str, Entry]
    keep: frozenset[str]
    #: What is written new, manifests included; empty when there is nothing to do.
    write: dict[str, bytes]
    changes: Changes
    #: Manifests of clusters that are gone.
    left: frozenset[str]
    #: Everything that cpuplan owns or is about to own.
    claimed: frozenset[str]
    #: Why nothing may be written: foreign paths in the way (CP602), and files edited by hand
    #: (CP603), which `force` overwrites.
    blocked: dict[str, Diagnostic]
    edited: dict[str, Diagnostic]

    @property
    def is_empty(self) -> bool:
        return not self.write


#: What may be the state of a path: of a file that is wanted, and of one that cpuplan owns.
_STATES = ("added", "changed", "removed", "unchanged", "gone")


def compare(
    out: Path, files: Mapping[str, bytes], classes: Classes, written: bytes | None = None
) -> Comparison:
    """Compare the folder `out`, which may be missing, with `files`; write nothing.

    The manifests say which `classes` the files are of.

    `written` is the note of the files (`render_written`), where there is one already.

    Raises OSError, CP604 and CP605.
    """
    check_paths(files)
    before = scan(out)
    known = known_of(out, before)
    foreign = foreign_in(before, known)
    left = _left_over(out, before, foreign - files.keys())
    if left:
        known = known._replace(owned=known.owned | left)
        foreign = foreign_in(before, known)
    states, replaced = _states(out, files, before, known.owned)
    is_new = bool(files or known.owned or known.manifests)
    manifests = divide(lines(files, classes)) if is_new else {}
    listing = {path for path in manifests if known.lists(path) != manifests[path]}
    left_manifests = known.manifests.keys() - manifests.keys()
    new = {path for path in files if states[path] != "unchanged"} | listing
    blocked = _blocked(out, before, foreign, new)
    edited = {
        path
        for path, digest in replaced.items()
        if path not in OLD and known.written.get(path) != digest
    }
    if edited or blocked:
        blocked, edited = _without_tracked(out, files, before, known, blocked, edited)
    named: dict[str, list[str]] = {state: [] for state in _STATES}
    for path, state in states.items():
        named[state].append(path)
    write = {path: files[path] for path in (*named["added"], *named["changed"])}
    write |= {path: render_manifest(manifests[path]) for path in sorted(listing)}
    if write or named["removed"] or left_manifests:
        write[WRITTEN] = render_written(files) if written is None else written
    own = {WRITTEN, *known.manifests.keys() - left_manifests} & before.keys()
    keep = frozenset({*foreign, *named["unchanged"], *own} - write.keys())
    changes = Changes(
        tuple(named["added"]),
        tuple(named["changed"]),
        tuple(named["removed"]),
        unchanged=len(named["unchanged"]),
    )
    claimed = frozenset({*known.owned, *files, *known.manifests, *manifests, MANIFEST, WRITTEN})
    left = frozenset(left_manifests)
    return Comparison(before, keep, write, changes, left, claimed, blocked, _edits(out, edited))


def _replaceable(
    tracked: "Tracked | None", files: Mapping[str, bytes], before: Mapping[str, Entry]
) -> set[str]:
    """Wanted paths whose present content Git has."""
    if tracked is None:
        return set()
    return {path for path in tracked.has if path in files and is_file(before, path)}


def digest_of(out: Path) -> str:
    """The digest (`manifest.tree_digest`) of the files that cpuplan owns in `out`, as they are.

    Empty where `compile` must run: the folder cannot be compared, a file is missing or a link, or a
    merge left files that cpuplan deletes.
    """
    try:
        entry = look(out)
        if entry is None or entry.kind != FOLDER:
            return ""
        before = scan(out)
        known = known_of(out, before)
        is_whole = known.is_current and all(is_file(before, path) for path in known.owned)
        if not is_whole or _left_over(out, before, foreign_in(before, known)):
            return ""
        return tree_digest(render_written({path: read(f"{out}/{path}") for path in known.owned}))
    except (OSError, CpuplanError):
        return ""


def _without_tracked(
    out: Path,
    files: Mapping[str, bytes],
    before: Mapping[str, Entry],
    known: Known,
    blocked: dict[str, Diagnostic],
    edited: set[str],
) -> tuple[dict[str, Diagnostic], set[str]]:
    """Of blocked and edited paths, those whose content would be lost: Git does not have it."""
    from cpuplan.git import trees  # most comparisons need not ask

    tracked = trees.tracked_in(out, edited | blocked.keys())
    # Git has, for example, a file of another branch, whose manifest is not the merged one.
    replaceable = _replaceable(tracked, files, before)
    blocked = {path: why for path, why in blocked.items() if path not in replaceable}
    return blocked, _lost(edited, tracked, known)


def _left_over(out: Path, before: Mapping[str, Entry], foreign: frozenset[str]) -> frozenset[str]:
    """Files that one side of a merge deleted and the other changed.

    Git leaves them in the tree, and no manifest lists them.
    """
    foreign_files = {path for path in foreign if is_file(before, path)}
    if not foreign_files:
        return frozenset()
    from cpuplan.git import trees  # most folders have nothing foreign

    of_sides = map(path_of, trees.merged_lines(out, MANIFEST, MANIFESTS))
    listed = foreign_files.intersection(of_sides)
    tracked = trees.tracked_in(out, listed) if listed else None
    return frozenset(listed & tracked.has) if tracked else frozenset()


def _lost(edited: set[str], tracked: "Tracked | None", known: Known) -> set[str]:
    """Of edited files, those whose content is nowhere else.

    Where neither Git nor a note of this machine shows what cpuplan wrote, a file counts as written
    by cpuplan.
    """
    if tracked is None:
        return {path for path in edited if path in known.written}
    return {
        path
        for path in edited
        if path in tracked.changed or (path in known.written and path not in tracked.has)
    }


def _edits(out: Path, edited: set[str]) -> dict[str, Diagnostic]:
    return {
        path: diagnose("CP603", _whole(out, path), path=f"{out}/{path}") for path in sorted(edited)
    }


def _states(
    out: Path, files: Mapping[str, bytes], before: Mapping[str, Entry], owned: frozenset[str]
) -> tuple[dict[str, str], dict[str, str]]:
    """The state of each wanted or owned path, sorted, and the SHA-256 of lost own files."""
    states: dict[str, str] = {}
    replaced: dict[str, str] = {}
    folder = str(out)  # a Path for each file takes a fifth of the time
    for path in sorted({*files, *owned}):
        wanted, entry = files.get(path), before.get(path)
        if entry is None or entry.kind == FOLDER:
            states[path] = "gone" if wanted is None else "added"
            continue
        content = None
        if entry.kind == FILE and (path in owned or entry.size == len(wanted or b"")):
            content = read(f"{folder}/{path}")
        if content is not None and content == wanted:
            states[path] = "unchanged"
            continue
        states[path] = "removed" if wanted is None else "changed"
        if path in owned:
            replaced[path] = "" if content is None else sha256(content).hexdigest()
    return states, replaced


def _blocked(
    out: Path, before: Mapping[str, Entry], foreign: frozenset[str], new: set[str]
) -> dict[str, Diagnostic]:
    """A diagnostic for each foreign path in the place of a file, or of a folder for files."""
    occupied = {*foreign, *parents(foreign)}
    wanted = dict.fromkeys(new & occupied, FILE)
    for folder in parents(new) & foreign:
        if before[folder].kind != FOLDER:
            wanted[folder] = FOLDER
    return {
        path: diagnose(
            "CP602",
            _whole(out, path),
            path=f"{out}/{path}",
            kind=before[path].kind,
            wanted=wanted[path],
        )
        for path in sorted(wanted)
    }


def describe(out: Path, comparison: Comparison) -> list[Diagnostic]:
    """A diagnostic for each path that a compilation changes or stops at.

    CP602, CP603, CP608 to CP610.
    """
    codes = {
        **dict.fromkeys(comparison.changes.added, "CP608"),
        **dict.fromkeys(comparison.changes.changed, "CP609"),
        **dict.fromkeys(comparison.changes.removed, "CP610"),
    }
    if not codes:
        for path in filter(is_manifest, comparison.write):
            codes[path] = "CP609" if path in comparison.before else "CP608"
        codes |= dict.fromkeys(comparison.left, "CP610")
    diagnostics = {
        path: diagnose(code, _whole(out, path), path=f"{out}/{path}")
        for path, code in codes.items()
    }
    diagnostics |= comparison.edited | comparison.blocked
    return [diagnostics[path] for path in sorted(diagnostics)]


def _whole(out: Path, path: str) -> Position:
    """The file as a place of the project, whose folder `out` is in."""
    return Position(f"{out.name}/{path}", 0, 0)


def folders_of(comparison: Comparison) -> list[str]:
    """The folders of the new tree, outer ones first."""
    paths = comparison.keep | comparison.write.keys()
    kept = (path for path in comparison.keep if comparison.before[path].kind == FOLDER)
    return sorted({*parents(paths), *kept})
