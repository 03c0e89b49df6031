"""Topology hints: NUMA nodes that can give resources (pkg/kubelet/cm/topologymanager)."""

from typing import NamedTuple


class TopologyHint(NamedTuple):
    """A mask of NUMA nodes, None for any, and whether a provider can do no better."""

    affinity: int | None
    preferred: bool


#: For each resource: None for no preference, an empty list for none that fits.
ProviderHints = dict[str, list[TopologyHint] | None]

NO_AFFINITY = TopologyHint(None, preferred=False)
