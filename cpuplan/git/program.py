"""Git's program, run through a private folder that stands for a repository and its data only.

Git runs what the configuration of a repository names, in a hundred places. So it never sees that
configuration: it gets a Git folder of ours, with our own few lines, in which objects, branches and
the index are links to those of the repository. What is not linked does not exist: hooks,
attributes, grafts, remotes, promises of objects, other configuration.
"""

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple, cast

from cpuplan.base.files import Unreadable, cache, is_below, read_regular
from cpuplan.diagnostics import CpuplanError, diagnose
from cpuplan.git import repository as places
from cpuplan.git.repository import TRUE, NoRepository, Repository

if TYPE_CHECKING:
    import subprocess


_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"})


def configuration_text(settings: Iterable[tuple[str, str]]) -> str:
    """The lines of a configuration file that give keys their values, in this order."""
    lines = []
    for key, value in settings:
        section, _, rest = key.partition(".")
        subsection, dot, name = rest.rpartition(".")
        title = f'{section} "{subsection.translate(_ESCAPES)}"' if dot else section
        lines.append(f'[{title}]\n\t{name} = "{value.translate(_ESCAPES)}"\n')
    return "".join(lines)


#: Seconds; on 100,000 files it takes one.
LIMIT = 60
#: Seconds for what may wait for a network, or for a person with a key.
LONG = 600
#: Bytes of an answer, of what is kept of its complaints, and of Git's own memory.
MOST = 64 * 1024 * 1024
_MOST_ERRORS = 64 * 1024
_MEMORY = 1024 * 1024 * 1024
_PIECE = 256 * 1024
#: Of the caller's environment: their configuration, such as `safe.directory` in CI.
CONFIGURATION = ("GIT_CONFIG_",)
#: And who commits, and how a remote is reached.
PERSONS = ("GIT_AUTHOR_", "GIT_COMMITTER_")
REMOTES = ("GIT_SSH", "GIT_ASKPASS", "GIT_HTTP_", "GIT_SSL_", "GIT_PROXY_", "GIT_TERMINAL_PROMPT")
#: Where Git, and what it starts, look for the user's own configuration.
_PLACES = ("HOME", "XDG_CONFIG_HOME", "GNUPGHOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM")
#: Protocols that start no program that a URL names (`ext::`), and need no helper of others.
PROTOCOLS = ("file", "http", "https", "ssh")
_ALONE = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "LC_ALL": "C",
}
_READING = {"GIT_ALLOW_PROTOCOL": "", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}


class Done(NamedTuple):
    """What a run of Git gave."""

    code: int
    output: bytes
    error: str

    @property
    def line(self) -> str:
        """The output's text, where it is one line."""
        return text(self.output).rstrip("\n")

    @property
    def parts(self) -> list[str]:
        """The output's parts, where it is divided by zero bytes (`-z`)."""
        return [text(part) for part in self.output.split(b"\0") if part]

    @property
    def problem(self) -> str:
        """What Git said, as one line for a message."""
        lines = [line.strip() for line in self.error.splitlines()]
        told = [
            line.partition(": ")[2] for line in lines if line.startswith(("fatal: ", "error: "))
        ]
        return "; ".join(told or filter(None, lines)) or f"git ended with exit code {self.code}"


class TooMuch(CpuplanError):  # noqa: N818 - what is the case, not what went wrong
    """An answer of more bytes than were asked for."""


def text(data: bytes) -> str:
    """Names as Python has them: bytes that are not UTF-8 survive."""
    return data.decode(errors="surrogateescape")


def run(
    repository: Repository,
    *words: str,
    data: bytes = b"",
    also: Mapping[str, str] = {},
    limit: float = LIMIT,
    most: int = MOST,
) -> Done:
    """Ask Git about a repository; its exit code is part of the answer.

    `also` is added to its environment. Raises CpuplanError (CP688) where there is no Git, no answer
    in time, or one of more than `most` bytes.
    """
    environment = {**_environment(repository, ()), **_ALONE, **_READING, **also}
    return _run(repository, words, data, environment, limit, most)


