"""What the files for Argo CD are made from."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from cpuplan.backends.managed import Managed
from cpuplan.language.model.delivery import DeliverySpec


class Inputs(NamedTuple):
    """One value for all of them."""

    delivery: DeliverySpec
    #: All compiled objects, those of paused classes too.
    objects: tuple[Managed, ...] = ()
    #: What Applications leave alone where Koordinator writes; nothing without it.
    of_koordinator: tuple[Mapping[str, Any], ...] = ()
    #: Whether a cluster verifies its nodes.
    verifies: bool = False
    #: Whether Git says which pools are paused.
    pauses: bool = False
    #: The names of waves that clusters are in, in their order.
    waves: tuple[str, ...] = ()
    #: Times at which Applications may sync.
    windows: tuple[Mapping[str, Any], ...] = ()
    #: The clusters' facts, as in cluster.json, for Applications that do not read it.
    clusters: tuple[Mapping[str, Any], ...] = ()

    @property
    def kinds(self) -> frozenset[tuple[str, str]]:
        """API group and kind of each compiled object."""
        return frozenset(each.group_kind for each in self.objects)
