"""What a change costs a node: how much, the steps that it is made of, and a rule with its source.

A setting has the rule of the program that reads it; operators and deliveries may do more.
"""

from collections.abc import Iterable
from enum import Enum, IntEnum
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


class Cost(Enum):
    """What a node needs before a changed value holds, in words; an operator may do more."""

    NOTHING = "nothing"
    SYSTEMD_RELOAD = "a reload of systemd"
    KUBELET_RESTART = "a restart of the kubelet"
    CRIO_RESTART = "a restart of CRI-O"
    CONTAINERD_RESTART = "a restart of containerd"
    IRQBALANCE_RESTART = "a restart of irqbalance"
    TUNED_RESTART = "a restart of TuneD"
    RESTARTS = "a restart of CRI-O and of the kubelet"
    DRAIN = "a drain of the node"
    REBOOT = "a reboot"
    REINSTALL = "a new installation"


_COSTS = {
    Impact.NOTHING: Cost.NOTHING,
    Impact.LIVE: Cost.NOTHING,
    Impact.DRAIN: Cost.DRAIN,
    Impact.REBOOT: Cost.REBOOT,
    Impact.REINSTALL: Cost.REINSTALL,
}


class Rule(NamedTuple):
    """What a platform does when something changes, and how that is known."""

    id: str
    #: None where the node disruption policies of a cluster decide.
    impact: Impact | None
    #: What a node or an operator does; names in braces are filled in.
    does: str
    #: The rule in words.
    sentence: str
    #: A file, a document or an issue of the program that does it.
    source: str
    #: Whether it is known for sure; one that is not counts as the worse.
    is_certain: bool = True
    #: What the node needs, where the impact does not say it in words.
    costs: Cost | None = None

    @property
    def cost(self) -> Cost:
        """What a change costs, in words."""
        return self.costs or _COSTS[self.impact or Impact.NOTHING]

    def step(self, because: str, origin: str = "", **names: str) -> Step:
        """The step of a rule that has an impact of its own."""
        if self.impact is None:
            raise ValueError(f"rule {self.id} has no impact of its own")
        return self.step_of(self.impact, because, origin, **names)

    def step_of(self, impact: Impact, because: str, origin: str = "", **names: str) -> Step:
        """The step of a rule whose impact somebody else decided."""
        does = self.does.format(**names)
        return Step(impact, does, because, self.id, origin, self.is_certain)


#: What no node and no program of a cluster notices, as what others are expected to publish.
UNREAD = Rule(
    "unread", Impact.NOTHING, "nothing", "Nothing notices it.", "cpuplan docs/checking.md"
)
