"""Intents, inventories and what a command names: the CP2xx."""

from cpuplan.codes.code import Code

CODES = {
    "CP201": Code(
        "unknown key",
        "{where} has no key {key!r}",
        "{hint}",
        "A key that nobody reads is a setting that silently does not hold: `reservedCpus` for `reservedSystemCPUs` "
        "has kept kubelets unreserved (kubernetes/kubernetes#92585). Every key must be known.",
    ),
    "CP202": Code(
        "missing field",
        "{field} is missing",
        "add it",
        "The field is required; there is no default that would be right for everybody.",
    ),
    "CP203": Code(
        "wrong value",
        "{field} is {value}; it must be {expected}",
        "{hint}",
        "The value has another type or range than the field takes. The JSON Schemas in `schemas/` say the same to editors.",
    ),
    "CP204": Code(
        "unknown apiVersion",
        "apiVersion is {found}",
        "write {expected}",
        "Documents of this release are of `cpuplan.io/v1alpha1`. Of another one, fields may have had other names: with the "
        "right version, `validate` tells each that is not known, and what it may be now. A later version is CP139.",
    ),
    "CP205": Code(
        "unknown kind",
        "kind is {found}; it must be one of Delivery, Hardware, Intent, Nodes and Waivers",
        "{hint}",
        "Every document under `inventories/` and `intents/` is one of these kinds. Other objects belong elsewhere.",
    ),
    "CP206": Code(
        "document defined twice",
        "there are two {kind} documents named {name}",
        "rename one, or merge them",
        "Kind and name are how other documents and reasons refer to a document.",
    ),
    "CP207": Code(
        "invalid name",
        "{name!r} can be no name here: it {problem}",
        "{instead}use lower-case letters and digits, with dashes and, in names of documents, nodes and pools, dots between them",
        "Names become names of objects and files: RFC 1123 subdomains, of up to 221 characters for documents, 250 for nodes, and 63 for what labels hold: clusters, pools, namespaces, partitions. Names that Windows keeps for devices (con, prn, aux, nul, com0 to com9, lpt0 to lpt9, also before a dot) could be checked out nowhere there.",
    ),
    "CP208": Code(
        "invalid CPU list",
        "{field} is {value!r}: {item!r} {problem}",
        "write CPUs and ascending ranges with commas and no blanks, such as 0-3,8",
        "The kernel, systemd, the kubelet and CRI-O each read CPU lists a little differently, and some of them drop a list "
        "that they do not like without a word. cpuplan takes what all of them take.",
    ),
    "CP209": Code(
        "pool without one size",
        "pool {pool} must have one of cpus, count, cores, percent and rest; it has {given}",
        "write exactly one of them, or only min or max",
        "A pool says either which CPUs it has or how many: exactly, or between `min` and `max`.",
    ),
    "CP210": Code(
        "`per` does not fit",
        "pool {pool}: `per` has no meaning beside {size}",
        "take out `per`, or give the size as count, cores or percent",
        "`per` multiplies a number: for each socket, NUMA node or last-level cache.",
    ),
    "CP211": Code(
        "CPU in two lists",
        "{cpus} {are} listed for {first} and for {second}",
        "take {them} out of one of the two lists",
        "Each CPU is in exactly one pool: a CPU that is reserved and isolated would be neither.",
    ),
    "CP212": Code(
        "empty reserved pool",
        "pool reserved has no CPU, and cpuManagerPolicy is static",
        "give it at least one core, or set kubelet.cpuManagerPolicy to none",
        "Without a reserved CPU the kubelet does not start under the static policy: pods with exclusive CPUs could take "
        "every CPU from the operating system (pkg/kubelet/cm/cpumanager/cpu_manager.go, NewManager).",
    ),
    "CP213": Code(
        "two pools take the rest",
        "{pools} take the rest, and only one pool can",
        "give all but one of them a size: cpus, count, cores or percent",
        "What is left over goes to one pool. Where no pool is said to take the rest and isolated is left out, isolated does.",
    ),
    "CP214": Code(
        "CPU 0 is not reserved",
        "CPU {cpu} is not in reserved",
        "put CPU {cpu} and its siblings into reserved",
        "The boot CPU keeps the system's time (it stays a housekeeping CPU under nohz_full), takes interrupts that have no "
        "other place, and on most machines cannot be switched off. A workload on it is disturbed whatever is configured.",
        "warning",
    ),
    "CP215": Code(
        "no such pool",
        "{name!r} is no pool, partition or QoS set of this intent",
        "write one of {known}",
        "Pools speak of each other by name, and of partitions as `isolated.<name>`. A name that means nothing would be a rule "
        "that silently does not hold.",
    ),
    "CP216": Code(
        "sibling of no use",
        "{pool} cannot leave the other threads of its cores to {sibling}",
        "write `idle`, or another pool",
        "With `sibling` a pool takes one thread of each core and another pool the others. A pool cannot do both, not with a "
        "partition of its own either, and QoS sets lie over the pools.",
    ),
    "CP217": Code(
        "workload outside of isolated",
        "workload {workload} has no exclusive CPUs in {pool}",
        "write isolated, or a partition of it such as isolated.dpdk",
        "The kubelet gives exclusive CPUs of the isolated pool only.",
    ),
    "CP218": Code(
        "range that does not fit",
        "pool {pool}: {problem}",
        "{hint}",
        "`min` and `max` bound what is not a number already: a percentage, the rest, or a size that is left to the solver.",
    ),
    "CP219": Code(
        "rule neither disabled nor enabled",
        "an entry of rules says either `disable` or `enable`",
        "write one of the two",
        "Built-in rules are switched by name, each with the reason in `because`.",
    ),
    "CP220": Code(
        "node claimed twice",
        "node {node} of cluster {cluster} is selected by the intents {first} and {second}",
        "narrow one of the selectors",
        "A node has one layout, so exactly one intent.",
    ),
    "CP221": Code(
        "node without intent",
        "no intent selects {nodes} of cluster {cluster}",
        "add an intent, or widen a selector, if {they} should be partitioned",
        "The node stays as it is. This is a warning, since a fleet is often partitioned step by step.",
        "warning",
    ),
    "CP222": Code(
        "unknown hardware",
        "nobody defines the hardware {hardware!r}",
        "{hint}",
        "A node names its Hardware document, in its group or for all nodes of the document.",
    ),
    "CP223": Code(
        "node without hardware",
        "{name} names no hardware",
        "add `hardware:` to the group, or to the spec for all groups",
        "Without hardware nothing can be said about a node's CPUs.",
    ),
    "CP224": Code(
        "node defined twice",
        "node {node} of cluster {cluster} is defined twice",
        "keep one of the two",
        "Node names are unique within a cluster.",
    ),
    "CP225": Code(
        "selector without nodes",
        "intent {intent} selects no node",
        "compare the selector with the clusters, names and labels in inventories/",
        "An intent that selects nothing writes nothing. This is a warning, since its nodes may be added later.",
        "warning",
    ),
    "CP226": Code(
        "no target for a cluster",
        "intent {intent} selects nodes of cluster {cluster} and has no target for it",
        "add the cluster to a target's `clusters`, or leave that key out",
        "A target without `clusters` is for all clusters; else the first target that lists the cluster is taken.",
    ),
    "CP227": Code(
        "unlike nodes in one pool",
        "pool {pool} of cluster {cluster} would have nodes of unlike hardware: {classes}",
        "beside pool, write mixedHardware: split (a pool for each hardware) or mixedHardware: common (one layout that is right "
        "on all), or give each hardware its own intent and pool (select by label)",
        "A MachineConfigPool has one MachineConfig and one KubeletConfig, so one list of CPU numbers for all its nodes. With "
        "unlike nodes in one pool, kernel arguments fight each other and nodes boot in a loop "
        "(openshift/cluster-node-tuning-operator#558).",
    ),
    "CP228": Code(
        "invalid node name",
        "{name!r} stands for no node names: {problem}",
        "write names such as worker-0, or ranges such as worker-[00-11]",
        "Node names are RFC 1123 subdomains: lower-case letters, digits, dashes and dots, of up to 250 characters, as files of out/ are called after them; none that Windows keeps for a device (CP207).",
    ),
    "CP229": Code(
        "target without pool",
        "a target for openshift needs the MachineConfigPool",
        "add `pool:` with the name of the pool that the nodes are in",
        "MachineConfig and KubeletConfig objects reach nodes through their MachineConfigPool.",
    ),
    "CP230": Code(
        "target takes no such setting",
        "{field} has no effect on {platform}",
        "take it out",
        "A setting that a target cannot carry is an error and never dropped in silence.",
    ),
    "CP231": Code(
        "offline CPUs that the machine lacks",
        "`offline` lists {cpus}, and hardware {hardware} has only {present}",
        "correct the list, or the node's hardware",
        "`offline` of a node group lists CPUs of its hardware that are switched off on these nodes only.",
    ),
    "CP232": Code(
        "second Delivery",
        "{name} is a second Delivery document",
        "keep one",
        "`out/` is delivered from one place of one repository.",
    ),
    "CP233": Code(
        "profile without machines",
        "no inventory tells of the nodes of {intent}: it is only checked by itself",
        "import the nodes (`cpuplan import`), so that it is compared with their CPUs, and compiled",
        "A PerformanceProfile may stand alone in a project. What needs the machine, from CPUs that do not exist to split "
        "siblings, is not found then, and nothing is written.",
        severity="warning",
    ),
    "CP234": Code(
        "class with a long name",
        "the class of these nodes would have a name of {length} characters, and {most} are the most",
        "shorten the name of the intent or of the hardware",
        "A class of nodes is called after its intent and its hardware, with its offline CPUs and devices where only some nodes have them, and folders and objects are called after it: file systems take names of 255 bytes, Kubernetes of 253 characters.",
    ),
    "CP235": Code(
        "one name for two",
        "two {what} would be called {name} in cluster {cluster}: of {first}, and of {second}",
        "give one of the intents another name",
        "Classes are called after their intent and hardware with a dash between, and objects after the intent or, where `mixedHardware` is split, after the class. Two of one name would be written over one another.",
    ),
    "CP250": Code(
        "unknown node",
        "{what}",
        "{hint}",
        "A node is planned if an intent selects it. It is named by its name, or by cluster/name where two clusters have a node of that name.",
    ),
    "CP252": Code(
        "unknown CPU",
        "node {node} has no CPU {cpu}",
        "its CPUs are {cpus}",
        "`explain` takes a CPU by the number that Linux gives it.",
    ),
    "CP253": Code(
        "nothing of this name",
        "node {node} has no CPU, pool or setting {name!r}",
        "{hint}",
        "`explain` takes the number of a CPU, the name of a pool, partition (isolated.dpdk) or QoS set of the node's intent, "
        "or the key of one of its settings, such as reservedSystemCPUs.",
    ),
    "CP254": Code(
        "unknown entry of the catalogue",
        "the catalogue has no {name!r}",
        "{hint}",
        "`cpuplan catalog` lists the server models that can be copied into inventories/.",
    ),
    "CP292": Code(
        "wrong command line",
        "{problem}",
        "`{command} --help` says what it takes",
        "The command did nothing. Options that hold for every command (-C, --color, -q, -v) may stand before or after its "
        "name. In the formats for programs the report says so too, so that a pipeline never reads an old one.",
    ),
    "CP293": Code(
        "nothing of this name to tell of",
        "{option} {name} matches nothing",
        "{hint}",
        "`--cluster` and `--node` take names of the inventory, and narrow what is printed. A misspelt one would look like a "
        "cluster without findings.",
    ),
    "CP294": Code(
        "waiver of what cannot be waived",
        "{waived} cannot be waived: {problem}",
        "{hint}",
        "Warnings are waived, one by one, with a reason and a last day. An error is never waived: what it tells of does not "
        "work.",
    ),
    "CP295": Code(
        "expired waiver",
        "the waiver of {waived} for {where} expired on {expires}",
        "mend what was waived and take the waiver out, or look at it again and write a later day",
        "Its findings count again. Which day it is, is the one thing that what cpuplan says depends on beside its input; no "
        "file of `out/` does.",
        "warning",
    ),
    "CP296": Code(
        "waiver of nothing",
        "the waiver of {waived} for {where} matches nothing",
        "{hint}",
        "What was waived is mended, or the waiver is for another place than was meant.",
        "note",
    ),
    "CP297": Code(
        "not in its canonical form",
        "the file is not in its canonical form",
        "`cpuplan fmt` puts it in order; comments and values stay",
        "Reported by `cpuplan fmt --check`. One order of keys and one indentation keep differences between commits to what "
        "was meant.",
    ),
}
