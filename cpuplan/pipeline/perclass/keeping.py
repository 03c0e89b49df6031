"""A batch whose results are kept where they are made, each as soon as it is there.

Whoever waits for a part of the work gets it as a whole, and nothing of it when the work is
interrupted.
"""

from collections.abc import Callable, Sequence

from cpuplan.pipeline.perclass.batch import Batch
from cpuplan.pipeline.perclass.unit import Made, Unit

#: Keeps a result; a value that can be sent.
Keep = Callable[[Unit, Made], None]


class Keeping(Batch):
    """The same units, for processes of this machine: they have the cache folder, too."""

    def __init__(self, batch: Batch, keep: Keep) -> None:
        super().__init__(
            batch.units,
            batch.kin,
            batch.documents,
            checked=batch.checked,
            seconds=batch.seconds,
        )
        self._keep = keep

    def of(self, units: Sequence[Unit]) -> "Keeping":
        return Keeping(super().of(units), self._keep)

    def _made(self, unit: Unit) -> Made:
        made = super()._made(unit)
        self._keep(unit, made)
        return made
