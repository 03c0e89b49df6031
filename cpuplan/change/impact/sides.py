"""One side of a comparison: what was compiled, read from the files of `out/` and nothing else."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from cpuplan.change.impact.earlier import (
    Object,
    ObjectId,
    is_made,
    is_object,
    read_class,
    read_object,
)
from cpuplan.fleet.before import CLASSES, Key
from cpuplan.plan.expected.state import FOLDER as STATES
from cpuplan.plan.expected.state import Expected, UnreadableStateError, read


class Side:
    """A tree of compiled files, by path below `out/`; each part is parsed when it is asked for.

    DamagedError for a part that is not what was compiled.
    """

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = files
        self._states: dict[Key, Expected | None] = {}
        self._objects: dict[str, Mapping[ObjectId, Object]] = {}

    @cached_property
    def classes(self) -> Mapping[Key, Mapping[str, Any]]:
        """The plan of each class as `backends.planfile` writes it, by cluster and class."""
        found = {}
        for path in sorted(self.files):
            if path.startswith(f"{CLASSES}/"):
                data = read_class(path, self.files[path])
                found[data["cluster"], data["class"]] = data
        return found

    @cached_property
    def by_node(self) -> Mapping[tuple[str, str], Key]:
        """The class of each (cluster, node)."""
        return {(key[0], node): key for key, plan in self.classes.items() for node in plan["nodes"]}

    def state(self, key: Key) -> Expected | None:
        """The expected state of a class; None where an earlier release wrote none, or another."""
        if key not in self._states:
            self._states[key] = self._read_state(key)
        return self._states[key]

    def _read_state(self, key: Key) -> Expected | None:
        data = self.files.get(f"clusters/{key[0]}/{STATES}/{key[1]}.json")
        try:
            return read(data.decode()) if data is not None else None
        except (UnreadableStateError, UnicodeDecodeError):
            return None

    def objects(self, cluster: str) -> Mapping[ObjectId, Object]:
        """The objects of a cluster's API, those for its hosting cluster included."""
        if cluster not in self._objects:
            found = self._read_objects(f"clusters/{cluster}/")
            self._objects[cluster] = {each.id: each for each in found}
        return self._objects[cluster]

    def _read_objects(self, start: str) -> Iterator[Object]:
        for path in sorted(self.files):
            if path.startswith(start) and is_object(path):
                yield read_object(path, self.files[path])

    def made(self, cluster: str) -> tuple[Mapping[str, Any], ...]:
        """The objects that operators make of those of a cluster."""
        start = f"clusters/{cluster}/"
        paths = [path for path in sorted(self.files) if path.startswith(start) and is_made(path)]
        return tuple(read_object(path, self.files[path]).data for path in paths)

    def node_files(self, key: Key) -> Mapping[str, bytes]:
        """The files of a class's nodes, by absolute path; empty where objects bring them."""
        start = f"nodes/{key[0]}/{key[1]}/"
        return {
            path.removeprefix(start[:-1]): data
            for path, data in self.files.items()
            if path.startswith(start)
        }


class Pair(NamedTuple):
    """Nodes that were in one class and are in one class now; None where they are in no class."""

    before: Key | None
    after: Key | None
    #: In one cluster.
    cluster: str
    nodes: tuple[str, ...]
