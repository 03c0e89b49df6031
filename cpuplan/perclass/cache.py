"""Results of units that were made before, so that after a change only what it touches is made.

They lie in the user's cache folder, never in the project, each with a digest of itself. Their names
are digests of all that a result depends on, the program's files among it: what is found was looked
at by this program, on this machine, with the same facts.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from cpuplan.files import cached
from cpuplan.fleet.before import Key
from cpuplan.perclass import keys, unplaced
from cpuplan.perclass.batch import Batch
from cpuplan.perclass.keeping import Keeping
from cpuplan.perclass.packed import UnpackError, pack
from cpuplan.perclass.unit import Made, Unit
from cpuplan.workers import Workers, results

#: Results that are kept, and their bytes together; the oldest go first.
MOST = 50_000
MOST_BYTES = 512 * 1024 * 1024
#: Of one result.
_LIMIT = 8 * 1024 * 1024
_DIGEST = 32


class Cache:
    """The results in a folder that nobody else can write; none where there is no such folder."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder

    @classmethod
    def of_user(cls) -> "Cache":
        """The one in the user's cache folder."""
        folder = cached.folder()
        return cls(folder / "classes" if folder else None)

    def results(self, batch: Batch, workers: Workers) -> Iterator[Made]:
        """The results of all units, in their order; those that are not kept yet are made."""
        if self.folder is None or not self._is_safe(self.folder):
            yield from results(batch, workers)
            return
        names = _Names(batch)
        found = [self._find(self.folder, batch, unit, names) for unit in batch.units]
        missing = [unit for unit, made in zip(batch.units, found, strict=True) if made is None]
        keep = _Keep(self.folder, {unit.members[0].key: names.facts(unit) for unit in missing})
        work = batch.of(missing)
        # Processes of this machine keep what they make; workers of others have other folders.
        is_kept = workers.executor is None
        made_now = results(Keeping(work, keep) if is_kept else work, workers)
        for unit, known in zip(batch.units, found, strict=True):
            made = known or next(made_now)
            if known is None and not is_kept:
                keep(unit, made)
            yield made
        if missing:
            _prune(self.folder)

    @staticmethod
    def _is_safe(folder: Path) -> bool:
        """Whether the folder is one's own, or is not there yet."""
        return not os.path.lexists(folder) or cached.is_own(folder, kind=stat.S_IFDIR)

    @staticmethod
    def _find(folder: Path, batch: Batch, unit: Unit, names: "_Names") -> Made | None:
        for name in names.before(unit):
            data = cached.read(folder / name, _LIMIT)
            if data and sha256(data[_DIGEST:]).digest() == data[:_DIGEST]:
                try:
                    (made,) = batch.of([unit]).unpacked(data[_DIGEST:])
                except (UnpackError, ValueError):
                    continue
                return made
        return None


@dataclass(frozen=True)
class _Keep:
    """Keeps results in a folder, by the facts of each unit; a value that can be sent."""

    folder: Path
    facts: Mapping[Key, str]

    def __call__(self, unit: Unit, made: Made) -> None:
        names = _names_of(unit, made, self.facts[unit.members[0].key])
        if names:
            data = pack([made])
            data = sha256(data).digest() + data
            for name in names:
                cached.write(self.folder / name, data)


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


def _prune(folder: Path) -> None:
    """Take the oldest results out, where there are too many; another run may do the same."""
    try:
        entries = [(entry.stat(), entry.path) for entry in os.scandir(folder)]
    except OSError:
        return
    entries.sort(key=lambda entry: entry[0].st_mtime_ns, reverse=True)
    size = 0
    for number, (about, path) in enumerate(entries, 1):
        size += about.st_size
        if number > MOST or size > MOST_BYTES:
            Path(path).unlink(missing_ok=True)
