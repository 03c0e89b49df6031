"""How what belongs to classes is made: by whom, and what is taken from earlier runs."""

import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.files import cache
from cpuplan.base.files.cache import Sealed
from cpuplan.base.program import program_digest
from cpuplan.base.progress import follow
from cpuplan.base.topology import Topology
from cpuplan.diagnostics import CpuplanError
from cpuplan.fleet import lock
from cpuplan.fleet.classes import classes_by_layout
from cpuplan.fleet.lock import Locked
from cpuplan.fleet.previous import Key
from cpuplan.language.model.base import Model
from cpuplan.pipeline import batch
from cpuplan.pipeline.batch import (
    Batch,
    Keeping,
    Made,
    Result,
    Unit,
    UnpackError,
    pack,
    unpack_parts,
)
from cpuplan.plan import Limited, NodeClass
from cpuplan.workers import HERE, Workers, results

if TYPE_CHECKING:
    from cpuplan.backends.parts import Parts, Wanted


class UnknownError(TypeError):
    """A value that no digest is made of."""


class Digests:
    """Digests of values; those that many classes share are made once."""

    def __init__(self) -> None:
        self._made: dict[int, str] = {}
        # An id is that of one value only while the value is there.
        self._alive: list[object] = []

    def facts(self, unit: Unit, beside: object) -> str:
        """All that a unit's result depends on, but the layouts that it starts from."""
        members = [self.text(vars(member)) for member in unit.members]
        return _sha(f"{program_digest()} {self.text(beside)} {members}")

    def text(self, value: Any) -> str:
        """A text that only equal values have."""
        if value is None or isinstance(value, bool | int | float | str):
            return repr(value)
        if isinstance(value, Enum):
            return f"{type(value).__name__}.{value.name}"
        if isinstance(value, CpuSet):
            return f"cpus {value.bits:x}"
        if isinstance(value, Mapping):
            items = (f"{self.text(key)}:{self.text(item)}" for key, item in value.items())
            return f"{{{','.join(items)}}}"
        if isinstance(value, tuple) and all(type(item) is str for item in value):
            return repr(value)  # names of nodes, thousands of them
        if isinstance(value, tuple | list):
            return f"{type(value).__name__}({','.join(map(self.text, value))})"
        if isinstance(value, Model | Topology):
            return self._once(value)
        raise UnknownError(type(value).__name__)

    def _once(self, value: Model | Topology) -> str:
        digest = self._made.get(id(value))
        if digest is None:
            text = self._topology(value) if isinstance(value, Topology) else self._model(value)
            digest = self._made[id(value)] = _sha(text)
            self._alive.append(value)
        return digest

    def _topology(self, value: Topology) -> str:
        return self.text((value.cpus, value.offline, value.numa_facts, value.kubelet))

    def _model(self, value: Model) -> str:
        """What is written in it, which some rules ask; the program knows the defaults.

        Not by pydantic, which would first build a serializer for each class of models.
        """
        written = {
            name: field for name, field in vars(value).items() if name in value.model_fields_set
        }
        return f"{type(value).__name__} {self.text(written)}"


def kept_digest(facts: str, layout: Mapping[str, CpuSet], limited: Limited | None) -> str:
    """The key of a result that has this layout, which was found to satisfy every rule.

    What was not proven of it is part of the result.
    """
    return _sha(f"{facts} has {_pools(layout)} {limited}")


def solved_digest(facts: str, unit: Unit) -> str:
    """The key of the result of a unit with all layouts that it may start from."""
    starts = [
        [(start.key, start.is_own, *map(_locked, (start.locked, *start.locked.others)))]
        for group in unit.starts
        for start in group
    ]
    return _sha(f"{facts} from {starts}")


def parts_digest(result: str, wanted: "Wanted") -> str:
    """The key of the files of a class, whose settings are those of the `result` with this key.

    "" where facts have no digest.
    """
    try:
        facts = Digests().text(wanted.facts)
    except UnknownError:
        return ""
    return _sha(f"{result} {wanted.plan.node_class.key} {facts}")


def _locked(locked: Locked) -> tuple[object, ...]:
    return (locked.solved_from, _pools(locked.pools), *locked.content[2:])


def _pools(layout: Mapping[str, CpuSet]) -> list[tuple[str, str]]:
    return sorted((name, f"{cpus.bits:x}") for name, cpus in layout.items() if cpus)


def _sha(text: str) -> str:
    return sha256(text.encode()).hexdigest()


