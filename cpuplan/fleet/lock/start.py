"""Which locked layout a class starts from: layouts belong to nodes, in whatever class they are."""

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from cpuplan.base.cpuset import CpuSet, CpuSetError
from cpuplan.diagnostics.source import Position
from cpuplan.fleet import before
from cpuplan.fleet.before import Before, Key
from cpuplan.fleet.lock.entry import Lock, Locked, digest
from cpuplan.plan import NodeClass


class Start(NamedTuple):
    """A layout that a class may start from, and the class that had it."""

    locked: Locked
    key: Key
    is_own: bool


class Starts:
    """The locked layouts, and which of them the present classes start from."""

    def __init__(self, lock: Lock, compiled: Before, classes: Iterable[NodeClass]) -> None:
        # After a merge the lock may lack an entry, and a deleted lock lacks all of them: `out/` has
        # the layouts too.
        in_out = {
            key: _from_plan(key, record) for key, record in compiled.items() if key not in lock
        }
        self.lock: dict[Key, Locked] = {key: entry for key, entry in in_out.items() if entry}
        self.lock |= lock
        self.current = {node_class.key for node_class in classes}
        self._compiled = compiled
        # Several stages ask the same of all classes.
        self._starts: dict[NodeClass, list[Start]] = {}
        self._had: dict[NodeClass, dict[Key, list[str]]] = {}

    @cached_property
    def members(self) -> dict[Key, list[str]]:
        """The nodes of each class that was compiled before."""
        return before.members(self._compiled)

    @cached_property
    def _classes_of(self) -> dict[Key, list[Key]]:
        """The classes that a node was in, by cluster and node name; several after some merges."""
        classes_of: dict[Key, list[Key]] = {}
        for key, names in self.members.items():
            for name in names:
                classes_of.setdefault((key[0], name), []).append(key)
        return classes_of

    def of(self, node_class: NodeClass) -> list[Start]:
        """The layouts of one locked class, the first choice first; several during a merge.

        That class is the one of the same name, unless it had only other nodes; else the one that
        had most of the nodes, on the same CPUs; else the one of the same hardware without CPUs that
        are offline on some nodes; else one that was solved from the same inputs, because an intent
        was renamed; else one that has no nodes any more, on the same CPUs.
        """
        if node_class not in self._starts:
            self._starts[node_class] = self._found(node_class)
        return self._starts[node_class]

    def _found(self, node_class: NodeClass) -> list[Start]:
        key = next(self._keys(node_class), None)
        if key is None:
            return []
        entry, is_own = self.lock[key], key == node_class.key
        starts = [Start(locked, key, is_own) for locked in (entry, *entry.others)]
        if entry.others:
            wanted = digest(node_class)
            starts.sort(key=lambda start: start.locked.solved_from != wanted)
        return starts

    def had(self, node_class: NodeClass) -> dict[Key, list[str]]:
        """The nodes of the class by the class that they were in before."""
        if node_class not in self._had:
            names_by_class: dict[Key, list[str]] = {}
            for name in node_class.nodes:
                for key in self._classes_of.get((node_class.cluster, name), ()):
                    names_by_class.setdefault(key, []).append(name)
            self._had[node_class] = names_by_class
        return self._had[node_class]

    def _keys(self, node_class: NodeClass) -> Iterator[Key]:
        lock, cluster = self.lock, node_class.cluster
        if not lock:
            return
        had = {key: names for key, names in self.had(node_class).items() if key in lock}
        most = sorted(had, key=lambda key: (-len(had[key]), key))
        own = node_class.key
        # Other nodes had this name, if names were exchanged: their layout is with them.
        is_taken = (
            own not in had
            and self.members.get(own)
            and any(_fits(lock[key], node_class) for key in most)
        )
        if own in lock and not is_taken:
            yield own
            return
        yield from (key for key in most if _fits(lock[key], node_class))
        kin = (cluster, f"{node_class.intent}-{node_class.hardware}")
        if kin in lock:
            yield kin
        here = [key for key in sorted(lock) if key[0] == cluster]
        wanted = digest(node_class)
        yield from (key for key in here if lock[key].solved_from == wanted)
        left = [key for key in here if key not in self.current and not lock[key].gone]
        left = [key for key in left if _fits(lock[key], node_class)]
        yield from sorted(left, key=lambda key: not key[1].startswith(f"{node_class.intent}-"))


def _fits(locked: Locked, node_class: NodeClass) -> bool:
    """Whether a layout is one of a machine with the same CPUs, some of them offline perhaps."""
    online = node_class.topology.online
    return online <= locked.cpus <= online | node_class.topology.offline


def _from_plan(key: Key, compiled: dict[str, object]) -> Locked | None:
    """The layout of a class as `out/` has it."""
    groups = [compiled.get("pools"), compiled.get("sets")]
    sets = [group for group in groups if isinstance(group, dict)]
    try:
        pools = {name: CpuSet.parse(one["cpus"]) for group in sets for name, one in group.items()}
    except (CpuSetError, KeyError, TypeError):
        return None
    place = Position(f"out/{before.CLASSES}/{key[0]}/{key[1]}.json", 1, 1)
    return Locked("", pools, place, {}, pool=str(compiled.get("pool", ""))) if pools else None
