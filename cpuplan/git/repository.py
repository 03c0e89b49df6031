"""Where a project's repository is, and whose: found by cpuplan itself, never by Git."""

import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from cpuplan.base.files import DOT_GIT, Unreadable, find_top, is_below, is_repository, read_regular

#: Of a file that names a folder.
_MAX_BYTES = 16 * 1024
#: Stores of objects in a row, each of which names the next one.
_MAX_ALTERNATES = 5
_GITFILE = re.compile(rb"gitdir: ([^\0\n\r]+)[\n\r]*\Z")


class NoRepository(Exception):  # noqa: N818 - what is the case, not what went wrong
    """No repository that is used, with a phrase for messages."""


class Place(NamedTuple):
    """A repository: the folder that its paths are relative to, and the folders of Git.

    `git_dir` is that of the work tree; `common` is the same, unless the work tree is a linked one.
    """

    top: str
    git_dir: str
    common: str


def find(folder: str, *, bare: bool = False) -> Place:
    """The repository of a folder; with `bare`, the folder itself may be one without work tree.

    Raises NoRepository.
    """
    real = os.path.realpath(folder)
    top = find_top(real)
    if bare and top != real and is_repository(_names(real)):
        return Place(real, real, real)
    if top is None:
        raise NoRepository("no folder here or above it has a repository (`.git`)")
    shown = os.path.join(top, DOT_GIT)
    git_dir = os.path.realpath(shown)
    if os.path.isdir(git_dir):
        if is_below(git_dir, top) and git_dir != shown:
            raise NoRepository(f"{shown} leads to {git_dir}, where a commit can put anything")
        return Place(top, git_dir, _common(git_dir, shown))
    git_dir = _named_in(shown, top)
    return Place(top, git_dir, _common(git_dir, shown))


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError as error:
        raise NoRepository(f"{folder}: {error.strerror}") from error


def _named_in(file: str, top: str) -> str:
    """The folder that a file `.git` names."""
    match = _GITFILE.match(_content(file))
    if match is None:
        raise NoRepository(f"{file} is no folder, and names none (`gitdir: ...`)")
    git_dir = os.path.realpath(os.path.join(top, os.fsdecode(match[1])))
    if not os.path.isdir(git_dir):
        raise NoRepository(f"{file} names {git_dir}, which is no folder")
    if is_below(git_dir, top):
        raise NoRepository(f"{file} names {git_dir}, where a commit can put anything")
    return git_dir


def _content(path: str) -> bytes:
    try:
        return read_regular(path, limit=_MAX_BYTES)
    except Unreadable as error:
        raise NoRepository(f"{path}: {error.problem}") from error


def _common(git_dir: str, shown: str) -> str:
    """The folder that all work trees share. Raises NoRepository for what is no repository."""
    names = _names(git_dir)
    if not is_repository(names):
        raise NoRepository(f"{git_dir} is not a Git repository")
    if "commondir" not in names:
        return git_dir
    named = _content(os.path.join(git_dir, "commondir")).rstrip(b"\n")
    common = os.path.realpath(os.path.join(git_dir, os.fsdecode(named)))
    if os.path.dirname(git_dir) != os.path.join(common, "worktrees"):
        raise NoRepository(f"{git_dir} is no work tree of {common}, which it names")
    if not is_repository(_names(common)):
        raise NoRepository(f"{common} is not a Git repository")
    return common


def check_return(place: Place, work_tree: str | None) -> None:
    """Raise NoRepository if `.git` is a file or link, and the folder it names does not name it.

    `work_tree` is the setting core.worktree of the repository.
    """
    shown = os.path.join(place.top, DOT_GIT)
    if place.git_dir in (place.top, shown):
        return
    if place.git_dir != place.common:
        named = os.fsdecode(_content(os.path.join(place.git_dir, "gitdir")).rstrip(b"\n"))
        back = os.path.realpath(os.path.join(place.git_dir, named))
        remedy = "`git worktree repair` mends that"
    else:
        back = os.path.realpath(os.path.join(place.git_dir, work_tree or ".", DOT_GIT))
        remedy = f"`git config core.worktree {place.top}` mends that"
    if back != shown:
        raise NoRepository(f"{shown} names {place.git_dir}, which does not name it; {remedy}")


