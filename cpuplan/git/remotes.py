"""What is asked of a remote and brought from there, and locks that killed runs left on branches.

Git makes `<branch>.lock`, writes the new commit into it and renames it. Whoever is killed in
between leaves it, and no later run can move the branch. So a run notes in the repository which
branch it is about to move, and to which commit, and holds that note by a flock(2), which its Git
has too: a note that nobody holds is of a run that ended, and so is a lock with that commit.
"""

import fcntl
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from hashlib import sha256
from typing import NamedTuple
from urllib.parse import unquote

from cpuplan.base.files import is_below
from cpuplan.diagnostics import CpuplanError, diagnose
from cpuplan.git.program import (
    PROTOCOLS,
    Done,
    configuration_text,
    list_configuration,
    run,
    run_as_user,
    unusable,
)
from cpuplan.git.repository import TRUE, Repository

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MAX_BYTES = 4096
#: Seconds by which clocks of file systems may differ.
_SLACK = 2


def moving_branch(
    repository: Repository, ref: str, commit: str, move: Callable[[tuple[int, ...]], Done]
) -> Done:
    """Move a branch to a commit; what an earlier run left of its move is removed first.

    `move` lets Git do it, and hold the files that it is given. Where no note can be written, or
    another run holds it, Git alone decides who moves the branch.
    """
    path = _note_of(repository, ref)
    try:
        descriptor = os.open(path, _FLAGS, 0o600)
    except OSError:
        return move(())
    try:
        if not _is_held(descriptor):
            return move(())
        _remove_stale(repository, ref, descriptor)
        _write(descriptor, f"{ref} {commit}\n".encode(errors="surrogateescape"))
        done = None
        try:
            done = move((descriptor,))
        finally:
            if done is None or done.code < 0:  # Git was killed, and nothing else
                _remove_stale(repository, ref, descriptor)
        with suppress(OSError):
            os.unlink(path)
        return done
    finally:
        os.close(descriptor)


def _note_of(repository: Repository, ref: str) -> str:
    digest = sha256(ref.encode(errors="surrogateescape")).hexdigest()[:16]
    return os.path.join(repository.place.common, f"cpuplan-moves-{digest}")


def _is_held(descriptor: int) -> bool:
    """Whether the note is ours now: a file of this user alone, that no other run holds."""
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _write(descriptor: int, data: bytes) -> None:
    with suppress(OSError):  # then a lock that is left stays
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, data, 0)


def _remove_stale(repository: Repository, ref: str, descriptor: int) -> None:
    """Remove the lock of a branch, if the noted run made it.

    It has the noted commit or the beginning of it, and was made after the note.
    """
    words = os.pread(descriptor, _MAX_BYTES, 0).split()
    if len(words) != 2 or words[0] != ref.encode(errors="surrogateescape"):
        return
    path = lock_of(repository, ref)
    with suppress(OSError):
        lock = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            status = os.fstat(lock)
            content = os.read(lock, _MAX_BYTES)
        finally:
            os.close(lock)
        is_later = status.st_mtime >= os.fstat(descriptor).st_mtime - _SLACK
        is_own = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
        if is_own and is_later and (words[1] + b"\n").startswith(content):
            os.unlink(path)


def lock_of(repository: Repository, ref: str) -> str:
    """The file by which Git locks a branch."""
    return os.path.join(repository.place.common, f"{ref}.lock")


def lock_problem(repository: Repository, ref: str) -> str:
    """What is said of a lock that is in the way; empty where there is none."""
    path = lock_of(repository, ref)
    if not os.path.lexists(path):
        return ""
    return f"{path} is there, so another Git moves it now, or was killed: then delete that file"


_OF_THE_REPOSITORY = ("local", "worktree")
#: Keys that a repository may set.
_VALUES = re.compile(
    r"(user|author|committer)\.(name|email)|user\.(signingkey|useconfigonly)|commit\.gpgsign"
    r"|gpg\.format|http\.(.*\.)?(extraheader|proxy|sslcainfo)"
)
_REMOTES = re.compile(r"remote\..*\.(url|pushurl)|url\..*\.(insteadof|pushinsteadof)", re.DOTALL)
#: Of the user's: what is about a work tree, and what is decided here.
_NEVER = re.compile(
    r"(core|extensions|include|includeif|filter|alias|hook|remote|url|fetch|push|submodule|gc"
    r"|maintenance)\..*",
    re.DOTALL,
)
#: Of `core.`, what the user may say on remotes and passwords.
_CORE = ("core.sshcommand", "core.askpass", "core.gitproxy", "core.compression")
_SCHEME = re.compile(r"([A-Za-z0-9][A-Za-z0-9+.-]*)://")
_HELPER = re.compile(r"[A-Za-z0-9_-]+::")
#: A host before a colon, and no slash before it.
_HOST = re.compile(r"[^/:]+:")


class Own(NamedTuple):
    """The settings that count, in order, and those of remotes among them."""

    settings: tuple[tuple[str, str], ...]
    remotes: tuple[tuple[str, str], ...]

    def is_true(self, key: str) -> bool:
        """Whether the last value of a switch says so."""
        return dict(self.settings).get(key, "").lower() in TRUE


