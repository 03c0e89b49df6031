"""Koordinator: targets, objects of users, and clusters."""

from cpuplan.diagnostics.codes.code import Code
from cpuplan.facts.settings.kubelet import CPU_MANAGER_POLICY

CODES = {
    # What a target with mechanism koordinator cannot be: CP630 to CP639, CP660 to CP669,
    # CP6200 to CP6202.
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
        f"use kubelet.{CPU_MANAGER_POLICY.key}: none, and give pods a class; or keep LSE, LSR and unlabelled Guaranteed pods on "
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
    "CP6200": Code(
        "label that no release reads",
        "no release of Koordinator reads the label {named} of its proposal",
        "name a release: from 1.4 on, the label is {known}",
        "The proposal of 2022 has names that no release has read since.",
        "warning",
        was="CP638",
    ),
    "CP6201": Code(
        "reserved CPUs of amplified nodes",
        "no release counts reserved CPUs of amplified nodes well (koordinator#2158 is open)",
        "leave cpuAmplificationRatio out, or waive this where nodes have few reserved CPUs",
        "The scheduler amplifies the CPUs of a node, and the reserved ones that it takes off are not amplified with them "
        "everywhere, so that it counts more or fewer CPUs for pods than the node has.",
        "warning",
        was="CP638",
    ),
    "CP6202": Code(
        "reserved CPUs that are subtracted twice",
        "release 1.2 subtracts the reserved CPUs from the allocatable ones of {name} twice",
        "use release 1.3 or later",
        "Release 1.2 takes CPUs that a node's annotation reserves off its allocatable CPUs although the kubelet did; from "
        "1.3 on, applyPolicy says so.",
        "warning",
        was="CP638",
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
    # What Koordinator makes of objects that users bring: CP640 to CP649.
    "CP640": Code(
        "value that Koordinator cannot read",
        "{key} of {object} cannot be read by Koordinator: {problem}",
        "{hint}",
        "The annotations of pods and nodes are JSON with CPU lists. Where one cannot be read, a pod waits, a reservation "
        "keeps nothing back, or koordlet stops reporting its node.",
    ),
    "CP641": Code(
        "pod that Koordinator refuses",
        "koord-manager refuses {object}: {problem}",
        "{hint}",
        "The webhook for pods wants whole CPUs of LSE and LSR pods (Q1 of the proposal wants limits equal to requests, "
        "too: the webhook does not), and classes and priorities that go together. A ClusterColocationProfile can give a "
        "pod what it needs.",
    ),
    "CP642": Code(
        "configuration that Koordinator refuses",
        "{key} of slo-controller-config is refused: {problem}",
        "{hint}",
        "These are the checks of koord-manager's webhook. Its gate ConfigMapValidatingWebhook is off by default: then "
        "the value is accepted, and what is wrong is found in a log at run time, or never. Limits that belong together "
        "must be given together, selectors of groups must not be empty or overlap, and resource-qos-config is only "
        "read beside a system-config.",
    ),
    "CP643": Code(
        "value that crashes Koordinator",
        "{key} of {object} is {value}: {program} crashes",
        "{hint}",
        "Seen in the real code at release 1.8. koord-scheduler knows the NUMA policies BestEffort, Restricted and "
        "SingleNUMANode: any other one is a nil dereference when a pod is tried on the node, also the documented None. "
        "The webhook for ConfigMaps takes null as an empty configuration and dereferences it.",
    ),
    "CP644": Code(
        "name that Koordinator does not read",
        "Koordinator {release} does not read {name} of {object}: {problem}",
        "{hint}",
        "What came with which release is in the constants of apis/extension and apis/configuration; the proposal of 2022 "
        "has names that none of them reads. A name that is not read is not reported by anybody.",
        "warning",
    ),
    "CP645": Code(
        "value without the effect that it seems to have",
        "{name} of {object} is {value}: {problem}",
        "{hint}",
        "Values of labels and of the annotations' fields are not validated: what is no known value is passed over. "
        "DistributeEvenly is treated as LeastAllocated, ConstrainedBurst binds no CPUs, PCPULevel counts for nothing "
        "where whole cores are taken, and weights of numaScoringStrategy are not used.",
        "warning",
    ),
    "CP646": Code(
        "field that Koordinator writes itself",
        "{name} of {object} is written by {owner}: {problem}",
        "{hint}",
        "Two writers of one field undo each other. koord-manager removes a ratio from a node that slo-controller-config "
        "does not ask for; koordlet makes the annotations and zones of NodeResourceTopologies anew, without costs, "
        "parents and attributes.",
        "warning",
    ),
    "CP647": Code(
        "CPUs of a pod written by hand",
        "{object} would be bound to CPUs {cpus} by a resource-status written by hand, whatever pods have them already",
        "remove the annotation {key}: koord-scheduler writes it when it places a pod",
        "koordlet binds each pod that has the annotation to its CPUs, whatever the pod's class: every pod made from the "
        "template would sit on the same CPUs, also on those of LSE pods.",
    ),
    "CP648": Code(
        "configuration that fails at run time",
        "{key} of slo-controller-config passes every check, and koord-manager cannot use it: {problem}",
        "{hint}",
        "No webhook checks resource-amplification-config, cpu-normalization-config and host-application-config. "
        "koord-manager keeps the last configuration that it could read and writes a line into its log.",
    ),
    "CP649": Code(
        "configuration with which koord-scheduler does not start",
        "koord-scheduler does not start with {object}: {problem}",
        "{hint}",
        "The arguments of the plugin NodeNUMAResource are checked when the scheduler starts: a rolling update then stops "
        "at its first pod.",
    ),
    # A cluster's objects differ from what was compiled for Koordinator: CP880 to CP884.
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
