"""Intents, inventories, what a command names, and the lock: the CP2xx but those of profiles."""

from cpuplan.diagnostics.codes.code import Code
from cpuplan.facts.settings.kernel import NOHZ_FULL
from cpuplan.facts.settings.kubelet import CPU_MANAGER_POLICY, RESERVED_CPUS

CODES = {
    # Intents, inventories and what a command names: the CP2xx.
    "CP200": Code(
        "contradicting targets of one cluster",
        "{key} of cluster {cluster} is {mine} in intent {intent}, and {other} in intent {first}",
        "write the same value in both targets",
        "How a cluster was installed is the same for all of its nodes: its control plane, workload partitioning, and where "
        "the objects of a hosted cluster are. A target without the key has its default.",
    ),
    "CP201": Code(
        "unknown key",
        "{where} has no key {key!r}",
        "{hint}",
        f"A key that no program reads is a setting without effect: `reservedCpus` instead of `{RESERVED_CPUS.key}` has "
        "left kubelets without reserved CPUs (kubernetes/kubernetes#92585). Every key must be known.",
    ),
    "CP202": Code(
        "missing field",
        "{field} is missing",
        "add it",
        "The field is required: no default would be right for everybody.",
    ),
    "CP203": Code(
        "invalid value",
        "{field} is {value}; it must be {expected}",
        "{hint}",
        "The value has the wrong type or is out of range. The JSON Schemas in `schemas/` give editors the same rules.",
    ),
    "CP204": Code(
        "unknown apiVersion",
        "apiVersion is {found}",
        "write {expected}",
        "Documents of this release have `cpuplan.io/v1alpha1`. In another version, fields may have had other names: "
        "with the right version, `validate` reports each unknown field and what it may be called now. A later version "
        "is CP139.",
    ),
    "CP205": Code(
        "unknown kind",
        "kind is {found}; it must be one of Cluster, Delivery, Hardware, Intent, Nodes and Waivers",
        "{hint}",
        "Every document in `inventories/` and `intents/` must have one of these kinds. Keep other objects elsewhere.",
    ),
    "CP206": Code(
        "document defined twice",
        "there are two {kind} documents named {name}",
        "rename one of them, or merge them",
        "Other documents and reasons refer to a document by its kind and name.",
    ),
    "CP207": Code(
        "invalid name",
        "{name!r} is not a valid name: it {problem}",
        "{instead}use lower-case letters, digits and dashes; in names of documents, nodes and pools, also dots between them",
        "Names become names of objects and files: RFC 1123 subdomains of up to 221 characters for documents, 250 for "
        "nodes, and 63 for values of labels (clusters, pools, namespaces, partitions). Windows reserves some names for "
        "devices (con, prn, aux, nul, com0 to com9, lpt0 to lpt9, also before a dot), so a file with such a name could "
        "not be checked out there.",
    ),
    "CP208": Code(
        "invalid CPU list",
        "{field} is {value!r}: {item!r} {problem}",
        "write CPUs and ascending ranges, separated by commas without spaces, such as 0-3,8",
        "The kernel, systemd, the kubelet and CRI-O each read CPU lists slightly differently, and some of them "
        "silently ignore a list that they do not accept. cpuplan accepts what all of them accept.",
    ),
    "CP209": Code(
        "pool without exactly one size",
        "pool {pool} must have exactly one of cpus, count, cores, wholeCaches, percent, steps and rest; it has {given}",
        "set exactly one of them, or only min or max",
        "A pool states either which CPUs it has or how many: exactly, or between `min` and `max`.",
    ),
    "CP210": Code(
        "`per` without effect",
        "pool {pool}: `{key}` has no effect with {size}",
        "remove the key `{key}`, or give the size as count or cores",
        "`per` multiplies a number, for each socket, NUMA node or last-level cache, and `perDevice` for each device. "
        "A list or the rest is no such number, and shares (percent, steps) are not of devices.",
    ),
    "CP211": Code(
        "CPU in two lists",
        "{cpus} {are} listed for both {first} and {second}",
        "remove {them} from one of the two lists",
        "Each CPU is in exactly one pool. A CPU that is both reserved and isolated would be neither.",
    ),
    "CP212": Code(
        "empty reserved pool",
        f"pool reserved has no CPU, but {CPU_MANAGER_POLICY.key} is static",
        f"give it at least one core, or set kubelet.{CPU_MANAGER_POLICY.key} to none",
        "Without a reserved CPU, the kubelet does not start with the static policy: pods with exclusive CPUs could "
        "take every CPU from the operating system (pkg/kubelet/cm/cpumanager/cpu_manager.go, NewManager).",
    ),
    "CP213": Code(
        "two pools take the rest",
        "{pools} take the rest, but only one pool can",
        "give all but one of them a size, such as cpus, count, cores or percent",
        "The CPUs that are left over go to one pool. If no pool takes the rest and isolated is omitted, isolated takes "
        "it.",
    ),
    "CP214": Code(
        "CPU 0 is not reserved",
        "CPU {cpu} is not in reserved",
        "put CPU {cpu} and its siblings into reserved",
        f"The boot CPU keeps the system's time (it stays a housekeeping CPU under {NOHZ_FULL.key}), takes interrupts that "
        "have no other place, and cannot be switched off on most machines. A workload on it is disturbed in every "
        "configuration.",
        "warning",
    ),
    "CP215": Code(
        "unknown pool",
        "{name!r} is not a pool, partition or QoS set of this intent",
        "use one of {known}",
        "Pools refer to each other by name, and to partitions as `isolated.<name>`. An unknown name would be a rule "
        "without effect.",
    ),
    "CP216": Code(
        "invalid sibling",
        "{pool} cannot leave the other threads of its cores to {sibling}",
        "write `idle` or another pool",
        "With `sibling`, a pool takes one thread of each core and another pool takes the others. The other pool cannot "
        "be the pool itself or one of its partitions. It cannot be a QoS set either, because QoS sets overlap the "
        "pools.",
    ),
    "CP217": Code(
        "workload outside isolated",
        "workload {workload} has no exclusive CPUs in {pool}",
        "write isolated, or a partition of it such as isolated.dpdk",
        "The kubelet takes exclusive CPUs from the isolated pool only.",
    ),
    "CP218": Code(
        "invalid range",
        "pool {pool}: {problem}",
        "{hint}",
        "`min` and `max` limit a size that is not a fixed number: a percentage, the rest, or a size that is left to "
        "the solver.",
    ),
    "CP219": Code(
        "rule without disable or enable",
        "an entry of rules needs either `disable` or `enable`",
        "write one of the two",
        "Built-in rules are switched on and off by name, each with a reason in `because`.",
    ),
    "CP220": Code(
        "node claimed twice",
        "node {node} of cluster {cluster} is selected by both intents {first} and {second}",
        "narrow one of the selectors",
        "A node has one layout, so exactly one intent can select it.",
    ),
    "CP221": Code(
        "node without intent",
        "no intent selects {nodes} of cluster {cluster}",
        "add an intent, or widen a selector, if {they} should be partitioned",
        "The node stays as it is. This is a warning because a fleet is often partitioned step by step.",
        "warning",
    ),
    "CP222": Code(
        "unknown hardware",
        "the hardware {hardware!r} is not defined",
        "{hint}",
        "A node names its Hardware document, in its group or for all nodes of the document.",
    ),
    "CP223": Code(
        "node without hardware",
        "{name} has no hardware",
        "add `hardware:` to the group, or to the spec for all groups",
        "Without hardware, nothing is known about the CPUs of a node.",
    ),
    "CP224": Code(
        "node defined twice",
        "node {node} of cluster {cluster} is defined twice",
        "keep only one of the two",
        "Node names must be unique within a cluster.",
    ),
    "CP225": Code(
        "selector without nodes",
        "intent {intent} selects no node",
        "compare the selector with the clusters, names and labels in inventories/",
        "An intent that selects no node produces no output. This is a warning because its nodes may be added later.",
        "warning",
    ),
    "CP226": Code(
        "no target for a cluster",
        "intent {intent} selects nodes of cluster {cluster} but has no target for it",
        "add the cluster to `clusters` of a target, or omit `clusters`",
        "A target without `clusters` applies to all clusters. Otherwise the first target that lists the cluster is "
        "used.",
    ),
    "CP227": Code(
        "different hardware in one pool",
        "pool {pool} of cluster {cluster} would have nodes with different hardware: {classes}",
        "next to pool, write mixedHardware: split (one pool per hardware) or mixedHardware: common (one layout that is valid on all), or give each hardware its own intent and pool (select by label)",
        "A MachineConfigPool has one MachineConfig and one KubeletConfig, so one list of CPU numbers applies to all "
        "its nodes. With different hardware in one pool, kernel arguments conflict and nodes boot in a loop "
        "(openshift/cluster-node-tuning-operator#558).",
    ),
    "CP228": Code(
        "invalid node name",
        "{name!r} is not a valid node name or range of names: {problem}",
        "write a name such as worker-0, or a range such as worker-[00-11]",
        "Node names are RFC 1123 subdomains: lower-case letters, digits, dashes and dots. They have up to 250 "
        "characters, because files of out/ are named after them. Names that Windows reserves for devices are not "
        "allowed (CP207).",
    ),
    "CP229": Code(
        "target without pool",
        "a target for openshift needs a MachineConfigPool",
        "add `pool:` with the name of the MachineConfigPool of the nodes",
        "MachineConfig and KubeletConfig objects reach nodes through their MachineConfigPool.",
    ),
    "CP230": Code(
        "setting without effect on the target",
        "{field} has no effect on {platform}",
        "remove the field",
        "A setting that a target cannot carry is an error. It is never dropped silently.",
    ),
    "CP231": Code(
        "offline CPUs that do not exist",
        "`offline` lists {cpus}, but hardware {hardware} has only {present}",
        "correct the list, or the node's hardware",
        "`offline` of a node group lists CPUs of its hardware that are switched off on these nodes only.",
    ),
    "CP232": Code(
        "second Delivery",
        "{name} is a second Delivery document",
        "keep only one of them",
        "`out/` is delivered from one place of one repository.",
    ),
    "CP233": Code(
        "profile without machines",
        "no inventory has nodes for {intent}: only the profile itself is checked",
        "import the nodes (`cpuplan import`), so that the profile is compared with their CPUs and compiled",
        "A project may consist of a PerformanceProfile alone. Mistakes that depend on the machine, from CPUs that do "
        "not exist to split siblings, are not found then, and nothing is written.",
        severity="warning",
    ),
    "CP234": Code(
        "class with a name that is too long",
        "the class of these nodes would have a name of {length} characters; the limit is {most}",
        "shorten the name of the intent or of the hardware",
        "A class of nodes is named after its intent and its hardware, and after the offline CPUs and devices that only "
        "some nodes have. Folders and objects are named after it: file systems accept names of 255 bytes, Kubernetes "
        "accepts 253 characters.",
    ),
    "CP235": Code(
        "one name for two objects or classes",
        "two {what} of cluster {cluster} would be named {name}: of {first}, and of {second}",
        "give one of the intents another name",
        "Classes are named after their intent and hardware, joined by a dash. Objects are named after the intent or, "
        "if `mixedHardware` is split, after the class. Two of the same name would overwrite each other.",
    ),
    "CP236": Code(
        "cluster without nodes",
        "no Nodes document belongs to cluster {cluster!r}",
        "{hint}",
        "A Cluster document states facts about the cluster that it is named after. Without nodes they would have no "
        "effect.",
    ),
    "CP237": Code(
        "settings of another pool",
        "nodes of pool {pool} of cluster {cluster} would also get {what} of intent {other}",
        "{hint}",
        "A custom MachineConfigPool has the MachineConfigs of the role worker too. The machine config operator adds "
        "their boot arguments and never takes back a kernel; the Linux kernel uses the first of two `isolcpus=` or "
        f"`{NOHZ_FULL.key}=` lists. The node tuning operator labels its MachineConfigs with the role only, so no selector "
        "can leave them out. It gives the profiles of TuneD for workers and for custom pools the same priority, so "
        "that the nodes of a custom pool can get either.",
    ),
    "CP238": Code(
        "object of the cluster that contradicts a plan",
        "{kind} {name} gives nodes of pool {pool} {what}, which contradicts intent {intent}",
        "remove it from the {kind}, or state the same in the intent",
        "The machine config operator merges all MachineConfigs of a pool. Of repeated boot arguments the kernel uses "
        "one, of two files with the same path the later object wins, and a real-time kernel is never taken back. The "
        "boot arguments that TuneD computes from a Tuned object become the MachineConfig 50-nto-POOL.",
    ),
    "CP239": Code(
        "node in several pools",
        "node {node} of cluster {cluster} is in the pools {pools}{effect}",
        "remove the label of one of the pools from the node, or give the pools different nodeSelectors",
        "A node has one MachineConfigPool: master before a custom pool, a custom pool before worker. With two custom "
        "pools the machine config operator reports an error, and the node gets no updates.",
    ),
    "CP298": Code(
        "second KubeletConfig of a pool",
        "KubeletConfig {name} is for pool {pool} too, which has that of intent {intent}",
        "move its settings to `kubelet` of intent {intent}, and delete the object",
        "KubeletConfigs of one pool are never combined: the machine config operator writes the kubelet's whole file "
        "from the object that was created last.",
    ),
    "CP299": Code(
        "pool with settings of an intent",
        "pool {pool} {problem} of intent {intent}, which is for the pool {own}",
        "{hint}",
        "The nodes of the pool get boot arguments and CPU lists that were made for other nodes. With the MachineConfig "
        "alone, their kubelet uses its default configuration.",
        "warning",
    ),
    "CP255": Code(
        "MachineConfig in the wrong pool",
        "{problem} the MachineConfig of intent {intent}, by its machineConfigLabel",
        "remove machineConfigLabel, or write {{machineconfiguration.openshift.io/role: {pool}}}",
        "MachineConfigPools select MachineConfigs by their labels: the pools of every cluster by their role, those that "
        "cpuplan writes by the roles worker and their own. With the role of another pool, the nodes of that pool get "
        "the boot arguments, files and units too; without a role, no node gets them.",
    ),
    "CP256": Code(
        "KubeletConfig for several pools",
        "the KubeletConfig of intent {intent} is for pool {pool}, but pool {other} has its labels too",
        "write a label in machineConfigPoolSelector that only pool {pool} has",
        "A KubeletConfig is for all pools that have its labels. The kubelets of the other pool would get its CPU lists, "
        "and of several KubeletConfigs only the one that was created last counts.",
    ),
    "CP257": Code(
        "kubelet configuration of the workers",
        "nodes of pool {pool} of cluster {cluster} would get {paths} of pool {other}",
        "{hint}",
        "The machine config operator writes a MachineConfig of each KubeletConfig, and custom pools select that of the "
        "workers too. Before OpenShift 4.15 the one whose name comes last counts: `99-worker-generated-kubelet` comes "
        "after `99-worker-cnf-generated-kubelet`. Later, a file that only the workers' KubeletConfig causes is "
        "inherited.",
    ),
    "CP2505": Code(
        "container runtime that is not stated",
        "nodes of {platform} have CRI-O or containerd, and the target does not say which",
        "add runtime: containerd and the release in containerd, or runtime: crio",
        "Each runtime has files of its own, and `check` looks for those of the one that is stated. These platforms set up "
        "either, so nothing is assumed.",
    ),
    "CP2506": Code(
        "platform whose nodes can hold no plan",
        "nodes of {platform} cannot hold a plan: {problem}",
        "use nodes whose kubelet takes files, such as those of the platform eks, kubeadm or kubespray",
        "GKE and AKS keep the kubelet's configuration to themselves. They take a policy of the CPU manager, and the kubelet "
        "then reserves CPUs by itself, by the number that the service computes: no file that cpuplan could write makes these "
        "the CPUs of the layout, and kernel arguments cannot be set to them.",
    ),
    "CP258": Code(
        "contradicting feature sets",
        "the feature set of cluster {cluster} is {feature_set} here, but {other} elsewhere",
        "state featureSet once, in the Cluster document {cluster}",
        "A cluster has one FeatureGate object, for all of its nodes. Whether the node tuning operator knows shared CPUs "
        "depends on it, so cpuplan must not believe one value for some nodes and another one for others.",
    ),
    "CP249": Code(
        "object that blocks its pool",
        "the machine config operator cannot merge MachineConfig {name}: {problem}",
        "correct the Cluster document, or the object in the cluster",
        "One MachineConfig with a mistake blocks every pool that selects it: the nodes keep what they have.",
    ),
    "CP250": Code(
        "unknown node",
        "{what}",
        "{hint}",
        "A node is planned if an intent selects it. Use its name, or cluster/name if nodes of two clusters have the "
        "same name.",
    ),
    "CP251": Code(
        "object of two hosted clusters",
        "{kind} {name} in namespace {namespace} of the hosting cluster {host} is of the clusters {other} and {cluster}",
        "{hint}",
        "A NodePool belongs to one hosted cluster, and reads the ConfigMap with its profile from its own namespace. The "
        "ConfigMap has the name of the intent. Of two Applications of Argo CD that contain one object, the second fails.",
    ),
    "CP252": Code(
        "unknown CPU",
        "node {node} has no CPU {cpu}",
        "use one of its CPUs: {cpus}",
        "`explain` accepts a CPU by its number in Linux.",
    ),
    "CP253": Code(
        "unknown CPU, pool or setting",
        "node {node} has no CPU, pool or setting {name!r}",
        "{hint}",
        "`explain` accepts the number of a CPU, the name of a pool, partition (isolated.dpdk) or QoS set of the node's "
        f"intent, or the key of one of its settings, such as {RESERVED_CPUS.key}.",
    ),
    "CP254": Code(
        "unknown catalogue entry",
        "the catalogue has no entry {name!r}",
        "{hint}",
        "`cpuplan catalog` lists the server models that can be copied into inventories/.",
    ),
    "CP292": Code(
        "invalid command line",
        "{problem}",
        "run `{command} --help` for its arguments and options",
        "The command did nothing. Options that apply to every command (-C, --color, -q, -v) may stand before or after "
        "its name. Reports in machine-readable formats contain this error too, so that a pipeline never reads an old "
        "one.",
    ),
    "CP293": Code(
        "unknown cluster or node",
        "{option} {name} matches nothing",
        "{hint}",
        "`--cluster` and `--node` take names of the inventory and limit what is printed. With a misspelt name, the "
        "output would look like that of a cluster without findings.",
    ),
    "CP294": Code(
        "waiver of a finding that cannot be waived",
        "{waived} cannot be waived: {problem}",
        "{hint}",
        "Warnings are waived one by one, each with a reason and a last day. An error cannot be waived, because what it "
        "reports does not work.",
    ),
    "CP295": Code(
        "expired waiver",
        "the waiver of {waived} for {where} expired on {expires}",
        "correct what was waived and remove the waiver, or review it and set a later day",
        "Its findings count again. Reports of cpuplan depend on their input and on the current day, and on nothing "
        "else. No file of `out/` depends on the day.",
        "warning",
    ),
    "CP296": Code(
        "waiver without effect",
        "the waiver of {waived} for {where} matches nothing",
        "{hint}",
        "What was waived has been corrected, or the waiver names the wrong place.",
        "note",
    ),
    "CP297": Code(
        "not in its canonical form",
        "the file is not in its canonical form",
        "run `cpuplan fmt`; comments and values are unchanged",
        "Reported by `cpuplan fmt --check`. With one order of keys and one indentation, a commit shows only intended "
        "changes.",
    ),
    # The lock, and what was compiled before: the CP240 to CP249.
    "CP240": Code(
        "invalid locked layout",
        "the locked layout of class {name} in cluster {cluster} breaks a rule: {problem}",
        "undo the edit: restore the entry from Git, and state in the intent what should be different",
        "`intents/plan.lock.yaml` contains the solved layouts, so that a compilation without changes moves no CPU and "
        "needs no solver. It was edited by hand into something that the intent does not allow, or that is not a "
        "layout. If the intent or the machine changes and a layout no longer fits, it is solved again with the fewest "
        "CPUs moved, without an error.",
    ),
    "CP241": Code(
        "damaged lock",
        "the lock {problem}",
        "restore it from Git: `git checkout HEAD -- intents/plan.lock.yaml`, or the last commit where it was whole",
        "`intents/plan.lock.yaml` is written by cpuplan: a list of classes, each with cluster, class, solvedFrom and "
        "pools. It records where the CPUs of running nodes are. Without it, every layout would be solved from scratch "
        "and nodes would reboot.",
    ),
    "CP242": Code(
        "lock of another version",
        "the lock is {found}; this release of cpuplan reads {expected}",
        "compile with the release of cpuplan that wrote it, or with a later one",
        "Another release of cpuplan wrote `intents/plan.lock.yaml`. Without a readable lock, nothing records where "
        "CPUs are now: layouts would be solved from scratch, CPUs would move, and nodes would reboot.",
    ),
    "CP243": Code(
        "empty lock",
        "{path} is empty: the solved layouts are gone",
        "restore it from Git: `git checkout HEAD -- {path}`, or the last commit where it was whole",
        "A lock without classes contains `classes: []`. A file without any characters was emptied by something else. "
        "If it were treated as a first compilation, every layout would be solved from scratch: CPUs would move, and "
        "nodes would reboot. If that is intended, run `cpuplan compile --resolve`.",
    ),
    "CP244": Code(
        "cluster gone",
        "cluster {cluster} was compiled before and no longer exists: {many} with {nodes} ({classes})",
        "restore its Nodes documents and the intents that select them, or accept this with `cpuplan compile --allow-removal`",
        "Objects that disappear from `out/clusters/` are deleted from the cluster, and nodes lose their partitioning. "
        "cpuplan names what would be lost, and does it only on request. The locked layouts stay in "
        "`intents/plan.lock.yaml`, so that a cluster that comes back gets them again, until `cpuplan compile --prune`.",
    ),
    "CP245": Code(
        "pool gone",
        "pool {pool} of cluster {cluster} was compiled before and no longer exists: {nodes} of {classes}",
        "correct `pool` of the target, or accept this with `cpuplan compile --allow-removal`",
        "The MachineConfigPool and everything that belongs to it would be deleted, and its nodes would belong to "
        "another pool.",
    ),
    "CP246": Code(
        "class gone",
        "class {name} of cluster {cluster} was compiled before and no longer exists: {nodes}{pool}, with the layout {layout}",
        "let an intent select its nodes again, or accept this with `cpuplan compile --allow-removal`",
        "No intent selects its nodes any more, or no inventory lists them: one wrong letter in a selector is enough. "
        "Its files would disappear from `out/`. The locked layout stays in `intents/plan.lock.yaml` until `cpuplan "
        "compile --prune`. If a class with another name has its nodes, that class takes over the layout, and nothing "
        "is lost.",
    ),
    "CP247": Code(
        "empty selector",
        "the selector of {intent} is empty, so it selects every node of every cluster: {nodes} in {clusters}",
        "limit it with `matchLabels`, `nodes` or `clusters`",
        "An empty selector is allowed. It also selects nodes and clusters that are added later.",
        severity="warning",
    ),
    "CP248": Code(
        "unresolved merge",
        "the lock has both sides of a merge: {what}",
        "run `cpuplan compile`: for each class it keeps the layout that fits, and writes the file again",
        "Two branches changed the layout of one class, and Git kept both. The merged intents decide which one counts: "
        "the layout that was solved from them, else one that satisfies every rule, else the layout with the fewest "
        "moves from the first. `validate` and `compile --check` do not judge a lock before the merge is resolved.",
    ),
}
