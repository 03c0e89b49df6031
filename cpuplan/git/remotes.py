"""What is asked of a remote and brought from there, where a user or a partial clone asks."""

from collections.abc import Iterable

from cpuplan.diagnostics import CpuplanError, diagnose
from cpuplan.git import locks
from cpuplan.git import own as owns
from cpuplan.git.own import Own, Refused
from cpuplan.git.program import Done, run, run_as_user
from cpuplan.git.repository import Repository

_FILTER = "--filter=blob:none"
_FETCH = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--recurse-submodules=no")


def push(repository: Repository, remote: str, commit: str, branch: str) -> None:
    """Let the branch of a remote be at `commit`, which must be a successor of where it is.

    Raises CP696.
    """
    words = ("push", "--quiet", "--no-force", "--no-verify", "--recurse-submodules=no")
    target = f"{commit}:refs/heads/{branch}"
    own = owns.prepare(repository)
    for url in _urls(repository, own, remote, branch, pushes=True):
        _ask(repository, remote, branch, *words, "--end-of-options", url, target)
    _track(repository, own, remote, commit, branch)


def fetch(repository: Repository, remote: str, branch: str) -> str | None:
    """The commit at which the branch of a remote is, brought here; None if it has no such branch.

    Raises CP696.
    """
    name = f"refs/heads/{branch}"
    own = owns.prepare(repository)
    (url,) = _urls(repository, own, remote, branch, pushes=False)
    listed = _ask(repository, remote, branch, "ls-remote", "--end-of-options", url, name)
    if not listed.line:
        return None
    commit = listed.line.partition("\t")[0]
    words = (*_FETCH, _FILTER) if repository.promisors else _FETCH
    configuration = repository.door / "common/config"
    before = configuration.read_bytes()
    _ask(repository, remote, branch, *words, "--end-of-options", url, name)
    configuration.write_bytes(before)
    _track(repository, own, remote, commit, branch)
    return commit


def _urls(repository: Repository, own: Own, remote: str, branch: str, *, pushes: bool) -> list[str]:
    try:
        return owns.urls(repository, own, remote, pushes=pushes)
    except Refused as error:
        raise _failed(remote, branch, str(error)) from error


def _ask(repository: Repository, remote: str, branch: str, *words: str) -> Done:
    done = run_as_user(repository, *words)
    if done.code:
        raise _failed(remote, branch, done.problem)
    return done


def _failed(remote: str, branch: str, problem: str) -> CpuplanError:
    return CpuplanError([diagnose("CP696", branch=branch, remote=remote, problem=problem)])


def _track(repository: Repository, own: Own, remote: str, commit: str, branch: str) -> None:
    """Remember where a named remote's branch is, as Git does.

    That is known at the remote; so a lock that another program holds here is no reason to fail.
    """
    if remote in owns.remote_names(own):
        name = f"refs/remotes/{remote}/{branch}"
        if run(repository, "check-ref-format", name).code == 0:
            words = ("update-ref", "-m", "cpuplan publish", name, commit)
            locks.moving(
                repository, name, commit, lambda held: run_as_user(repository, *words, held=held)
            )


def bring(repository: Repository, names: Iterable[str]) -> bool:
    """Bring objects that a partial clone lacks, all at once; whether they came.

    They come from the remote that promised them, of the repository's own configuration.
    """
    if not repository.promisors:
        return False
    own = owns.prepare(repository)
    try:
        (url,) = owns.urls(repository, own, repository.promisors[0], pushes=False)
    except Refused:
        return False
    # What comes belongs to the repository's objects, also where those of this run go away.
    store = {"GIT_OBJECT_DIRECTORY": str(repository.door / "store")}
    configuration = repository.door / "common/config"
    before = configuration.read_bytes()
    done = run_as_user(
        repository,
        *("-c", "fetch.negotiationAlgorithm=noop", *_FETCH, _FILTER, "--stdin", url),
        data="".join(f"{name}\n" for name in sorted(names)).encode(),
        also=store,
    )
    # Git notes there that the remote promises objects, and would ask it itself from then on.
    configuration.write_bytes(before)
    return done.code == 0
