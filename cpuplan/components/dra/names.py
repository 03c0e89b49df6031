"""Names of claims and DeviceClasses, beside those that the driver publishes."""

from cpuplan.plan import NodePlan
from cpuplan.upstream.dra.api import DRIVER, GROUPED, INDIVIDUAL

#: The DeviceClass of the driver's chart: any CPU of any node.
GENERAL = DRIVER
API_VERSION = "resource.k8s.io/v1"
#: The label of nodes that have the CPUs of a DeviceClass, with the name of their class.
CLASS_LABEL = "cpuplan.io/class"
#: Devices of one claim at most (AllocationResultsMaxSize), and conditions of one.
MOST_DEVICES = MOST_CONSTRAINTS = 32


def mode(plan: NodePlan) -> str:
    """What the driver publishes: as the target says, else individual CPUs for partitions."""
    isolated = plan.spec.pools.isolated
    derived = INDIVIDUAL if isolated and isolated.partitions else GROUPED
    return plan.node_class.target.dra.mode or derived