def ask(
    repository: Repository,
    *words: str,
    data: bytes = b"",
    limit: float = LIMIT,
    most: int = MOST,
) -> Done:
    """The answer of Git. Raises CpuplanError (CP688) where it has none."""
    done = run(repository, *words, data=data, limit=limit, most=most)
    if done.code:
        raise unusable(repository, done.problem)
    return done


def run_as_user(
    repository: Repository,
    *words: str,
    data: bytes = b"",
    also: Mapping[str, str] = {},
    held: tuple[int, ...] = (),
) -> Done:
    """Let Git commit or reach a remote, as the configuration says that `own.py` allows.

    Only here programs of the user may start: those that sign, and those that know passwords.
    `held` are files that Git keeps open.
    """
    configuration = {"GIT_CONFIG_GLOBAL": os.fspath(repository.own_configuration)}
    allowed = {"GIT_ALLOW_PROTOCOL": ":".join(PROTOCOLS)}
    environment = {
        **_environment(repository, (*PERSONS, *REMOTES)),
        **_ALONE,
        **configuration,
        **allowed,
        **also,
    }
    return _run(repository, words, data, environment, LONG, MOST, held=held)


def list_configuration(repository: Repository, git_dir: str) -> Done:
    """All that the user's and the repository's configuration say, with its scopes.

    Git tells it and acts on none of it; this is the only question that it is asked in a folder that
    is not ours, as conditions in the user's files are about that folder.
    """
    environment = _environment(repository, CONFIGURATION) | {"LC_ALL": "C", "GIT_DIR": git_dir}
    words = ("config", "--list", "-z", "--show-scope", "--includes")
    return _run(repository, words, b"", environment, LIMIT, MOST)


def users_paths(repository: Repository, key: str) -> list[str]:
    """The paths that a key of the user's and the system's configuration has, some empty."""
    environment = _environment(repository, CONFIGURATION) | {"LC_ALL": "C"}
    words = ("config", "--get-all", "-z", "--type=path", key)
    done = _run(repository, words, b"", environment, LIMIT, MOST)
    return text(done.output).split("\0")[:-1]


def _environment(repository: Repository, kept: tuple[str, ...]) -> dict[str, str]:
    """The caller's environment, without folders for configuration that a commit could fill."""
    top = os.fspath(repository.top)
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or (kept and name.startswith(kept))
    }
    for name in _PLACES:
        value = environment.get(name)
        if value and is_below(os.path.realpath(value), top):
            environment[name] = os.fspath(repository.door / "none")
    return environment


def _run(
    repository: Repository,
    words: Sequence[str],
    data: bytes,
    environment: Mapping[str, str],
    limit: float,
    most: int,
    held: tuple[int, ...] | None = None,
) -> Done:
    """With `held`, what Git may start needs as much memory as it needs."""
    import subprocess  # most comparisons need not ask

    try:
        with subprocess.Popen(
            ["git", *words],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=repository.door,
            env={"GIT_DIR": os.fspath(repository.door_git_dir), **environment},
            pass_fds=(repository.held, *(held or ())),
        ) as process:
            try:
                if held is None:
                    _limit_memory(process.pid)
                output, complaints = _exchange(process, data, limit, most)
                process.wait(timeout=limit)
            except BaseException:
                process.kill()
                raise
    except FileNotFoundError:
        raise unusable(repository, "the program git is not installed") from None
    except subprocess.TimeoutExpired:
        problem = f"`git {words[0]}` gave no answer in {limit:g} seconds"
        raise unusable(repository, problem) from None
    except (OSError, ValueError) as error:  # ValueError: a zero byte in a word
        raise unusable(repository, str(error)) from error
    if output is None:
        problem = f"`git {words[0]}` told more than {most:,} bytes"
        raise TooMuch(unusable(repository, problem).diagnostics)
    return Done(process.returncode, output, repository.as_known(text(complaints)))