#: Results that are kept, and their bytes together; the oldest go first.
MOST = 100_000
MOST_BYTES = 512 * 1024 * 1024
#: Of one result, as it is kept and as it is.
_LIMIT = 8 * 1024 * 1024
_LIMIT_UNPACKED = 32 * 1024 * 1024
#: Of zlib, which makes a fifth of a result in a tenth of a millisecond.
_LEVEL = 1


class Store:
    """A folder that nobody else can write."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files = Sealed(folder)

    @property
    def is_safe(self) -> bool:
        """Whether the folder is one's own, or is not there yet, and what it holds can be proven."""
        return self._files.is_usable

    def find(self, name: str) -> bytes | None:
        """The bytes that were saved by a name; None if there are none, or not whole."""
        packed = self._files.read(name, _LIMIT)
        return _inflated(packed) if packed else None

    def save(self, names: Sequence[str], data: bytes) -> None:
        """Keep bytes by all these names, if that is possible."""
        packed = zlib.compress(data, _LEVEL)
        if len(data) <= _LIMIT_UNPACKED and len(packed) <= _LIMIT:
            self._files.write(names, packed)

    def prune(self) -> None:
        """Take the oldest results out, where there are too many; another run may do the same."""
        try:
            entries = [(entry.stat(), entry.path) for entry in os.scandir(self._folder)]
        except OSError:
            return
        entries.sort(key=lambda entry: entry[0].st_mtime_ns, reverse=True)
        size = 0
        for number, (about, path) in enumerate(entries, 1):
            size += about.st_size // max(1, about.st_nlink)  # a result may have two names
            if number > MOST or size > MOST_BYTES:
                Path(path).unlink(missing_ok=True)


def _inflated(packed: bytes) -> bytes | None:
    """The bytes that were packed, all of them and no more than a result has; None for others."""
    inflating = zlib.decompressobj()
    try:
        data = inflating.decompress(packed, _LIMIT_UNPACKED)
    except zlib.error:
        return None
    return data if inflating.eof and not inflating.unused_data else None


class Cache:
    """The results in a folder that nobody else can write; none where there is no such folder."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        store = Store(folder) if folder else None
        self._store = store if store and store.is_safe else None
        #: Whether anything of it was believed.
        self.is_used = False
        #: By class, the name of its result: all that its files depend on.
        self._names: dict[Key, str] = {}

    @classmethod
    def of_user(cls, project: Path | None = None) -> "Cache":
        """The one in the user's cache folder; none where that is not used for a project."""
        folder = cache.cache_folder(project)
        return cls(folder / "classes" if folder else None)

    def results(self, batch: Batch, workers: Workers) -> Iterator[Made]:
        """The results of all units, in their order; those that are not kept yet are made."""
        if self._store is None:
            yield from (result.made for result in results(batch, workers))
            return
        names = _Names(batch)
        kept = [_find(self._store, batch, unit, names) for unit in batch.units]
        self.is_used = self.is_used or any(made is not None for made in kept)
        missing = [unit for unit, made in zip(batch.units, kept, strict=True) if made is None]
        keep = _Keep(self._store, {unit.members[0].key: names.facts(unit) for unit in missing})
        work = batch.of(missing)
        # Processes of this machine keep what they make; workers of others have other folders.
        is_kept = workers.executor is None
        made_now = results(Keeping(work, keep) if is_kept else work, workers)
        for unit, known in zip(batch.units, kept, strict=True):
            result = Result(known) if known else next(made_now)
            after = _names_of(unit, result.made, names.facts(unit))
            if known is None and not is_kept:
                _save(self._store, after, result.made)
            self._names |= {member.key: after[0] for member in unit.members if after}
            yield result.made
        if missing:
            self._store.prune()  # of the files that follow, the next run that makes a class

    def parts(self, wanted: "Sequence[Wanted]") -> "Iterator[Parts]":
        """The parts of each class, in their order; those that are not kept yet are made."""
        from cpuplan.backends import parts

        for wanted_parts in wanted:
            name = self._name_of_parts(wanted_parts)
            kept = self._find_parts(name)
            made = kept or parts.of(wanted_parts)
            self.is_used = self.is_used or kept is not None
            if self._store and name and kept is None:
                _save(self._store, [name], made)
            yield made

    def _find_parts(self, name: str) -> "Parts | None":
        data = self._store.find(name) if self._store and name else None
        try:
            return unpack_parts(data) if data else None
        except UnpackError:
            return None

    def _name_of_parts(self, wanted: "Wanted") -> str:
        """The name of the parts of a class; "" where its result is not kept."""
        result = self._names.get(wanted.plan.node_class.key)
        return parts_digest(result, wanted) if result else ""


