"""Commits made of bytes: no work tree, no index of the user, and no branch that moves unseen.

Everything but the last step, the move of the branch, only adds objects that nothing refers to: a
run that is killed leaves the branch as it was.
"""

import os
from collections.abc import Iterable, Mapping, Sequence

from cpuplan.diagnostics import CpuplanError, diagnose
from cpuplan.git import remotes
from cpuplan.git.program import LONG, Done, ask, run, run_as_user, unusable
from cpuplan.git.repository import Repository, object_name
from cpuplan.git.trees import Entry, bring_trees, tree_of

#: The index is ours alone, and holds every name that the branch has already.
_PLAIN_INDEX = (
    *("-c", "core.splitIndex=false", "-c", "index.sparse=false", "-c", "core.untrackedCache=false"),
    *("-c", "core.protectNTFS=false", "-c", "core.protectHFS=false"),
)
_BLOB = "blob\ndata {}\n"


def name_blobs(repository: Repository, contents: Mapping[str, bytes]) -> dict[str, str]:
    """The names that Git gives to contents, by path."""
    return {path: object_name(repository, data) for path, data in contents.items()}


def write_blobs(repository: Repository, contents: Iterable[bytes]) -> None:
    """Add objects to the repository: as one stream, since a process for each takes minutes."""
    stream = bytearray()
    for data in contents:
        stream += _BLOB.format(len(data)).encode() + data + b"\n"
    if stream:
        ask(repository, "fast-import", "--quiet", data=bytes(stream), limit=LONG)


def write_tree(
    repository: Repository, base: str | None, changes: Mapping[str, Entry | None]
) -> str:
    """The tree of the commit `base`, or an empty one, with `changes`; None removes a path.

    Every other entry stays as it is: modes, links, submodules.
    """
    removed = [f"0 {'0' * 40}\t{path}" for path, entry in changes.items() if entry is None]
    added = [f"{entry.mode} {entry.object}\t{path}" for path, entry in changes.items() if entry]
    lines = "".join(f"{line}\0" for line in (*removed, *added)).encode(errors="surrogateescape")
    index = {"GIT_INDEX_FILE": os.fspath(repository.door / "index.new")}
    top = tree_of(repository, base, "") if base and repository.promisors else None
    if top:
        bring_trees(repository, top)
    _index(repository, index, "read-tree", *([base] if base else ["--empty"]))
    _index(repository, index, "update-index", "-z", "--index-info", data=lines)
    # What stays is in the base tree, of which a partial clone need not have the contents.
    return _index(repository, index, "write-tree", "--missing-ok").line


def _index(
    repository: Repository, index: Mapping[str, str], *words: str, data: bytes = b""
) -> Done:
    done = run(repository, *_PLAIN_INDEX, *words, data=data, also=index, limit=LONG)
    if done.code:
        raise unusable(repository, done.problem)
    return done


def write_commit(repository: Repository, tree: str, parents: Sequence[str], message: str) -> str:
    """A commit of a tree, signed if the user's configuration says so.

    Raises CP693 without a name to commit under, CP694 where Git refuses.
    """
    own = remotes.prepare(repository)
    for who in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"):
        if run_as_user(repository, "var", who).code:
            raise CpuplanError([diagnose("CP693", path=repository.shown)])
    # Only `git commit` looks at this setting by itself.
    words = ["commit-tree", tree, *(["-S"] if own.is_true("commit.gpgsign") else [])]
    for parent in parents:
        words += ["-p", parent]
    data = message.encode(errors="replace")
    done = run_as_user(repository, "-c", "i18n.commitEncoding=UTF-8", *words, data=data)
    if done.code:
        raise CpuplanError([diagnose("CP694", path=repository.shown, problem=done.problem)])
    return done.line


def move_branch(
    repository: Repository, branch: str, new: str, old: str | None, reason: str
) -> None:
    """Let a branch be at the commit `new`, if it is still at `old`; None: if it does not exist.

    Raises CP695.
    """
    name = f"refs/heads/{branch}"
    remotes.prepare(repository)
    words = ("update-ref", "--create-reflog", "-m", reason, name, new, old or "0" * len(new))
    done = remotes.moving_branch(
        repository, name, new, lambda held: run_as_user(repository, *words, held=held)
    )
    if done.code:
        problem = remotes.lock_problem(repository, name) or done.problem
        raise CpuplanError([diagnose("CP695", branch=branch, problem=problem)])