def _limit_memory(process: int) -> None:
    """Objects may be small in a repository and large in memory."""
    import resource

    if hasattr(resource, "prlimit"):  # not on macOS
        with suppress(OSError, ValueError):  # it has ended already, or has a lower limit
            resource.prlimit(process, resource.RLIMIT_DATA, (_MEMORY, _MEMORY))


def _exchange(
    process: "subprocess.Popen[bytes]", data: bytes, limit: float, most: int
) -> tuple[bytes | None, bytes]:
    """Write `data` to a process and read what it says; None for more than `most` bytes.

    Raises TimeoutExpired after `limit` seconds.
    """
    import selectors
    import subprocess
    import time

    stdin, stdout, stderr = (
        cast("IO[bytes]", pipe) for pipe in (process.stdin, process.stdout, process.stderr)
    )
    output, error, rest = bytearray(), bytearray(), memoryview(data)
    end = time.monotonic() + limit
    with selectors.DefaultSelector() as selector:
        selector.register(stdout, selectors.EVENT_READ, output)
        selector.register(stderr, selectors.EVENT_READ, error)
        if data:
            os.set_blocking(stdin.fileno(), False)
            selector.register(stdin, selectors.EVENT_WRITE)
        else:
            stdin.close()
        while selector.get_map():
            left = end - time.monotonic()
            if left <= 0:
                raise subprocess.TimeoutExpired(process.args, limit)
            for key, _ in selector.select(left):
                if key.fileobj is stdin:
                    rest = _written(stdin.fileno(), rest)
                    is_done = not rest
                else:
                    piece = os.read(key.fd, _PIECE)
                    key.data.extend(piece)
                    is_done = not piece
                if is_done:
                    selector.unregister(key.fileobj)
                    key.fileobj.close()  # type: ignore[union-attr]
            if len(output) > most:
                process.kill()
                return None, bytes(error)
            del error[_MOST_ERRORS:]
    return bytes(output), bytes(error)


def _written(descriptor: int, rest: memoryview) -> memoryview:
    """What is left to write; nothing where nobody reads any more."""
    try:
        return rest[os.write(descriptor, rest[:_PIECE]) :]
    except BlockingIOError:
        return rest
    except BrokenPipeError:
        return rest[:0]


def unusable(repository: Repository, problem: str) -> CpuplanError:
    """The error for a repository of which Git tells nothing."""
    return CpuplanError([diagnose("CP688", path=repository.shown, problem=problem)])


#: Bytes of a repository's configuration, and of the file HEAD.
_MAX_CONFIG = 1024 * 1024
_MAX_HEAD = 4096
#: What Git must know of a repository to read its objects and branches.
_FORMS = {"extensions.objectformat": "sha1", "extensions.refstorage": "files"}
#: Other extensions (gitrepository-layout(5)), which change nothing for whoever reads it so.
_HARMLESS = frozenset(
    f"extensions.{name}"
    for name in (
        "noop",
        "noop-v1",
        "preciousobjects",
        "partialclone",
        "worktreeconfig",
        "relativeworktrees",
        "compatobjectformat",
        "submodulepathconfig",
    )
)
#: Of all work trees, and of one.
_SHARED = ("packed-refs", "shallow", "reftable")
_OF_ONE = ("index", "FETCH_HEAD", "ORIG_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REBASE_HEAD")
_SETTINGS = """\
[core]
	repositoryformatversion = 1
	bare = true
	hooksPath = /dev/null
	attributesFile = /dev/null
	excludesFile = /dev/null
	fsmonitor = false
	packedGitWindowSize = 32m
	packedGitLimit = 512m
[protocol]
	allow = never
[gc]
	auto = 0
[maintenance]
	auto = false
[fetch]
	recurseSubmodules = false
[push]
	recurseSubmodules = no
"""


