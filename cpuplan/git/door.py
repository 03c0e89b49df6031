"""The one door to Git: a private folder that stands for a repository, and knows its data only.

Git runs what the configuration of a repository names, in a hundred places. So it never sees that
configuration: it gets a Git folder of ours, with our own few lines, in which objects, branches and
the index are links to those of the repository. What is not linked does not exist: hooks,
attributes, grafts, remotes, promises of objects, other configuration.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from cpuplan.base.files import Unreadable, cache, read_regular
from cpuplan.diagnostics import CpuplanError, diagnose
from cpuplan.git import repository as places
from cpuplan.git.program import ask, configuration_text, run, users_paths
from cpuplan.git.repository import TRUE, NoRepository, Repository

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
