"""How much a change costs a node, and the steps that it is made of."""

from collections.abc import Iterable
from enum import IntEnum
from typing import NamedTuple


class Impact(IntEnum):
    """What happens to a node, ascending: each includes what is less."""

    #: Nothing that a node or its pods notice.
    NOTHING = 0
    #: In force at once, and no process is stopped.
    LIVE = 1
    #: A service restarts; pods go on.
    RESTART = 2
    #: Pods leave the node first.
    DRAIN = 3
    #: The node boots; its operator drains it first, if it has one.
    REBOOT = 4
    #: The machine is made anew: the old one cannot take the change.
    REINSTALL = 5

    @property
    def word(self) -> str:
        """Its name in options and outputs."""
        return self.name.lower()


class Step(NamedTuple):
    """One thing that a node or an operator does, and why."""

    impact: Impact
    #: In words, such as `restart of kubelet.service`.
    does: str
    #: What changed: a file, a setting, an object.
    because: str
    #: The id of the rule, which has its source (`impact.rules`).
    rule: str
    #: The statement that asked for it, as `Intent/name:spec.path`; "" where none did.
    origin: str = ""
    #: Whether the rule is known for sure; one that is not counts as the worse.
    is_certain: bool = True


def worst(steps: Iterable[Step]) -> Impact:
    """The impact of all of them together."""
    return max((step.impact for step in steps), default=Impact.NOTHING)