@contextmanager
def opened(folder: Path, *, bare: bool = False, writes: bool = False) -> Iterator[Repository]:
    """The repository of a folder. Raises CpuplanError (CP688) where there is none that is used.

    With `bare`, the folder itself may be a repository without a work tree. Objects that are made
    go away again, unless it `writes`.
    """
    try:
        with ExitStack() as stack:
            yield _open(folder, stack, bare=bare, writes=writes)
    except NoRepository as error:
        raise _refused(folder, str(error)) from error


def _open(folder: Path, stack: ExitStack, *, bare: bool, writes: bool) -> Repository:
    place = places.find(os.fspath(folder), bare=bare)
    below = os.path.relpath(os.path.realpath(folder), place.top)
    prefix = "" if below == os.curdir else f"{below}/"
    try:
        held = stack.enter_context(cache.temporary_folder())
        (held.path / "common").mkdir()
        repository = Repository(
            folder, Path(place.top), prefix, place, held.path, held.descriptor, {}
        )
        return _fill(repository, writes=writes)
    except OSError as error:
        raise _refused(folder, f"{error.filename}: {error.strerror or error}") from error


def _refused(folder: Path, problem: str) -> CpuplanError:
    return CpuplanError([diagnose("CP688", path=folder, problem=problem)])


def _fill(repository: Repository, *, writes: bool) -> Repository:
    place, common = repository.place, repository.door / "common"
    (common / "HEAD").write_bytes(_head(place.common))
    (common / "config").write_text(_SETTINGS)
    os.symlink(f"{place.common}/objects", repository.door / "store")
    os.symlink(f"{place.common}/refs", common / "refs")
    if writes:
        os.makedirs(f"{place.common}/logs/refs", exist_ok=True)
        os.symlink("../store", common / "objects")
    else:
        (common / "objects/info").mkdir(parents=True)
        (common / "objects/info/alternates").write_text("../../store\n")
    if place.git_dir != place.common:
        _add_work_tree(repository)
    _check_owner(repository)
    repository = repository._replace(settings=_settings(repository, place.git_dir))
    places.check_return(place, repository.settings.get("core.worktree"))
    for problem in places.alternates(place.common, place.top):
        raise NoRepository(problem)
    (common / "config").write_text(_SETTINGS + _form(repository))
    _link(place.common, common, _SHARED)
    _link(place.git_dir, repository.door_git_dir, _OF_ONE)
    _link(place.git_dir, repository.door_git_dir, _shared_indexes(place.git_dir))
    (common / "logs").mkdir()
    os.symlink(f"{place.common}/logs/refs", common / "logs/refs")
    return repository


def _add_work_tree(repository: Repository) -> None:
    """A linked work tree has a HEAD of its own, and all else in common."""
    folder = repository.door / "git"
    folder.mkdir()
    (folder / "HEAD").write_bytes(_head(repository.place.git_dir))
    (folder / "commondir").write_text("../common\n")
    for name in ("refs", "reftable"):
        _link(repository.place.git_dir, folder, (name,))


def _link(source: str, target: Path, names: tuple[str, ...]) -> None:
    for name in names:
        if os.path.lexists(f"{source}/{name}"):
            os.symlink(f"{source}/{name}", target / name)


def _shared_indexes(git_dir: str) -> tuple[str, ...]:
    """The files to which a divided index (core.splitIndex) refers."""
    return tuple(name for name in os.listdir(git_dir) if name.startswith("sharedindex."))


def _head(git_dir: str) -> bytes:
    """The content of HEAD, which in old repositories is a link."""
    path = f"{git_dir}/HEAD"
    if os.path.islink(path):
        return b"ref: %s\n" % os.fsencode(os.readlink(path))
    return _read(path, _MAX_HEAD)


def _read(path: str, limit: int) -> bytes:
    try:
        return read_regular(path, limit=limit)
    except Unreadable as error:
        raise NoRepository(f"{path}: {error.problem}") from error


