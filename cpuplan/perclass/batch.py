"""Units that are made together, with all that this needs: one value that can be sent anywhere."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cpuplan.perclass import unplaced
from cpuplan.perclass.unit import Made, Unit, make
from cpuplan.plan import NodeClass
from cpuplan.solve import effort


class Batch(NamedTuple):
    """Units, and what is known beside them: classes by intent, and which documents there are."""

    units: tuple[Unit, ...]
    kin: Mapping[str, Sequence[NodeClass]]
    documents: frozenset[unplaced.Name]
    #: Whether `check_node` is asked too.
    checked: bool
    #: The limit for each layout, in seconds of work; None for the default.
    seconds: float | None = None

    def made(self) -> list[Made]:
        """What is made of each unit, with places that have no lines yet."""
        return [self._made(unit) for unit in self.units]

    def _made(self, unit: Unit) -> Made:
        kin = self.kin.get(unit.members[0].intent, ())
        locate = unplaced.locate_in(self.documents)
        with effort.limited(self.seconds):
            return make(unit, kin, locate, checked=self.checked)
