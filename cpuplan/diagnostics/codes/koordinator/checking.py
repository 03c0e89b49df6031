"""A cluster's objects differ from what was compiled for Koordinator: CP880 to CP884."""

from cpuplan.diagnostics.codes.code import Code

CODES = {
    "CP880": Code(
        "Node differs from its compiled patch",
        "Node {node} has {found} as {key}; compiled is {wanted}",
        "apply the compiled Node patch; if it stays, look for who else writes the key (kubectl get node -o yaml "
        "--show-managed-fields)",
        "Labels and annotations of Koordinator are applied by server-side apply, as exactly these keys. One that is not "
        "compiled was set by hand or by another program.",
    ),
    "CP881": Code(
        "object that is not in the files",
        "the files have no {kind} of node {node}",
        "give all of them: kubectl get nodes,noderesourcetopologies -o yaml; koordlet makes the second one if its gate "
        "NodeTopologyReport is on",
        "koord-scheduler binds no CPUs on a node without NodeResourceTopology.",
    ),
    "CP882": Code(
        "koordlet publishes something else",
        "{key} of NodeResourceTopology {node} is {found}; koordlet should publish {wanted}",
        "look at koordlet's log on the node; if the machine was changed, import it again",
        "koordlet copies the reservation and the CPUs of system pods from the Node, reads the machine, and asks the "
        "kubelet for its CPU manager. koord-scheduler believes this object, not the node.",
    ),
    "CP883": Code(
        "pool that is not what is left",
        "{key} of NUMA node {numa_node} has {found}; with what is compiled and {pods} it should have {wanted}",
        "get Nodes, NodeResourceTopologies and pods at one time, and compare again; if it stays, look at koordlet's log",
        "The pool of LS pods is all CPUs without those that are reserved, those of system pods, and those that pods are "
        "bound to; in the pool of BE pods those of LSR pods stay. Without pods in the files, a pool may be smaller than "
        "the largest one.",
    ),
    "CP884": Code(
        "pod on CPUs that are not its own",
        "Pod {pod} is bound to {cpus} ({problem})",
        "evict the pod, so that koord-scheduler places it anew; if it comes back so, look for a resource-status in its "
        "template (CP647)",
        "koordlet binds a pod to the CPUs of its annotation resource-status, whatever holds of them. A reservation that "
        "grew does not move the pods that run there.",
    ),
}
