"""The project's folder and its repository, and what files are called in messages.

One rule: paths are relative to the repository (the top folder of Git's work tree; without Git, the
project's folder), so that a code host finds them, from wherever cpuplan was called. Only on a
terminal they are relative to where its user stands, so that they can be clicked and copied.
"""

import os
from functools import cached_property
from pathlib import Path

from cpuplan.base.files import DOT_GIT, find_top
from cpuplan.language.read.files import FOLDERS


def find_project() -> Path:
    """The nearest folder with inventories/ or intents/, from here upwards; `.` if there is none.

    The result is relative: `.`, `..`, `../..`.

    The search ends at the top of a Git work tree, at the home folder, and at the root of the file
    system.
    """
    folder = os.getcwd()
    home = os.path.realpath(os.path.expanduser("~"))
    for steps in range(folder.count(os.sep) + 1):
        if any(os.path.isdir(os.path.join(folder, name)) for name in FOLDERS):
            return Path(*[os.pardir] * steps)
        if folder == home or os.path.lexists(os.path.join(folder, DOT_GIT)):
            break
        folder = os.path.dirname(folder)
    return Path()


class Names:
    """What the files of messages are called; `root` is the project's folder.

    A path of a message is relative to the project, or to where the user stands if it came with the
    command line.
    """

    def __init__(self, root: Path) -> None:
        self.root = os.path.realpath(root)

    @cached_property
    def repository(self) -> str:
        """The top folder of the Git work tree of the project; without Git, the project's folder."""
        return find_top(self.root) or self.root

    def place(self, path: str) -> str:
        """The absolute path. A link is where it lies, not where it leads: Git has it there."""
        inside = os.path.normpath(os.path.join(self.root, path))
        if not os.path.isabs(path) and not os.path.lexists(inside) and os.path.lexists(path):
            inside = os.path.abspath(path)
        folder, name = os.path.split(inside)
        if _is_below(inside, self.root):
            return inside
        return os.path.join(os.path.realpath(folder), name)

    def in_repository(self, path: str) -> str:
        """For programs: relative to the repository, with slashes; absolute outside of it."""
        place = self.place(path)
        if _is_below(place, self.repository):
            return os.path.relpath(place, self.repository)
        return place

    def from_here(self, path: str) -> str:
        """For people at a terminal: relative to the current folder.

        Absolute if the file or the current folder is outside of the repository.
        """
        place, here = self.place(path), os.path.realpath(os.curdir)
        inside = _is_below(place, self.repository) and _is_below(here, self.repository)
        return os.path.relpath(place, here) if inside else place


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)
