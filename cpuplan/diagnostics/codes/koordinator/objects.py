"""What Koordinator makes of objects that users bring: CP640 to CP649."""

from cpuplan.diagnostics.codes.code import Code

CODES = {
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
}
