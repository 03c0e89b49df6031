"""Which nodes something is for (pydantic)."""

from typing import Annotated

from pydantic import Field

from cpuplan.language.model.base import Model
from cpuplan.language.model.document import Labels, Listed, Name, NodePattern


class Selector(Model):
    """Nodes that match all of these fields."""

    clusters: Annotated[tuple[Name, ...], Listed] = Field(
        default=(), description="nodes of these clusters; default: all"
    )
    nodes: Annotated[tuple[NodePattern, ...], Listed] = Field(
        default=(), description="node names; ranges and * are allowed"
    )
    match_labels: Labels = Field(
        default={}, description="nodes that have all of these labels in the inventory"
    )
