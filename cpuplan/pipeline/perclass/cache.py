"""Results of units that were made before, so that after a change only what it touches is made.

They lie in the user's cache folder, never in the project. Their names are digests of all that a
result depends on, the program's files among it: what is found was looked at by this program, on
this machine, with the same facts. The files of a class are kept beside them; those in `out/` are
compared with them all the same.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cpuplan.backends import parts
from cpuplan.backends.parts import Parts, Wanted
from cpuplan.base.files import cached
from cpuplan.fleet.before import Key
from cpuplan.pipeline.perclass import keys, unplaced
from cpuplan.pipeline.perclass.batch import Batch, Result
from cpuplan.pipeline.perclass.keeping import Keeping
from cpuplan.pipeline.perclass.packed import UnpackError, pack, unpack_parts
from cpuplan.pipeline.perclass.store import Store
from cpuplan.pipeline.perclass.unit import Made, Unit
from cpuplan.workers import Workers, results


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
        folder = cached.folder(project)
        return cls(folder / "classes" if folder else None)

    def results(self, batch: Batch, workers: Workers) -> Iterator[Made]:
        """The results of all units, in their order; those that are not kept yet are made."""
        if self._store is None:
            yield from (result.made for result in results(batch, workers))
            return
        names = _Names(batch)
        found = [_find(self._store, batch, unit, names) for unit in batch.units]
        self.is_used = self.is_used or any(made is not None for made in found)
        missing = [unit for unit, made in zip(batch.units, found, strict=True) if made is None]
        keep = _Keep(self._store, {unit.members[0].key: names.facts(unit) for unit in missing})
        work = batch.of(missing)
        # Processes of this machine keep what they make; workers of others have other folders.
        is_kept = workers.executor is None
        made_now = results(Keeping(work, keep) if is_kept else work, workers)
        for unit, known in zip(batch.units, found, strict=True):
            result = Result(known) if known else next(made_now)
            after = _names_of(unit, result.made, names.facts(unit))
            if known is None and not is_kept:
                _save(self._store, after, result.made)
            self._names |= {member.key: after[0] for member in unit.members if after}
            yield result.made
        if missing:
            self._store.prune()  # of the files that follow, the next run that makes a class

    def parts(self, wanted: Sequence[Wanted]) -> Iterator[Parts]:
        """The parts of each class, in their order; those that are not kept yet are made."""
        for each in wanted:
            name = self._name_of_parts(each)
            kept = self._find_parts(name)
            made = kept or parts.of(each)
            self.is_used = self.is_used or kept is not None
            if self._store and name and kept is None:
                _save(self._store, [name], made)
            yield made

    def _find_parts(self, name: str) -> Parts | None:
        data = self._store.find(name) if self._store and name else None
        try:
            return unpack_parts(data) if data else None
        except UnpackError:
            return None

    def _name_of_parts(self, wanted: Wanted) -> str:
        """The name of the parts of a class; "" where its result is not kept."""
        result = self._names.get(wanted.plan.node_class.key)
        return keys.parts(result, wanted) if result else ""


def _find(store: Store, batch: Batch, unit: Unit, names: "_Names") -> Made | None:
    for name in names.before(unit):
        data = store.find(name)
        if data:
            try:
                return batch.read(data, unit)
            except UnpackError:
                continue
    return None


def _save(store: Store, names: Sequence[str], made: Made | Parts) -> None:
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
    diagnostics = [*made.problems, *(each for group in made.found for each in group)]
    if not facts or not made.plans or any(map(unplaced.has_lines, diagnostics)):
        return []
    plan = made.plans[0]
    return [keys.kept(facts, plan.layout, plan.limited), keys.solved(facts, unit)]


class _Names:
    """The names of results, by what they depend on."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self._digests = keys.Digests()
        self._facts: dict[int, str] = {}

    def before(self, unit: Unit) -> Iterator[str]:
        """Where a result of a unit may be: with the layout that it has, or solved from others."""
        facts = self.facts(unit)
        if facts:
            first = unit.first
            if first:
                yield keys.kept(facts, first.pools, first.limited)
            yield keys.solved(facts, unit)

    def facts(self, unit: Unit) -> str:
        """The digest of a unit's facts; "" where there is none."""
        if id(unit) not in self._facts:
            beside = self._batch.beside(unit)
            try:
                facts = self._digests.facts(unit, beside)
            except keys.UnknownError:
                facts = ""
            self._facts[id(unit)] = facts
        return self._facts[id(unit)]
