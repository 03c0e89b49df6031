"""Git repositories inside of folders, told from names alone, whether Git is installed or not.

A commit may hold folders that are repositories, with configuration that starts programs: Git takes
any folder with `HEAD`, `objects` and `refs` for one. It refuses to commit the name `.git`; an
archive may have it.
"""

import os
from collections.abc import Collection, Iterable, Iterator

#: What Git calls its folder in a work tree, or the file that names it.
DOT_GIT = ".git"
#: HFS+ passes over these letters in a name.
_IGNORED = dict.fromkeys(
    [*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF]
)
_OBJECTS = {"objects", "refs"}


def find_top(folder: str) -> str | None:
    """The nearest folder with `.git`, from a link-free path upwards on its file system."""
    try:
        device = os.stat(folder).st_dev
        while not os.path.lexists(os.path.join(folder, DOT_GIT)):
            above = os.path.dirname(folder)
            if above == folder or os.stat(above).st_dev != device:
                return None
            folder = above
    except (OSError, ValueError):
        return None
    return folder


def is_dot_git(name: str) -> bool:
    """Whether some file system takes a name for `.git`: in other letters, as NTFS's short one."""
    if name[:1] not in ".gG" and name.isascii():
        return False
    plain = name.translate(_IGNORED).casefold().partition(":")[0].rstrip(" .")
    return plain in (".git", "git~1")


def is_repository(names: Collection[str]) -> bool:
    """Whether a folder with these names is one that Git takes for a repository."""
    if not any(name in ("HEAD", "head") for name in names):
        return False
    lower = {name.casefold() for name in names}
    return lower >= _OBJECTS or "commondir" in lower


def nested(names: Collection[str]) -> str | None:
    """The name in a folder that makes a repository of it; empty if the folder itself is one."""
    for name in names:
        if is_dot_git(name):
            return name
    return "" if is_repository(names) else None


def find(*folders: str) -> Iterator[str]:
    """The repositories at and below folders; links are not followed, a missing folder has none."""
    todo = list(folders)
    while todo:
        folder = todo.pop()
        try:
            with os.scandir(folder) as entries:
                below = {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
        except OSError:
            continue  # whoever reads the folder says why it cannot
        name = nested(below)
        if name is not None:
            yield os.path.join(folder, name).rstrip(os.sep)
            continue
        todo += [f"{folder}/{name}" for name, is_folder in below.items() if is_folder]


def among(paths: Iterable[str]) -> list[str]:
    """The repositories that paths of files, as a tree of Git has them, would make, sorted."""
    names: dict[str, set[str]] = {}
    for path in paths:
        folder, slash, name = path.rpartition("/")
        while name not in names.setdefault(folder, set()):
            names[folder].add(name)
            if not slash:
                break
            folder, slash, name = folder.rpartition("/")
    places = ((folder, nested(members)) for folder, members in names.items())
    return sorted(f"{folder}/{name}".strip("/") for folder, name in places if name is not None)
