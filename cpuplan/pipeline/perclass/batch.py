"""Units that are made together, with all that this needs: one value that can be sent anywhere."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cpuplan.diagnostics import errors
from cpuplan.pipeline.perclass import unplaced
from cpuplan.pipeline.perclass.packed import UnpackError, frame, pack, unframe, unpack
from cpuplan.pipeline.perclass.unit import Made, Unit, make
from cpuplan.plan import NodeClass
from cpuplan.solve import effort
from cpuplan.solve.model import answers, engine


class Result(NamedTuple):
    """What was made of a unit."""

    made: Made


class Batch:
    """Units, and what is known beside them: classes by intent, and which documents there are.

    `checked` asks for what `check_node` finds, too; `seconds` of work is the limit for each layout,
    or None for the default.
    """

    def __init__(
        self,
        units: Sequence[Unit],
        kin: Mapping[str, Sequence[NodeClass]],
        documents: frozenset[unplaced.Name],
        *,
        checked: bool,
        seconds: float | None = None,
    ) -> None:
        self.units = units
        self.kin = kin
        self.documents = documents
        self.checked = checked
        self.seconds = seconds

    def __len__(self) -> int:
        return len(self.units)

    def prepare(self) -> None:
        """Load the solver, if a layout has to be made."""
        if any(unit.first is None for unit in self.units):
            engine.cp_model()

    def part(self, chosen: slice) -> "Batch":
        """Some of the units, with the classes of their intents."""
        return self.of(self.units[chosen])

    def of(self, units: Sequence[Unit]) -> "Batch":
        """These units of it."""
        intents = {unit.members[0].intent for unit in units}
        kin = {intent: self.kin[intent] for intent in intents if intent in self.kin}
        return Batch(units, kin, self.documents, checked=self.checked, seconds=self.seconds)

    def results(self) -> list[Result]:
        """What is made of each unit, with places that have no lines yet."""
        return [Result(self._made(unit)) for unit in self.units]

    def packed(self) -> bytes:
        """The same as bytes."""
        return frame(pack(self._made(unit)) for unit in self.units)

    def unpacked(self, data: bytes) -> list[Result]:
        """What `packed` made, for the classes of this batch. Raises UnpackError."""
        pieces = list(unframe(data))
        if len(pieces) != len(self.units):
            raise UnpackError(f"{len(pieces)} results of {len(self.units)}")
        pairs = zip(pieces, self.units, strict=True)
        return [Result(self.read(piece, unit)) for piece, unit in pairs]

    def read(self, data: bytes, unit: Unit) -> Made:
        """What was made of a unit of the batch. Raises UnpackError for bytes of anything else."""
        made = unpack(data, {member.key: member for member in unit.members})
        classes = [plan.node_class for plan in made.plans]
        if classes and classes != list(unit.members):
            raise UnpackError(f"{len(classes)} layouts of {len(unit.members)} classes")
        if len(made.found) != (len(classes) if self.checked else 0):
            raise UnpackError(f"findings on {len(made.found)} of {len(classes)} classes")
        if not classes and not errors(made.problems):
            raise UnpackError("neither a layout nor a reason why there is none")
        return made

    def documents_of(self, unit: Unit) -> frozenset[unplaced.Name]:
        """The documents that findings on a unit may point at."""
        own: set[unplaced.Name] = set()
        for member in unit.members:
            own.add(("Intent", member.intent))
            own.add(("Hardware", member.hardware))
            own.add(("Cluster", member.cluster))
        return self.documents & own

    def beside(self, unit: Unit) -> tuple[object, ...]:
        """What the result of a unit depends on beside itself, if it has a layout."""
        return (sorted(self.documents_of(unit)), self.checked, self.seconds)

    def _made(self, unit: Unit) -> Made:
        kin = self.kin.get(unit.members[0].intent, ())
        locate = unplaced.locate_in(self.documents_of(unit))
        with effort.limited(self.seconds), answers.shared():
            return make(unit, kin, locate, checked=self.checked)
