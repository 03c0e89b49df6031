"""A repository, and the private folder through which Git is asked about it (`door.py`)."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from cpuplan.git.places import Place

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
