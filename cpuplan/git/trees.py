"""The files of a commit, read from Git's objects, and what Git has of a folder.

Git's index has the names of contents, and the files are digested here: no filter that attributes
name takes part.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from cpuplan.base.files import FLAGS, Unreadable, read_open
from cpuplan.base.text import joined
from cpuplan.diagnostics import CpuplanError, diagnose
from cpuplan.git.program import LONG, TooMuch, ask, opened, run, text, unusable
from cpuplan.git.remotes import bring
from cpuplan.git.repository import Repository, object_name

#: The main branch has one of these names; the first that exists counts.
MAIN = {
    "origin/HEAD": "refs/remotes/origin/HEAD",
    "origin/main": "refs/remotes/origin/main",
    "origin/master": "refs/remotes/origin/master",
    "main": "refs/heads/main",
    "master": "refs/heads/master",
}
#: A name of a branch or tag, before what Git may be told of its history.
_OBJECT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_BRANCH = re.compile(r"[\w][\w./+-]*")
#: Modes of tree entries.
FILE, EXECUTABLE, LINK, SUBMODULE = "100644", "100755", "120000", "160000"
#: Bytes of one file of a commit, as of one on disk, and of all that are read at a time.
MAX_BYTES = 64 * 1024 * 1024
MAX_TOTAL = 512 * 1024 * 1024
#: Files, links and submodules that a folder of a commit may have, and bytes of their list.
MAX_ENTRIES = 1_000_000
_MAX_LISTING = 256 * 1024 * 1024
#: Bytes that are asked for at a time, so that they are in memory twice only for a moment.
_BATCH = 16 * 1024 * 1024
#: Rounds in which a partial clone gets the trees that it lacks.
_ROUNDS = 64


class Entry(NamedTuple):
    """What a tree has under one path."""

    mode: str
    object: str


def read(repository: Repository, ref: str, folder: str = "out") -> Mapping[str, bytes]:
    """The files below `folder` of the project as they are in the commit `ref`, by path.

    Links and submodules are none. Raises CpuplanError: CP688, CP689 for an unknown `ref`, CP6110.
    """
    commit = commit_of(repository, ref)
    place = repository.prefix + folder
    entries = entries_of(repository, commit, place)
    return contents(repository, entries, f"{ref}:{place}", modes=(FILE, EXECUTABLE))


def commit_of(repository: Repository, ref: str) -> str:
    """The commit that `ref` names.

    Raises CP688, CP689, and CP6111 for a tag that hides a branch.
    """
    _check_unique(repository, ref)
    commit = find_commit(repository, ref)
    if commit is None:
        raise CpuplanError([diagnose("CP689", ref=ref, path=repository.shown)])
    return commit


def _check_unique(repository: Repository, ref: str) -> None:
    """Git takes a tag before a branch of the same name, and whoever may push makes tags."""
    match = _BRANCH.match(ref)
    if match is None or ref == "HEAD" or _OBJECT.fullmatch(ref):
        return
    names = [f"refs/{kind}/{match[0]}" for kind in ("tags", "heads", "remotes")]
    known = ask(repository, "for-each-ref", "--format=%(refname)", *names).line.splitlines()
    hidden = [name for name in known if name in names]
    if len(hidden) > 1:
        raise CpuplanError([diagnose("CP6111", ref=ref, names=joined(hidden))])


def find_commit(repository: Repository, ref: str) -> str | None:
    """The commit that `ref` names, if it is here. Raises CP688."""
    words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
    done = run(repository, *words)
    if done.code:
        return None
    return done.line if done.line.isalnum() else None  # `^HEAD` is none


def entries_of(repository: Repository, commit: str, folder: str) -> dict[str, Entry]:
    """The files, links and submodules below a folder of a commit or tree; `folder` may be empty.

    Raises CP688, and CP6110 for too many.
    """
    tree = tree_of(repository, commit, folder)
    if tree is None:
        return {}
    bring_trees(repository, tree)
    try:
        listed = run(
            repository, "ls-tree", "-rz", "--full-tree", tree, limit=LONG, most=_MAX_LISTING
        )
    except TooMuch:
        raise _too_large(commit, folder, f"its list has more than {_MAX_LISTING:,} bytes") from None
    if listed.code:
        raise unusable(repository, listed.problem)
    entries = {}
    for line in listed.parts:
        facts, _, path = line.partition("\t")
        mode, _, name = facts.split(" ")
        entries[path] = Entry(mode, name)
        if len(entries) > MAX_ENTRIES:
            raise _too_large(commit, folder, f"it has more than {MAX_ENTRIES:,} files")
    return entries


def names_of(repository: Repository, commit: str, folder: str) -> list[str]:
    """The names in a folder of a commit or tree; none where there is no such folder."""
    tree = tree_of(repository, commit, folder.rstrip("/"))
    if tree is None:
        return []
    try:
        words = ("ls-tree", "-z", "--name-only", "--full-tree", tree)
        return ask(repository, *words, most=_MAX_LISTING).parts
    except TooMuch:
        raise _too_large(commit, folder, f"its list has more than {_MAX_LISTING:,} bytes") from None


def tree_of(repository: Repository, commit: str, folder: str) -> str | None:
    """The object of a folder, if it is one.

    Raises CP688 where a tree above it is missing: what was not looked at is not empty.
    """
    if repository.promisors:
        return _brought_tree(repository, commit, folder)
    name = _resolve(repository, f"{commit}:{folder}")
    if name is None:
        top = run(repository, "cat-file", "-t", f"{commit}^{{tree}}")
        if top.line != "tree":
            raise unusable(repository, f"the tree of {commit} is missing")
        return None
    return name if _kind(repository, name) == "tree" else None


def _brought_tree(repository: Repository, commit: str, folder: str) -> str | None:
    """The same in a clone without trees: those above the folder come first."""
    name = run(repository, "log", "-1", "--no-show-signature", "--format=%T", commit).line
    name = name or commit  # a tree has no line
    kind = _kind(repository, name)
    for part in filter(None, folder.split("/")):
        below = _resolve(repository, f"{name}:{part}")
        if below is None:
            return None
        name = below
        kind = _kind(repository, name)
    return name if kind == "tree" else None


def _resolve(repository: Repository, name: str) -> str | None:
    """The object of that name, which need not be here; None if its tree has none."""
    done = run(repository, "rev-parse", "--verify", "--quiet", "--end-of-options", name)
    if done.code and done.error:
        raise unusable(repository, done.problem)
    return None if done.code else done.line


def _kind(repository: Repository, name: str) -> str:
    """The kind of an object, which is brought if a partial clone lacks it."""
    ((_, kind, _),) = _sizes(repository, [name])
    if kind == "missing" and bring(repository, [name]):
        ((_, kind, _),) = _sizes(repository, [name])
    if kind == "missing":
        raise unusable(repository, f"the object {name} is missing")
    return kind


def bring_trees(repository: Repository, tree: str) -> None:
    """Bring the trees that a partial clone lacks; what does not come is told when it is read."""
    seen: set[str] = set()
    for _ in range(_ROUNDS if repository.promisors else 0):
        words = ("rev-list", "--objects", "--filter=blob:none", "--missing=print", tree)
        listed = run(repository, *words, limit=LONG, most=_MAX_LISTING)
        missing = {line[1:] for line in listed.line.splitlines() if line.startswith("?")} - seen
        if not missing or not bring(repository, missing):
            return
        seen |= missing


def contents(
    repository: Repository,
    entries: Mapping[str, Entry],
    shown: str,
    *,
    modes: tuple[str, ...] = (FILE, EXECUTABLE, LINK),
) -> dict[str, bytes]:
    """The contents of the entries of some modes, by path; `shown` is what their folder is called.

    Raises CP688, and CP6110 before anything of what is too large is read.
    """
    wanted = {path: entry for path, entry in entries.items() if entry.mode in modes}
    read: dict[str, bytes] = {}
    for batch in _batches(check_sizes(repository, wanted, shown)):
        read |= _read(repository, batch)
    return {path: read[entry.object] for path, entry in wanted.items()}


def content(repository: Repository, entry: Entry, shown: str) -> bytes:
    """The content of one entry. Raises CP688 and CP6110."""
    folder, _, name = shown.rpartition("/")
    return contents(repository, {name: entry}, folder)[name]


def check_sizes(repository: Repository, entries: Mapping[str, Entry], shown: str) -> dict[str, int]:
    """The size of each object, before any of them is read. Raises CP688 and CP6110."""
    names = {entry.object: path for path, entry in entries.items()}
    told = _sizes(repository, names)
    missing = [name for name, kind, _ in told if kind == "missing"]
    if missing and bring(repository, missing):
        told = _sizes(repository, names)
    sizes = {}
    for name, kind, size in told:
        if kind == "missing":
            raise unusable(repository, f"the object {name} is missing")
        if size > MAX_BYTES:
            problem = f"it has {size:,} bytes; at most {MAX_BYTES:,} are read"
            raise _too_large(shown, names[name], problem)
        sizes[name] = size
    total = sum(sizes.values())
    if total > MAX_TOTAL:
        raise _too_large(
            shown, "", f"its files have {total:,} bytes; at most {MAX_TOTAL:,} are read"
        )
    return sizes


def _too_large(above: str, path: str, problem: str) -> CpuplanError:
    start = above if ":" in above else f"{above}:"
    slash = "" if not path or start.endswith(":") else "/"
    return CpuplanError([diagnose("CP6110", path=f"{start}{slash}{path}", problem=problem)])


def _sizes(repository: Repository, names: Iterable[str]) -> list[tuple[str, str, int]]:
    """Name, kind and size of objects; `missing` is a kind."""
    data = "".join(f"{name}\n" for name in names).encode()
    if not data:
        return []
    told = ask(repository, "cat-file", "--batch-check", data=data, limit=LONG, most=_MAX_LISTING)
    facts = []
    for line in told.line.splitlines():
        name, kind, *size = line.split(" ")
        facts.append((name, kind, int(size[0]) if size else 0))
    return facts


def _batches(sizes: Mapping[str, int]) -> Iterator[dict[str, int]]:
    batch: dict[str, int] = {}
    total = 0
    for name, size in sizes.items():
        if batch and total + size > _BATCH:
            yield batch
            batch, total = {}, 0
        batch[name] = size
        total += size
    if batch:
        yield batch


def _read(repository: Repository, sizes: Mapping[str, int]) -> dict[str, bytes]:
    """Contents by name: each comes after a line of its name, kind and size."""
    data = "".join(f"{name}\n" for name in sizes).encode()
    most = sum(sizes.values()) + 128 * len(sizes)
    output = memoryview(
        ask(repository, "cat-file", "--batch", data=data, limit=LONG, most=most).output
    )
    contents_of, position = {}, 0
    for name, size in sizes.items():
        start = position + bytes(output[position : position + 128]).index(b"\n") + 1
        if text(bytes(output[position : start - 1])) != f"{name} blob {size}":
            raise unusable(repository, f"the object {name} is not the file that it was")
        contents_of[name] = bytes(output[start : start + size])
        position = start + size + 1
    return contents_of


def main_branch(repository: Repository) -> str:
    """The name of the main branch. Raises CP688, and CP689 where there is none."""
    main = next((name for name, ref in MAIN.items() if _is_main(repository, ref)), None)
    if main is None:
        ref = f"a main branch ({', '.join(MAIN)})"
        raise CpuplanError([diagnose("CP689", ref=ref, path=repository.shown)])
    return main


def _is_main(repository: Repository, ref: str) -> bool:
    """Whether a full name, which no tag has, is that of a branch that is here.

    HEAD of a remote names one of its branches; whoever may push can make a branch `HEAD` instead.
    """
    if ref == MAIN["origin/HEAD"]:
        named = run(repository, "symbolic-ref", "--quiet", ref)
        if named.code or not named.line.startswith("refs/remotes/origin/"):
            return False
    return find_commit(repository, ref) is not None


def merge_base(repository: Repository) -> str:
    """The commit where the present one left the main branch.

    Raises CpuplanError: CP688, CP689 without a main branch, CP690 without a common commit.
    """
    main = main_branch(repository)
    commit_of(repository, "HEAD")
    return common_commit(repository, "HEAD", main, MAIN[main])


def common_commit(repository: Repository, ours: str, theirs: str, ref: str | None = None) -> str:
    """The merge base of two commits; `ref` is the full name of the second. Raises CP690."""
    done = run(repository, "merge-base", ours, ref or theirs)
    if done.code:
        known = is_shallow(repository)
        remedy = "the clone is shallow" if known else "their histories have nothing in common"
        raise CpuplanError([diagnose("CP690", ours=ours, theirs=theirs, problem=remedy)])
    return done.line


def is_shallow(repository: Repository) -> bool:
    """Whether the clone has only the last part of the history."""
    return ask(repository, "rev-parse", "--is-shallow-repository").line == "true"


_COMMITTED = "HEAD^1", "HEAD^2"

_MAX_BYTES = 256 * 1024 * 1024


class Tracked(NamedTuple):
    """Paths below the folder whose content Git has in a commit or its index, and changed ones."""

    has: frozenset[str]
    changed: frozenset[str]


def tracked_in(folder: Path, paths: Iterable[str]) -> Tracked | None:
    """What Git has of some paths in `folder`; None outside of a work tree, and without Git.

    In the middle of a merge Git has both sides of a file, whatever its text is.
    """
    try:
        with opened(folder.parent) as repository:
            return _look(repository, folder, frozenset(paths))
    except CpuplanError:
        return None


def _look(repository: Repository, folder: Path, paths: frozenset[str]) -> Tracked | None:
    start = f"{repository.prefix}{folder.name}/"
    words = ("ls-files", "-z", "--stage", "--", f":(top,literal){start}")
    listed = run(repository, *words, limit=LONG, most=_MAX_LISTING)
    if listed.code:
        return None
    has, changed = set(), set()
    for line in listed.parts:
        facts, _, path = line.partition("\t")
        mode, name, stage = facts.split(" ")
        below = path.removeprefix(start)
        if below not in paths:
            continue
        if stage != "0" or name == _name_on_disk(repository, folder / below, mode):
            has.add(below)
        else:
            changed.add(below)
    return Tracked(frozenset(has), frozenset(changed))


def _name_on_disk(repository: Repository, path: Path, mode: str) -> str | None:
    """The name of a file's content, or of a link's target, if it is what the mode says."""
    try:
        if mode == LINK:
            return object_name(repository, os.fsencode(os.readlink(path)))
        if mode not in (FILE, EXECUTABLE):
            return None
        descriptor = os.open(path, FLAGS | os.O_NOFOLLOW)
        try:
            return object_name(repository, read_open(descriptor, _MAX_BYTES))
        finally:
            os.close(descriptor)
    except (OSError, Unreadable):
        return None


def merged_lines(folder: Path, *paths: str) -> list[str]:
    """The lines of files on both sides of a merge that is in progress, or was committed last.

    A path may be that of a folder, whose files are meant.
    """
    try:
        with opened(folder.parent) as repository:
            return _of_merged(repository, folder.name, paths)
    except CpuplanError:
        return []


def _of_merged(repository: Repository, folder: str, paths: tuple[str, ...]) -> list[str]:
    for ours, theirs in (
        ("HEAD", "MERGE_HEAD"),
        ("HEAD", "CHERRY_PICK_HEAD"),
        ("HEAD", "REBASE_HEAD"),
        _COMMITTED,
    ):
        commits = find_commit(repository, ours), find_commit(repository, theirs)
        if commits[1] is not None:
            sides = [_lines(repository, commit, folder, paths) for commit in commits if commit]
            return [line for side in sides for line in side]
    return []


def _lines(repository: Repository, commit: str, folder: str, paths: tuple[str, ...]) -> list[str]:
    place = f"{repository.prefix}{folder}"
    folders = tuple(f"{path}/" for path in paths)
    entries = {
        path: entry
        for path, entry in entries_of(repository, commit, place).items()
        if path in paths or path.startswith(folders)
    }
    modes = (FILE, EXECUTABLE)
    texts = contents(repository, entries, f"{commit}:{place}", modes=modes).values()
    return [line for data in texts for line in data.decode(errors="surrogateescape").splitlines()]
