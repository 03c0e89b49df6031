"""How the scheduler's framework refuses (kube-scheduler/framework, Status)."""

from collections.abc import Iterable

#: Another pod that ends can change it; nothing of this node can; something is wrong.
UNSCHEDULABLE, UNRESOLVABLE = "Unschedulable", "UnschedulableAndUnresolvable"
ERROR = "Error"


class StatusError(Exception):
    """A status other than success, with its reasons in the order of the alphabet."""

    def __init__(self, code: str, reasons: Iterable[str]) -> None:
        self.code, self.reasons = code, tuple(sorted(reasons))
        super().__init__(", ".join(self.reasons))