def prepare(repository: Repository) -> Own:
    """Let Git see these settings when it commits or reaches a remote. Raises CP688."""
    told = list_configuration(repository, repository.place.git_dir)
    if told.code:
        raise unusable(repository, told.problem)
    fields = told.output.decode(errors="surrogateescape").split("\0")
    settings, remotes = [], []
    for scope, field in zip(fields[0::2], fields[1::2], strict=False):
        key, has_value, value = field.partition("\n")
        setting = (key, value if has_value else "true")
        if _REMOTES.fullmatch(key):
            remotes.append(setting)
        elif scope in _OF_THE_REPOSITORY:
            if _VALUES.fullmatch(key):
                settings.append(setting)
        elif not _NEVER.fullmatch(key) or key in _CORE:
            settings.append(setting)
    text = configuration_text(settings).encode(errors="surrogateescape")
    path = repository.own_configuration
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(text)
    return Own(tuple(settings), tuple(remotes))


class Refused(Exception):  # noqa: N818 - what is the case, not what went wrong
    """A remote that is not asked, with a phrase for messages."""


def urls(repository: Repository, own: Own, remote: str, *, pushes: bool) -> list[str]:
    """Where a remote is: a name of the configuration, a URL or a path. Raises Refused.

    Git is given nothing but the URL, as a remote has other settings that name programs.
    """
    values: dict[str, list[str]] = {}
    for key, value in own.remotes:
        values.setdefault(key, []).append(value)
    named = values.get(f"remote.{remote}.url", [])
    explicit = values.get(f"remote.{remote}.pushurl", []) if pushes else []
    chosen = [
        _rewritten(own, url, pushes=pushes and not explicit)
        for url in explicit or named or [remote]
    ]
    checked = [_checked(repository, url, is_named=bool(named or explicit)) for url in chosen]
    return checked if pushes else checked[:1]


def _rewritten(own: Own, url: str, *, pushes: bool) -> str:
    """The URL after url.<base>.insteadOf: the longest beginning counts."""
    for kind in (".pushinsteadof", ".insteadof") if pushes else (".insteadof",):
        matches = [
            (value, key)
            for key, value in own.remotes
            if key.startswith("url.") and key.endswith(kind) and url.startswith(value)
        ]
        if matches:
            start, key = max(matches, key=lambda match: len(match[0]))
            return key.removeprefix("url.").removesuffix(kind) + url.removeprefix(start)
    return url


def _checked(repository: Repository, url: str, *, is_named: bool) -> str:
    scheme = _SCHEME.match(url)
    if _HELPER.match(url) or (scheme and scheme[1].lower() not in PROTOCOLS):
        protocol = scheme[1] if scheme else url.partition("::")[0]
        allowed = ", ".join(PROTOCOLS)
        raise Refused(f"the protocol {protocol!r} is not used; {allowed} are")
    if url.startswith("-") or not url.isprintable() or not url:
        raise Refused(f"{url!r} is no URL")
    if scheme and scheme[1].lower() == "file":
        _check_folder(repository, unquote(url.partition("://")[2]))
        return url
    if scheme or _HOST.match(url):
        return url
    path = os.path.normpath(os.path.join(repository.top, url))
    if not is_named and not os.path.exists(path):
        raise Refused("the repository has no remote of this name, and there is no such folder")
    _check_folder(repository, path)
    return path


def _check_folder(repository: Repository, path: str) -> None:
    """Git runs the hooks of a repository that it pushes to."""
    if is_below(os.path.realpath(path), os.fspath(repository.top)):
        raise Refused(f"{path} is in the work tree, where a commit can put anything")


def remote_names(own: Own) -> Iterator[str]:
    """The names of the remotes."""
    for key, _ in own.remotes:
        if key.startswith("remote.") and key.endswith(".url"):
            yield key[len("remote.") : -len(".url")]


_FILTER = "--filter=blob:none"
_FETCH = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--recurse-submodules=no")


def push(repository: Repository, remote: str, commit: str, branch: str) -> None:
    """Let the branch of a remote be at `commit`, which must be a successor of where it is.

    Raises CP696.
    """
    words = ("push", "--quiet", "--no-force", "--no-verify", "--recurse-submodules=no")
    target = f"{commit}:refs/heads/{branch}"
    own = prepare(repository)
    for url in _urls(repository, own, remote, branch, pushes=True):
        _ask(repository, remote, branch, *words, "--end-of-options", url, target)
    _track(repository, own, remote, commit, branch)


def fetch(repository: Repository, remote: str, branch: str) -> str | None:
    """The commit at which the branch of a remote is, brought here; None if it has no such branch.

    Raises CP696.
    """
    name = f"refs/heads/{branch}"
    own = prepare(repository)
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
        return urls(repository, own, remote, pushes=pushes)
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
    if remote in remote_names(own):
        name = f"refs/remotes/{remote}/{branch}"
        if run(repository, "check-ref-format", name).code == 0:
            words = ("update-ref", "-m", "cpuplan publish", name, commit)
            moving_branch(
                repository, name, commit, lambda held: run_as_user(repository, *words, held=held)
            )


def bring(repository: Repository, names: Iterable[str]) -> bool:
    """Bring objects that a partial clone lacks, all at once; whether they came.

    They come from the remote that promised them, of the repository's own configuration.
    """
    if not repository.promisors:
        return False
    own = prepare(repository)
    try:
        (url,) = urls(repository, own, repository.promisors[0], pushes=False)
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
