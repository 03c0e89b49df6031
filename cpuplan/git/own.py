"""What the user's and the repository's configuration may say where Git commits or reaches a remote.

The user's own configuration (global, system, of the command line) says everything. That of the
repository says values only, by this list: who commits, whether commits are signed and with which
key, and how remotes are reached. A program (`gpg.program`, `core.sshCommand`, `credential.helper`,
a hook, a filter) it cannot name.
"""

import os
import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import unquote

from cpuplan.base.files import is_below
from cpuplan.git.configuration import as_text
from cpuplan.git.program import PROTOCOLS, list_configuration, unusable
from cpuplan.git.repository import TRUE, Repository

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
    text = as_text(settings).encode(errors="surrogateescape")
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
