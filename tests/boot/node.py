"""A node's root file system that is a folder: written to, and a place to run its own programs."""

import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from cpuplan import pipeline
from cpuplan.language.model.intent import Target
from tests.boot import base, guests

_ROOM = Path(__file__).parent / "room" / "room.sh"
_NAMESPACES = ("--mount", "--pid", "--net", "--uts", "--ipc", "--fork")
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin"


class Node(NamedTuple):
    """A node's root file system, and what was compiled for its cluster."""

    name: str
    made: base.Base
    folder: Path

    @property
    def root(self) -> Path:
        """A copy of the base."""
        return self.folder / "root"

    @property
    def target(self) -> Target:
        """The target of its class."""
        return guests.plan(self.name).node_class.target

    @property
    def place(self) -> str:
        """Where compiled files of its class are: a folder, or the start of a name."""
        return f"nodes/{guests.CLUSTER}/{guests.plan(self.name).node_class.name}"

    @property
    def files(self) -> Mapping[str, bytes]:
        """All compiled files, by path."""
        return compiled()

    def manifest(self, start: str) -> dict[str, Any]:
        """The compiled object whose path starts so."""
        (data,) = (data for path, data in self.files.items() if path.startswith(start))
        read: dict[str, Any] = yaml.safe_load(data)
        return read

    def write(self, path: str, data: str | bytes, mode: int = 0o644) -> None:
        """A file of the root."""
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data.encode() if isinstance(data, str) else data)
        place.chmod(mode)

    def run(self, *words: str, **variables: str) -> str:
        """What a program of the root says, which sees compiled files below /mnt."""
        environment = {"PATH": _PATH, **variables}
        room = (str(_ROOM), str(self.root), str(self.folder))
        done = subprocess.run(
            ["unshare", *_NAMESPACES, *room, *words],
            env={**environment, "HOME": "/root", "LC_ALL": "C.UTF-8"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr


@cache
def compiled() -> Mapping[str, bytes]:
    """The files of the guests' project, by path."""
    return pipeline.compile_project(pipeline.load(guests.PROJECT), resolve=True).files
