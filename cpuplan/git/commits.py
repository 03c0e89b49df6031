"""Commits made of bytes: no work tree, no index of the user, and no branch that moves unseen.

Everything but the last step, the move of the branch, only adds objects that nothing refers to: a
run that is killed leaves the branch as it was.
"""

import hashlib
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from cpuplan.diagnostics import CpuplanError, diagnose
from cpuplan.git.program import LONG, Done, ask, run, unusable
from cpuplan.git.trees import Entry

#: Hooks of the user run where a branch moves or is pushed.
_WITH_HOOKS = ("-c", "core.fsmonitor=false")
#: The index is ours alone, and holds every name that the branch has already.
_PLAIN_INDEX = (
    *("-c", "core.splitIndex=false", "-c", "index.sparse=false", "-c", "core.untrackedCache=false"),
    *("-c", "core.protectNTFS=false", "-c", "core.protectHFS=false", "-c", "core.fsmonitor=false"),
)
_BLOB = "blob\ndata {}\n"


def name_blobs(repository: Path, contents: Mapping[str, bytes]) -> dict[str, str]:
    """The names that Git gives to contents, by path."""
    form = ask(repository, "rev-parse", "--show-object-format").line
    names = {}
    for path, data in contents.items():
        digest = hashlib.new(form, f"blob {len(data)}\0".encode(), usedforsecurity=False)
        digest.update(data)
        names[path] = digest.hexdigest()
    return names


def write_blobs(repository: Path, contents: Iterable[bytes]) -> None:
    """Add objects to the repository: as one stream, since a process for each takes minutes."""
    stream = bytearray()
    for data in contents:
        stream += _BLOB.format(len(data)).encode() + data + b"\n"
    if stream:
        ask(repository, "fast-import", "--quiet", data=bytes(stream), limit=LONG)


def write_tree(repository: Path, base: str | None, changes: Mapping[str, Entry | None]) -> str:
    """The tree of the commit `base`, or an empty one, with `changes`; None removes a path.

    Every other entry stays as it is: modes, links, submodules.
    """
    removed = [f"0 {'0' * 40}\t{path}" for path, entry in changes.items() if entry is None]
    added = [f"{entry.mode} {entry.object}\t{path}" for path, entry in changes.items() if entry]
    lines = "".join(f"{line}\0" for line in (*removed, *added)).encode(errors="surrogateescape")
    with tempfile.TemporaryDirectory(prefix="cpuplan-") as folder:
        index = {"GIT_INDEX_FILE": f"{folder}/index"}
        _index(repository, index, "read-tree", *([base] if base else ["--empty"]))
        _index(repository, index, "update-index", "-z", "--index-info", data=lines)
        # What stays is in the base tree, of which a partial clone need not have the contents.
        return _index(repository, index, "write-tree", "--missing-ok").line


def _index(repository: Path, index: Mapping[str, str], *words: str, data: bytes = b"") -> Done:
    done = run(repository, *words, data=data, also=index, limit=LONG, options=_PLAIN_INDEX)
    if done.code:
        raise unusable(repository, done.problem)
    return done


def write_commit(repository: Path, tree: str, parents: Sequence[str], message: str) -> str:
    """A commit of a tree, signed if the user's configuration says so.

    Raises CP693 without a name to commit under, CP694 where Git refuses.
    """
    for who in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"):
        known = run(repository, "var", who, commits=True)
        if known.code:
            raise CpuplanError([diagnose("CP693", path=repository)])
    # Only `git commit` looks at this setting by itself.
    signs = run(repository, "config", "--type=bool", "commit.gpgsign").line == "true"
    words = ["commit-tree", tree, *(["-S"] if signs else [])]
    for parent in parents:
        words += ["-p", parent]
    options = (*_WITH_HOOKS, "-c", "i18n.commitEncoding=UTF-8")
    data = message.encode(errors="replace")
    done = run(repository, *words, data=data, commits=True, limit=LONG, options=options)
    if done.code:
        raise CpuplanError([diagnose("CP694", path=repository, problem=done.problem)])
    return done.line


def move_branch(repository: Path, branch: str, new: str, old: str | None, reason: str) -> None:
    """Let a branch be at the commit `new`, if it is still at `old`; None: if it does not exist.

    Raises CP695.
    """
    name = f"refs/heads/{branch}"
    words = ("update-ref", "--create-reflog", "-m", reason, name, new, old or "0" * len(new))
    done = run(repository, *words, commits=True, options=_WITH_HOOKS)
    if done.code:
        raise CpuplanError([diagnose("CP695", branch=branch, problem=done.problem)])


def push(repository: Path, remote: str, commit: str, branch: str) -> None:
    """Let the branch of a remote be at `commit`, which must be a successor of where it is.

    Raises CP696.
    """
    words = ("push", "--quiet", "--no-force", "--end-of-options", remote)
    target = f"{commit}:refs/heads/{branch}"
    done = run(repository, *words, target, commits=True, limit=LONG, options=_WITH_HOOKS)
    if done.code:
        problem = done.problem
        raise CpuplanError([diagnose("CP696", branch=branch, remote=remote, problem=problem)])


def fetch(repository: Path, remote: str, branch: str) -> str | None:
    """The commit at which the branch of a remote is, brought here; None if it has no such branch.

    Raises CP696.
    """
    name = f"refs/heads/{branch}"
    listed = run(
        repository, "ls-remote", "--end-of-options", remote, name, commits=True, limit=LONG
    )
    if listed.code:
        raise CpuplanError(
            [diagnose("CP696", branch=branch, remote=remote, problem=listed.problem)]
        )
    if not listed.line:
        return None
    commit = listed.line.partition("\t")[0]
    words = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--end-of-options")
    done = run(repository, *words, remote, name, commits=True, limit=LONG, options=_WITH_HOOKS)
    if done.code:
        raise CpuplanError([diagnose("CP696", branch=branch, remote=remote, problem=done.problem)])
    return commit
