"""Git's program, run so that a repository of others steers as little as possible.

No hook and no monitor that its configuration names runs, and none of the caller's `GIT_DIR`,
`GIT_INDEX_FILE` and the like leads to another repository than that of the folder.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from cpuplan.diagnostics import CpuplanError, diagnose

#: Seconds; on 100,000 files it takes one.
LIMIT = 60
#: Seconds for what may wait for a network, or for a person with a key.
LONG = 600
#: What of the caller's environment Git may see: its configuration, such as `safe.directory` in CI.
_CONFIGURATION = ("GIT_CONFIG_",)
#: And who commits, and how a remote is reached, where that is what is done.
_PERSONS = ("GIT_AUTHOR_", "GIT_COMMITTER_")
_REMOTES = ("GIT_SSH", "GIT_ASKPASS", "GIT_HTTP_", "GIT_SSL_", "GIT_PROXY_", "GIT_TERMINAL_PROMPT")
_OPTIONS = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")


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


def text(data: bytes) -> str:
    """Names as Python has them: bytes that are not UTF-8 survive."""
    return data.decode(errors="surrogateescape")


def run(
    folder: Path,
    *words: str,
    data: bytes = b"",
    also: Mapping[str, str] = {},
    limit: float = LIMIT,
    commits: bool = False,
    options: Sequence[str] = _OPTIONS,
) -> Done:
    """Run Git in `folder`; its exit code is part of the answer.

    `also` is added to its environment; with `commits` it sees who commits and how a remote is
    reached. Raises CpuplanError (CP688) where there is no Git, or no answer in time.
    """
    import subprocess  # most comparisons need not ask

    command = ["git", "-C", os.fspath(folder), *options, *words]
    try:
        done = subprocess.run(
            command,
            input=data,
            capture_output=True,
            check=False,
            timeout=limit,
            env={**_environment(commits=commits), **also},
        )
    except FileNotFoundError:
        raise unusable(folder, "the program git is not installed") from None
    except subprocess.TimeoutExpired:
        problem = f"`git {words[0]}` gave no answer in {limit:g} seconds"
        raise unusable(folder, problem) from None
    except (OSError, ValueError) as error:  # ValueError: a zero byte in a word
        raise unusable(folder, str(error)) from error
    return Done(done.returncode, done.stdout, text(done.stderr))


def ask(folder: Path, *words: str, data: bytes = b"", limit: float = LIMIT) -> Done:
    """The answer of Git in `folder`. Raises CpuplanError (CP688) where it has none."""
    done = run(folder, *words, data=data, limit=limit)
    if done.code:
        raise unusable(folder, done.problem)
    return done


def unusable(folder: Path, problem: str) -> CpuplanError:
    """The error for a folder of which Git tells nothing."""
    return CpuplanError([diagnose("CP688", path=folder, problem=problem)])


def _environment(*, commits: bool) -> dict[str, str]:
    kept = (*_CONFIGURATION, *_PERSONS, *_REMOTES) if commits else _CONFIGURATION
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name.startswith(kept)
    }
    return environment | {"GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
