"""The files of a commit, read from Git's objects: nothing is checked out."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from cpuplan.diagnostics import CpuplanError, diagnose
from cpuplan.git.program import LONG, ask, run, text, unusable

#: The main branch has one of these names; the first that exists counts.
MAIN = ("origin/HEAD", "origin/main", "origin/master", "main", "master")
#: Modes of tree entries.
FILE, EXECUTABLE, LINK, SUBMODULE = "100644", "100755", "120000", "160000"


class Entry(NamedTuple):
    """What a tree has under one path."""

    mode: str
    object: str


def read(root: Path, ref: str, folder: str = "out") -> Mapping[str, bytes]:
    """The files below `folder` of the project at `root` as they are in the commit `ref`, by path.

    Links and submodules are none. Raises CpuplanError: CP688, and CP689 for an unknown `ref`.
    """
    commit = commit_of(root, ref)
    entries = entries_of(root, commit, prefix(root) + folder)
    files = {path: entry for path, entry in entries.items() if entry.mode in (FILE, EXECUTABLE)}
    fetch_missing(root, f"{commit}:{prefix(root)}{folder}")
    contents = blobs(root, (entry.object for entry in files.values()))
    return {path: contents[entry.object] for path, entry in files.items()}


def commit_of(root: Path, ref: str) -> str:
    """The commit that `ref` names. Raises CP688 or CP689."""
    commit = find_commit(root, ref)
    if commit is None:
        raise CpuplanError([diagnose("CP689", ref=ref, path=root)])
    return commit


def find_commit(root: Path, ref: str) -> str | None:
    """The commit that `ref` names, if it is here. Raises CP688."""
    words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
    done = run(root, *words)
    if done.code:
        prefix(root)  # outside of a repository that is what is wrong
        return None
    return done.line if done.line.isalnum() else None  # `^HEAD` is none


def prefix(root: Path) -> str:
    """The path of the folder `root` in its work tree: empty, or with a slash at its end."""
    return ask(root, "rev-parse", "--show-prefix").line


def top_of(repository: Path) -> Path:
    """The folder to which Git's paths are relative: that of the work tree, or of a bare clone."""
    if ask(repository, "rev-parse", "--is-inside-work-tree").line == "true":
        return Path(ask(repository, "rev-parse", "--show-toplevel").line)
    return Path(ask(repository, "rev-parse", "--absolute-git-dir").line)


def entries_of(root: Path, commit: str, folder: str) -> dict[str, Entry]:
    """The files, links and submodules below a folder of a commit or tree; `folder` may be empty."""
    # In a clone without trees this is where they come.
    tree = run(root, "rev-parse", "--verify", "--quiet", f"{commit}:{folder}", limit=LONG)
    if tree.code:
        if tree.error:
            raise unusable(root, tree.problem)
        return {}
    listed = run(root, "ls-tree", "-rz", "--full-tree", tree.line, limit=LONG)
    if listed.code:
        if _kind(root, tree.line) != "tree":
            return {}
        raise unusable(root, listed.problem)
    entries = {}
    for line in listed.parts:
        facts, _, path = line.partition("\t")
        mode, _, name = facts.split(" ")
        entries[path] = Entry(mode, name)
    return entries


def _kind(root: Path, name: str) -> str:
    return ask(root, "cat-file", "-t", name).line


def fetch_missing(root: Path, tree: str) -> None:
    """Bring what a partial clone lacks of a tree: at once, not one object after the other.

    What cannot be brought so, Git fetches when it is read, or says that it cannot.
    """
    promisors = run(root, "config", "--get-regexp", r"^remote\..*\.promisor$")
    if promisors.code:
        return
    listed = run(root, "rev-list", "--objects", "--missing=print", tree, limit=LONG)
    missing = [line[1:] for line in listed.line.splitlines() if line.startswith("?")]
    if missing:
        remote = promisors.line.splitlines()[0].partition(" ")[0].split(".", 1)[1]
        words = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--filter=blob:none")
        options = ("-c", "fetch.negotiationAlgorithm=noop", "-c", "core.hooksPath=/dev/null")
        run(
            root,
            *(*words, "--recurse-submodules=no", "--stdin", remote.removesuffix(".promisor")),
            data="".join(f"{name}\n" for name in missing).encode(),
            limit=LONG,
            commits=True,
            options=options,
        )


def blobs(root: Path, names: Iterable[str]) -> dict[str, bytes]:
    """The contents of objects by their names."""
    wanted = list(dict.fromkeys(names))
    if not wanted:
        return {}
    data = "".join(f"{name}\n" for name in wanted).encode()
    output = memoryview(ask(root, "cat-file", "--batch", data=data, limit=LONG).output)
    found: dict[str, bytes] = {}
    position = 0
    for name in wanted:
        end = _end_of_line(output, position)
        head = text(bytes(output[position:end])).split(" ")
        if len(head) != 3:
            raise unusable(root, f"the object {name} is missing")
        position = end + 1
        size = int(head[2])
        found[name] = bytes(output[position : position + size])
        position += size + 1
    return found


def _end_of_line(output: memoryview, position: int) -> int:
    """A head has a name of 40 or 64 digits, a word and a number."""
    return position + bytes(output[position : position + 120]).index(b"\n")


def main_branch(root: Path) -> str:
    """The name of the main branch. Raises CP688, and CP689 where there is none."""
    main = next((name for name in MAIN if find_commit(root, name)), None)
    if main is None:
        raise CpuplanError([diagnose("CP689", ref=f"a main branch ({', '.join(MAIN)})", path=root)])
    return main


def merge_base(root: Path) -> str:
    """The commit where the present one left the main branch.

    Raises CpuplanError: CP688, CP689 without a main branch, CP690 without a common commit.
    """
    main = main_branch(root)
    commit_of(root, "HEAD")
    return common_commit(root, "HEAD", main)


def common_commit(root: Path, ours: str, theirs: str) -> str:
    """The merge base of two commits. Raises CP690 where there is none."""
    done = run(root, "merge-base", ours, theirs)
    if done.code:
        known = is_shallow(root)
        remedy = "the clone is shallow" if known else "their histories have nothing in common"
        raise CpuplanError([diagnose("CP690", ours=ours, theirs=theirs, problem=remedy)])
    return done.line


def is_shallow(root: Path) -> bool:
    """Whether the clone has only the last part of the history."""
    return ask(root, "rev-parse", "--is-shallow-repository").line == "true"