def strangers(place: Place) -> list[str]:
    """The parts of a repository that belong to another user, by the rule of `safe.directory`."""
    parts = (place.top, os.path.join(place.top, DOT_GIT), place.git_dir, place.common)
    return [path for path in dict.fromkeys(parts) if not _is_ours(path)]


def _is_ours(path: str) -> bool:
    try:
        owner = os.lstat(path).st_uid
    except FileNotFoundError:
        return True  # a bare repository has no `.git`
    return owner in _users()


def _users() -> set[int]:
    users = {os.geteuid()}
    sudo = os.environ.get("SUDO_UID", "")
    if users == {0} and sudo.isascii() and sudo.isdigit():
        users.add(int(sudo))
    return users


def alternates(common: str, top: str) -> Iterable[str]:
    """Why folders from which a repository takes objects are not used.

    They are those of `git clone --reference` and `--shared`; Git follows five in a row.
    """
    todo = [(os.path.join(common, "objects"), 0)]
    while todo:
        store, depth = todo.pop()
        listing = os.path.join(store, "info", "alternates")
        if not os.path.lexists(listing):
            continue
        for line in _content(listing).splitlines():
            if not line or line.startswith(b"#"):
                continue
            real = os.path.realpath(store)
            path = os.path.realpath(os.path.join(real, os.fsdecode(line)))
            if not os.path.isdir(path):
                continue  # Git passes over it
            if line.startswith(b'"') or depth == _MAX_ALTERNATES:
                yield f"{listing} names more than is followed"
            elif is_below(path, top) and not is_below(path, common):
                yield f"{listing} names {path}, where a commit can put anything"
            elif os.lstat(path).st_uid not in {*_users(), 0, os.lstat(common).st_uid}:
                yield f"{listing} names {path}, which belongs to another user"
            else:
                todo.append((path, depth + 1))


#: How a switch says yes.
TRUE = ("true", "yes", "on", "1")


class Repository(NamedTuple):
    """A repository that may be asked; it exists as long as `opened` does."""

    #: As the caller named it.
    shown: Path
    #: The folder that Git's paths are relative to, and the path of the project in it: empty, or
    #: with a slash at its end.
    top: Path
    prefix: str
    place: Place
    #: Our folder, and the open file that holds it.
    door: Path
    held: int
    #: The repository's own settings by key; of several values the last, and nothing included.
    settings: Mapping[str, str]

    @property
    def door_git_dir(self) -> Path:
        """What Git takes for the repository."""
        is_linked = self.place.git_dir != self.place.common
        return self.door / ("git" if is_linked else "common")

    @property
    def own_configuration(self) -> Path:
        """The file that Git reads where it commits or reaches a remote."""
        return self.door / "user.config"

    @property
    def promisors(self) -> list[str]:
        """The remotes that have what a partial clone lacks."""
        keys = (key for key, value in self.settings.items() if value.lower() in TRUE)
        return [
            key[7:-9] for key in keys if key.startswith("remote.") and key.endswith(".promisor")
        ]

    def as_known(self, message: str) -> str:
        """What Git says, with the repository's folders instead of ours."""
        folders = (
            (self.door / "store", f"{self.place.common}/objects"),
            (self.door / "common", self.place.common),
            (self.door / "git", self.place.git_dir),
        )
        for ours, theirs in folders:
            message = message.replace(os.fspath(ours), theirs)
        return message


def object_name(repository: Repository, data: bytes) -> str:
    """The name of a file's content."""
    form = repository.settings.get("extensions.objectformat", "sha1")
    digest = hashlib.new(form, f"blob {len(data)}\0".encode(), usedforsecurity=False)
    digest.update(data)
    return digest.hexdigest()
