"""A node: what is compiled for it, and what a cluster says of it."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from cpuplan.check.koordinator.snapshot import Snapshot
from cpuplan.diagnostics import Label, Reason
from cpuplan.kubelet.pods.pod import Pod, read_pod
from cpuplan.plan import ConfiguredPlan
from cpuplan.setting import Setting
from cpuplan.simulate.koordinatorfiles.objects import Object
from cpuplan.simulate.koordinatorfiles.pods import pod_problems
from cpuplan.source import Locate


class Subject(NamedTuple):
    """Everything that is compared."""

    name: str
    plan: ConfiguredPlan
    found: Snapshot
    locate: Locate

    def labels(self, settings: Iterable[Setting]) -> list[Label]:
        """The first statement that each setting comes from."""
        made = [self._label(setting.reasons) for setting in settings]
        return list(dict.fromkeys(label for label in made if label))

    def _label(self, reasons: Sequence[Reason]) -> Label | None:
        for reason in reasons:
            position = self.locate(reason.origin)
            if position:
                return Label(position, reason.text)
        return None

    def pods(self) -> Iterator[tuple[Object, Pod]]:
        """The pods of the node that can be read."""
        for found in self.found.pods or ():
            if not pod_problems(found):
                yield found, read_pod(found.data)