def _check_owner(repository: Repository) -> None:
    """Raise NoRepository for a repository of others, as Git does without `safe.directory`."""
    strangers = places.strangers(repository.place)
    if not strangers:
        return
    is_safe = False
    for path in users_paths(repository, "safe.directory"):
        if not path:
            is_safe = False
        elif path == "*":
            is_safe = True
        else:
            is_safe = is_safe or _covers(path, repository.place.top)
    if not is_safe:
        top = repository.place.top
        remedy = f"if you trust it: `git config --global --add safe.directory {top}`"
        raise NoRepository(f"{strangers[0]} belongs to another user; {remedy}")


def _covers(path: str, top: str) -> bool:
    if path.endswith("/*"):
        return top.startswith(os.path.realpath(path[:-2]) + os.sep)
    return os.path.isabs(path) and os.path.realpath(path) == top


def _settings(repository: Repository, git_dir: str) -> dict[str, str]:
    """What the repository says of itself and of one work tree; nothing is included."""
    settings = _parsed(repository, f"{repository.place.common}/config")
    of_one = f"{git_dir}/config.worktree"
    if settings.get("extensions.worktreeconfig") in TRUE:
        settings |= _parsed(repository, of_one)
    return settings


def _parsed(repository: Repository, path: str) -> dict[str, str]:
    """The settings in a file; Git takes a repository without one for one of plain form."""
    data = _read(path, _MAX_CONFIG) if os.path.lexists(path) else b""
    told = ask(repository, "config", "--file", "-", "--no-includes", "--list", "-z", data=data)
    settings = {}
    for part in told.parts:
        key, has_value, value = part.partition("\n")
        settings[key] = value if has_value else "true"
    return settings


def _form(repository: Repository) -> str:
    """The lines that say how objects and branches are kept. Raises NoRepository for others."""
    settings = repository.settings
    if settings.get("core.repositoryformatversion", "0") not in ("0", "1"):
        raise NoRepository("its form (core.repositoryformatversion) is not known")
    lines = []
    for key, value in settings.items():
        if key in _FORMS:
            lines.append((key, value))
        elif key.startswith("extensions.") and key not in _HARMLESS:
            raise NoRepository(f"it has the extension {key.partition('.')[2]}, which is not known")
        elif key == "core.sharedrepository":
            lines.append((key, value))
    return configuration_text(lines)


def checked_out(repository: Repository, branch: str) -> str | None:
    """The folder of the work tree in which a branch is checked out; None if it is in none."""
    common = repository.place.common
    is_bare = _settings(repository, common).get("core.bare") in TRUE
    folders = [] if is_bare else [common]
    linked = os.path.join(common, "worktrees")
    if os.path.isdir(linked):
        folders += [os.path.join(linked, name) for name in sorted(os.listdir(linked))]
    for git_dir in folders:
        if _branch_of(repository, git_dir) == f"refs/heads/{branch}":
            return _work_tree(git_dir, common)
    return None


def _branch_of(repository: Repository, git_dir: str) -> str:
    """The branch that HEAD names; empty for none, also in a work tree that is being removed."""
    try:
        head = os.fsdecode(_head(git_dir))
    except NoRepository:
        return ""
    if "refs/heads/.invalid" not in head:
        return head.removeprefix("ref:").strip()
    # With reftable, HEAD is in the table of its work tree.
    folder = repository.door / "asked"
    folder.mkdir()
    (folder / "HEAD").write_text(head)
    (folder / "commondir").write_text("../common\n")
    _link(git_dir, folder, ("refs", "reftable"))
    name = run(repository, "symbolic-ref", "HEAD", also={"GIT_DIR": os.fspath(folder)}).line
    shutil.rmtree(folder)
    return name


def _work_tree(git_dir: str, common: str) -> str:
    if git_dir != common:
        named = os.fsdecode(_read(f"{git_dir}/gitdir", _MAX_HEAD).rstrip(b"\n"))
        return os.path.dirname(os.path.join(git_dir, named))
    return os.path.dirname(common)
