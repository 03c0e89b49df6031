"""Names of NodeResourceTopology, and the error with which its programs refuse.

The API's names, and those that its writers and readers agree on. Apart from the port, so that those
who only write them need not load it.

Upstream: k8stopologyawareschedwg/noderesourcetopology-api pkg/apis/topology/v1alpha2/types.go
  pkg/apis/topology/v1alpha2/helper/numanode/numanode.go @ 7f99f9c2af03e0dd95ca81b650cd5f2427fbc8bd
"""

from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.strconv import atoi, quote


class NrtError(Exception):
    """An error of one of them; the message is its exact text."""


DIVIDE = "runtime error: integer divide by zero"
NIL_MAP = "assignment to entry in nil map"


GROUP, KIND = "topology.node.k8s.io", "NodeResourceTopology"
V1ALPHA1, V1ALPHA2 = "v1alpha1", "v1alpha2"
#: The exporter that is the plugin of an NRI resource policy.
NRI_POLICY = "nri-policy"
#: The type of a zone that is a NUMA node.
NODE = "Node"
_PREFIX = "node-"
#: Attributes of an object, as the kubelet spells their values.
POLICY, SCOPE = "topologyManagerPolicy", "topologyManagerScope"
MAX_NUMA_NODES = "topologyManagerMaxNUMANodes"


def zone_name(numa_node: int) -> str:
    """The name of a NUMA node's zone."""
    return f"{_PREFIX}{numa_node}"


def zone_id(name: str) -> int:
    """The NUMA node of a zone's name; NrtError for any other name (numanode.NameToID)."""
    problem = f"invalid format for name {quote(name)}"
    if not name.startswith(_PREFIX):
        raise NrtError(f"{problem}: bad prefix")
    try:
        number = atoi(name.removeprefix(_PREFIX))
    except KubeletError as error:
        raise NrtError(f"{problem}: {error}") from error
    if number < 0:
        raise NrtError(f"{problem}: bad NUMA id: {number}")
    return number
