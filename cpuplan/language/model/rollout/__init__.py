"""How a change reaches nodes: `rollout` of an Intent (pydantic; docs/rollout.md)."""

import re
from typing import Annotated, Literal

from pydantic import Field, PlainValidator, WithJsonSchema

from cpuplan.language.model.base import Model, problem
from cpuplan.language.model.document import Listed, Name
from cpuplan.language.model.rollout.selector import Selector
from cpuplan.language.model.rollout.windows import Window

#: What a change may cost a node, ascending; `impact.Impact` has the same words.
MaxImpact = Literal["nothing", "live", "restart", "drain", "reboot", "reinstall"]
_PERCENT = r"^([1-9][0-9]?|100)%$"


def _read_number(value: object) -> int | str:
    """A positive number of nodes, or a share of them."""
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    if isinstance(value, str) and re.fullmatch(_PERCENT, value):
        return value
    raise problem("max_unavailable", "a number of nodes from 1 up, or a share such as 10%")


MaxUnavailable = Annotated[
    int | str,
    PlainValidator(_read_number),
    WithJsonSchema(
        {
            "anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": _PERCENT}],
            "examples": [1, "10%"],
        }
    ),
]


class Wave(Selector):
    """Nodes that get a change before those of the next wave; without nodes and labels, clusters."""

    name: Name = Field(description="name of the wave, such as canary")
    max_unavailable: MaxUnavailable | None = Field(
        default=None,
        description="nodes of the wave that may change at a time. Default: that of the rollout",
    )

    @property
    def is_of_clusters(self) -> bool:
        """Whether it takes whole clusters."""
        return not (self.nodes or self.match_labels)


class Rollout(Model):
    """In which order, how many at a time, and when nodes get a change."""

    waves: Annotated[tuple[Wave, ...], Listed] = Field(
        default=(),
        description="nodes in the order in which they get a change; what is in none comes last",
    )
    max_unavailable: MaxUnavailable | None = Field(
        default=None,
        description="nodes that may change at a time: a number, or a share such as 10%. Default: "
        "what the platform does, which is one node",
    )
    max_impact: MaxImpact | None = Field(
        default=None,
        description="the most that a change may cost a node of the intent; `cpuplan plan` refuses "
        "more. Default: anything",
    )
    windows: Annotated[tuple[Window, ...], Listed] = Field(
        default=(), description="times at which a rollout may begin; default: always"
    )
    pause_pools: bool = Field(
        default=False,
        description="openshift: the MachineConfigPool is paused, so that nodes get nothing until "
        "this is false again",
    )
