"""Git's program, run through a private folder: its limits, and what it sees of the caller."""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import IO, TYPE_CHECKING, NamedTuple, cast

from cpuplan.base.files import is_below
from cpuplan.diagnostics import CpuplanError, diagnose
from cpuplan.git.repository import Repository

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
