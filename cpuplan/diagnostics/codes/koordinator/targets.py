"""What a target with mechanism koordinator cannot be: CP630 to CP639, CP660 to CP669."""

from cpuplan.diagnostics.codes.code import Code

CODES = {
    "CP630": Code(
        "statement that Koordinator cannot keep",
        "{field} cannot hold with mechanism koordinator: {problem}",
        "{hint}",
        "Koordinator chooses CPUs for pods in its scheduler. It knows reserved CPUs and those of system daemons by "
        "annotations of nodes, and pools of its own for LS and BE pods, which change with every pod. It has no named "
        "partitions, no fixed set for a QoS class of Kubernetes, and no CPUs that containers share beside exclusive ones.",
    ),
    "CP631": Code(
        "value that does nothing",
        "{field}: {value} has no effect: {problem}",
        "{hint}",
        "The programs read the value and go on as if it were not there, or stop at it. DistributeEvenly is treated as "
        "LeastAllocated, the policy None as a policy that is not known, which ends the scheduler, ConstrainedBurst binds "
        "no CPUs, BalancedAllocation passes validation and stops the scheduler at its start, and the kubelet's policies "
        "restricted and best-effort are written in words that koord-scheduler does not know.",
    ),
    "CP632": Code(
        "release without a label, annotation or field",
        "{field} needs Koordinator {since} or later, and the target says {release}",
        "update Koordinator and the target's `koordinator`, or leave {field} out",
        "What came with which release is in the constants of apis/extension and apis/configuration. An older release "
        "ignores the name without a word.",
    ),
    "CP633": Code(
        "two that give CPUs to pods",
        "the kubelet's static policy gives CPUs to Guaranteed pods without a QoS class of Koordinator, and "
        "koord-scheduler to LSE and LSR pods",
        "use kubelet.cpuManagerPolicy: none, and give pods a class; or keep LSE, LSR and unlabelled Guaranteed pods on "
        "different nodes",
        "koordlet and the kubelet write cpusets of the same containers in turn (koordinator#1214, #546, #1266). Beside the "
        "static policy only pods labelled LS or SYSTEM are kept in pools. Changing the policy needs the removal of the "
        "kubelet's state file.",
        "warning",
    ),
    "CP634": Code(
        "policy that a machine makes meaningless",
        "{field}: {value} means nothing on {hardware}: {problem}",
        "leave it out for these nodes, or give them an intent of their own",
        "Where cores have one thread, SpreadByPCPUs takes whole cores like FullPCPUs, and PCPULevel keeps nothing apart. "
        "On Arm, the proposal supports FullPCPUs and NUMANodeLevel only. With one NUMA node there is nothing to align.",
        "warning",
    ),
    "CP635": Code(
        "workload that Koordinator refuses or never binds",
        "workload {workload}: {problem}",
        "{hint}",
        "The webhook for pods refuses LSR pods of another priority than koord-prod, and BE pods of koord-prod. It lets "
        "others pass that then get no CPUs of their own without a word: LSE pods of koord-batch. The scheduler refuses "
        "policies that contradict the node's, whatever node there is.",
    ),
    "CP636": Code(
        "machine that Koordinator miscounts",
        "Koordinator would miscount the CPUs of {hardware}: {problem}",
        "{hint}",
        "The scheduler divides all CPUs by the number of cores, NUMA nodes and sockets, and rounds down. It finds NUMA "
        "nodes by zones called node-0, node-1 and so on; with a NUMA policy, and without zones, no pod comes to the node.",
    ),
    "CP6175": Code(
        "machine of which koordlet reports nothing",
        "koordlet reports nothing of {hardware}: {problem}; {why}",
        "{hint}",
        "koordlet makes one zone for each NUMA node with memory and wants CPUs in each of them. Where they do not match, it "
        "writes no NodeResourceTopology at all, and says so in its log every time. Without it koord-scheduler knows no CPUs "
        "of the node: pods that bind CPUs do not come to it, and nothing is kept back for the system. Memory without CPUs is "
        "CXL, persistent or high-bandwidth memory, or that of a GPU.",
    ),
    "CP637": Code(
        "one configuration for a cluster",
        "cluster {cluster}: {first} and {second} have different {what}",
        "write the same in both intents",
        "koord-scheduler, koord-manager and the profiles of pods are there once for a cluster, whatever intent its nodes "
        "are of.",
    ),
    "CP638": Code(
        "release that does less",
        "{problem}",
        "{hint}",
        "The proposal of 2022 has names that no release has read since. Release 1.2 takes CPUs that a node's annotation "
        "reserves off its allocatable CPUs although the kubelet did; from 1.3 on, applyPolicy says so.",
        "warning",
    ),
    "CP639": Code(
        "words for Koordinator without it",
        "{field} has no effect with mechanism {mechanism}",
        "let the target have mechanism: koordinator, or leave {field} out",
        "Only Koordinator reads these values.",
    ),
    "CP660": Code(
        "shared CPUs that a policy of nodes takes away",
        "{policy} binds every pod of the nodes with CPU requests, those of {workloads} too, and refuses fractions of a CPU",
        "leave koordinator.cpuBindPolicy out, and give LSE and LSR workloads requiredCPUBindPolicy",
        "The label cpu-bind-policy is for all pods that koord-scheduler places on the node, whatever their class: LS pods "
        "get CPUs of their own instead of the shared pool, and must request whole CPUs.",
        "warning",
    ),
}