def _find(store: Store, batch: Batch, unit: Unit, names: "_Names") -> Made | None:
    for name in names.before(unit):
        data = store.find(name)
        if data:
            try:
                return batch.read(data, unit)
            except UnpackError:
                continue
    return None


def _save(store: Store, names: Sequence[str], made: "Made | Parts") -> None:
    """Keep what was made; what no bytes can be made of is made each time."""
    with suppress(UnpackError):
        store.save(names, pack(made))


@dataclass(frozen=True)
class _Keep:
    """Keeps results by the facts of each unit; a value that can be sent."""

    store: Store
    facts: Mapping[Key, str]

    def __call__(self, unit: Unit, made: Made) -> None:
        names = _names_of(unit, made, self.facts[unit.members[0].key])
        if names:
            _save(self.store, names, made)


def _names_of(unit: Unit, made: Made, facts: str) -> list[str]:
    """Where a result is kept; nowhere without a layout, or with the lines of something."""
    diagnostics = [*made.problems, *(finding for group in made.findings for finding in group)]
    if not facts or not made.plans or any(map(batch.has_lines, diagnostics)):
        return []
    plan = made.plans[0]
    return [kept_digest(facts, plan.layout, plan.limited), solved_digest(facts, unit)]


class _Names:
    """The names of results, by what they depend on."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self._digests = Digests()
        self._facts: dict[int, str] = {}

    def before(self, unit: Unit) -> Iterator[str]:
        """Where a result of a unit may be: with the layout that it has, or solved from others."""
        facts = self.facts(unit)
        if facts:
            first = unit.first
            if first:
                yield kept_digest(facts, first.pools, first.limited)
            yield solved_digest(facts, unit)

    def facts(self, unit: Unit) -> str:
        """The digest of a unit's facts; "" where there is none."""
        if id(unit) not in self._facts:
            beside = self._batch.beside(unit)
            try:
                facts = self._digests.facts(unit, beside)
            except UnknownError:
                facts = ""
            self._facts[id(unit)] = facts
        return self._facts[id(unit)]


Done = TypeVar("Done")


class Making(NamedTuple):
    """The workers, and the cache of earlier results, if any. No result depends on them."""

    workers: Workers = HERE
    cache: Cache | None = None

    def attempt(self, work: Callable[["Making"], Done]) -> Done:
        """Do what follows from these results; once more without them where that is impossible.

        Of what was kept, or came from the workers of an executor, each value is one that can be,
        but together they may be of no plan that cpuplan makes.
        """
        try:
            return work(self)
        except CpuplanError:
            raise
        except Exception:
            is_of_others = self.workers.executor is not None
            if not (is_of_others or (self.cache and self.cache.is_used)):
                raise
        return work(PLAIN)

    def of(self, batch: Batch) -> Iterator[tuple[Unit, Made]]:
        """Each unit with what is made of it, in their order."""
        pairs = zip(batch.units, self._made(batch), strict=True)
        return iter(follow("layouts", len(batch), pairs, lambda pair: pair[0].names[0]))

    def _made(self, batch: Batch) -> Iterator[Made]:
        if self.cache:
            return self.cache.results(batch, self.workers)
        return (result.made for result in results(batch, self.workers))

    def parts(self, wanted: "Sequence[Wanted]") -> "Iterable[Parts]":
        """The parts of each class of `wanted`, of which `of` made the plans, in their order."""
        from cpuplan.backends import parts

        return self.cache.parts(wanted) if self.cache else parts.every(wanted)


#: In this process, from nothing.
PLAIN = Making()


def batch_of(
    classes: Sequence[NodeClass],
    known: lock.Starts,
    documents: Iterable[batch.Name],
    *,
    checked: bool,
    seconds: float | None,
) -> Batch:
    """The classes by layout, with the layouts that they start from; see `Batch`."""
    units = []
    for members in classes_by_layout(classes):
        starts = tuple(tuple(known.of(member)) for member in members)
        units.append(Unit(tuple(members), starts))
    kin: dict[str, list[NodeClass]] = {}
    for node_class in classes:
        kin.setdefault(node_class.intent, []).append(node_class)
    return Batch(units, kin, frozenset(documents), checked=checked, seconds=seconds)
