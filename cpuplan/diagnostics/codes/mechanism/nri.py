"""The NRI resource policies: CP732 and CP733."""

from cpuplan.diagnostics.codes.code import Code

CODES = {
    "CP732": Code(
        "exporter that nodes do not have",
        "class {name} has mechanism {mechanism}: no plugin of an NRI policy writes NodeResourceTopology for its nodes",
        "name another exporter, or use mechanism: balloons or topology-aware for all nodes of the cluster",
        "The plugins of both policies write one object for their node if agent.nodeResourceTopology is true, and replace "
        "all zones and attributes that others wrote: node-feature-discovery, the resource-topology-exporter and koordlet "
        "write the same object. So a cluster has one exporter, and cpuplan lets the plugins write only where it is they.",
    ),
    "CP733": Code(
        "namespaces of reserved CPUs without an NRI policy",
        "{field} has no meaning with mechanism {mechanism}",
        "leave it out, or use mechanism: balloons or topology-aware",
        "The NRI policies put pods of these namespaces on the reserved CPUs (reservedPoolNamespaces). The kubelet runs "
        "no pod on CPUs of its reservation unless the pod shares all CPUs.",
    ),
}
