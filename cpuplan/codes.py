"""The table of diagnostic codes: one place to compare their tone, and what the documentation is made from.

`CP` + stage digit (1 reading, 2 intent and inventory, 3 topology, 4 solving, 5 components and backends, 6 writing,
7 simulation, 8 the node differs, 9 a bug) + two digits. A code is never reused. A message names the value and the
rule; a remedy is something to do. `{gaps}` are filled by `diagnostics.diagnose`.
"""

from typing import NamedTuple


class Code(NamedTuple):
    """One kind of diagnostic. `about` is the paragraph that the documentation gives it."""

    title: str
    message: str
    remedy: str
    about: str
    severity: str = "error"


READING = {
    "CP101": Code(
        "invalid YAML",
        "this is not valid YAML: {problem}",
        "correct the syntax here or just before",
        "The YAML parser (libyaml) stopped. Nothing after this place in the file was read.",
    ),
    "CP102": Code(
        "duplicate key",
        "key {key!r} is written twice in one mapping",
        "keep one of the two",
        "YAML readers keep one of two equal keys in silence, some the first and some the last; cpuplan refuses both.",
    ),
    "CP103": Code(
        "ambiguous scalar",
        "{text} is {first} to YAML 1.1 and {second} to YAML 1.2",
        "quote it if text is meant: {quoted}{otherwise}",
        "Readers of YAML 1.1 (PyYAML, Go's yaml.v2) and 1.2 (ruamel, yaml.v3) understand this scalar differently: "
        "`on`, `yes`, `017`, `1_000`, `12:30`, dates. cpuplan takes true, false, null, decimal integers and text.",
    ),
    "CP104": Code(
        "number other than a whole decimal one",
        "{text} is the number {value} to YAML, neither a plain whole number nor text",
        "quote it if text is meant: {quoted}, else write a plain whole number",
        "A version such as 4.20 becomes 4.2 when it is read as a number, 0x1f becomes 31, and whole numbers of more "
        "than 64 bits are rounded. No field of cpuplan is a fraction; its whole numbers are written like 0, 17 or -3.",
    ),
    "CP105": Code(
        "anchor, alias or tag",
        "{what} {text!r} is not taken",
        "write the value out",
        "Aliases can expand a small file to gigabytes (CVE-2019-11253) and hide what a reviewer reads; tags change "
        "types. Inventories and intents are read by people, so every value stands where it holds.",
    ),
    "CP106": Code(
        "document too large",
        "the file exceeds the limit of {limit} {what}",
        "make it smaller, or split it into several files",
        "The limits are 64 MiB per file, 2,000,000 keys and values, 64 levels of nesting, 1,048,576 characters per "
        "scalar, and 1000 errors, after which the rest of a file is not looked at.",
    ),
    "CP107": Code(
        "not a mapping with text keys",
        "{what}",
        "write `key: value` pairs; a key that looks like a number, true or null needs quotes",
        "Each document is a mapping, and every key is text.",
    ),
    "CP108": Code(
        "unreadable file",
        "{path} cannot be read: {problem}",
        "correct the path, its permissions or its encoding",
        "The operating system refused to open or read the file, or its bytes are not UTF-8.",
    ),
    "CP109": Code(
        "nothing to read",
        "there is no Hardware, Nodes or Intent document in {path}",
        "run `cpuplan init` for a first project, or `cpuplan -C DIR` for another folder",
        "cpuplan reads every .yaml and .yml file under `inventories/` and `intents/` of the project folder.",
    ),
}

IMPORT = {
    "CP120": Code(
        "nothing that can be imported",
        "{path} is not in a format that can be imported ({formats})",
        "give a must-gather folder, the root of a host (`/`), a copy of its /sys and /proc, or a tar archive of them",
        "The format is found by looking at the path: a must-gather has `nodes/<node>/sysinfo.tgz` somewhere, a system root "
        "has `sys/devices/system/cpu` or `proc/cpuinfo` at its top or one folder below.",
    ),
    "CP121": Code(
        "unreadable or damaged archive",
        "{path} cannot be read: {problem}",
        "collect it again, or correct its permissions; what else there is has been read",
        "Half of an archive describes half of a machine, so nothing is taken from a damaged one.",
    ),
    "CP122": Code(
        "part of an archive refused",
        "{path} holds {problem}",
        "nothing, if all else is there; else pack it anew, without -P of tar: cpuplan went on without that",
        "Absolute names, names and links that lead out of the archive or folder, and devices are never followed: they "
        "have no use in a copy of /sys and /proc, and let an archive read or write elsewhere (CVE-2007-4559).",
        "warning",
    ),
    "CP123": Code(
        "archive too large",
        "{path} exceeds the limit of {limit} {what}",
        "give the part that holds `sys/` and `proc/`, or unpack it and give the folder",
        "Archives are read in memory, up to 512 MiB unpacked, 1,000,000 members, and 64 MiB per file that is read.",
    ),
    "CP124": Code(
        "no CPUs described",
        "{path} describes no CPUs",
        "collect `sys/devices/system/cpu` and `proc/cpuinfo`; in a must-gather they are in `nodes/<node>/sysinfo.tgz`",
        "There are neither `sys/devices/system/cpu/cpu*/` folders nor processors in `proc/cpuinfo`.",
    ),
    "CP125": Code(
        "unexpected text",
        "{path} reads {text!r}: {problem}",
        "compare the result with the machine; cpuplan went on as if the file were missing",
        "The kernel writes such files in one form (Documentation/ABI); this one has another, so it was damaged or made up.",
        "warning",
    ),
}

TOPOLOGY = {
    "CP301": Code(
        "hardware without one description",
        "the hardware has {given}",
        "write `regular` for a machine whose sockets are alike, `topology` for any other, and not both",
        "Two descriptions of one machine could differ, and neither would be the right one.",
    ),
    "CP302": Code(
        "cores do not divide",
        "a socket's {cores} cores do not divide into {count} {what}",
        "correct the numbers, or describe the machine by `topology`",
        "Dies and last-level caches of a `regular` machine have equally many cores. NUMA nodes may differ by one core, and "
        "each has at least one.",
    ),
    "CP303": Code(
        "CPU in two places",
        "two of the {what} have {cpus}",
        "keep each CPU in one of them",
        "Cores, sockets, dies, clusters, NUMA nodes and the caches of a level each divide the machine's CPUs.",
    ),
    "CP304": Code(
        "CPUs of no core",
        "the {what} have {cpus}, and `cores` and `offline` do not",
        "add them to `cores` or to `offline`, or take them out here",
        "`cores` lists the threads of every core, and so says which CPUs there are.",
    ),
    "CP305": Code(
        "thread lists of unlike length",
        "the lists of `threads` are of unlike length: they have {lengths} CPUs",
        "give each list one CPU of every core; cores with fewer threads go into an entry of their own",
        "The n-th CPUs of the lists in `threads` are the siblings of the n-th core, so the lists are equally long.",
    ),
    "CP306": Code(
        "wrong number of ids",
        "there are {count} ids for {wanted} {what}",
        "give one id for each, or leave `ids` out",
        "Ids are written as a sequence such as `0-27,0-27`, in the order of the cores or caches that they belong to.",
    ),
    "CP307": Code(
        "too many CPUs",
        "the machine would have {count} CPUs, and {limit} are the limit",
        "correct the numbers of sockets, cores or threads",
        "Linux itself is built for up to 8192 CPUs (NR_CPUS), and systemd reads no higher numbers.",
    ),
    "CP308": Code(
        "caches without one place",
        "the caches of level {level} have {given}",
        "write `per` where each core, cluster, die, socket or NUMA node has one, else list the CPUs that share each",
        "A cache is known by the CPUs that share it.",
    ),
    "CP309": Code(
        "id given twice",
        "two of the {what} have the id {number}",
        "merge them, or correct one of the ids",
        "Sockets and NUMA nodes are referred to by the number that the kernel gives them.",
    ),
    "CP310": Code(
        "no CPU online",
        "all CPUs of the machine are offline",
        "take the CPUs that are in use out of `offline`",
        "A machine runs on at least one CPU.",
    ),
}

COMPONENTS = {
    "CP501": Code(
        "unknown release",
        "{platform} {version} is not known to this release of cpuplan",
        "use a version from {first} to {last}, or a release of cpuplan that knows it",
        "What each release of a target can do is in one table (`components/versions.py`). Guessing what an unknown release "
        "takes could leave nodes with a kubelet or CRI-O that does not start.",
    ),
    "CP502": Code(
        "kubelet without drop-in folder",
        "the kubelet of Kubernetes {version} does not read {path} by itself",
        "use 1.30 or later; on 1.28 and 1.29 set KUBELET_CONFIG_DROPIN_DIR_ALPHA and --config-dir; else merge the file",
        "The folder of `--config-dir` came with 1.28 as alpha and 1.30 as beta (KEP-3983). This is a warning, since the file "
        "can also be merged into the main configuration by other means.",
        "warning",
    ),
    "CP503": Code(
        "unknown policy option",
        "no kubelet has the option {option!r} in {field}",
        "{hint}",
        "A kubelet with an unknown policy option does not start.",
    ),
    "CP504": Code(
        "policy option of a later version",
        "the option {option} came with Kubernetes {since}; the target has {version}",
        "take it out, or use a later version of the target",
        "A kubelet with an unknown policy option does not start.",
    ),
    "CP505": Code(
        "policy option behind a feature gate",
        "the option {option} is alpha in Kubernetes {version}: the kubelet does not start unless {gate} is on",
        "take it out, or make sure that the gate is on before the nodes get these files",
        "Options of level alpha need a feature gate that is off by default. cpuplan sets no feature gates: on OpenShift "
        "they belong to the cluster's FeatureGate object, elsewhere to the kubelet's main configuration. A warning.",
        "warning",
    ),
    "CP506": Code(
        "value that a policy option does not take",
        "the option {option} is {value!r}; it must be {wanted}",
        "correct the value",
        "The kubelet reads the value as Go's ParseBool, or as a number, and does not start if it cannot.",
    ),
    "CP507": Code(
        "policy options without the static policy",
        "cpuManagerPolicy none takes no options; there are {options}",
        "take out cpuManagerPolicyOptions, or use the policy static",
        "The kubelet's none policy refuses every option: `None policy: received unsupported options`.",
    ),
    "CP509": Code(
        "policy options that exclude each other",
        "{first} and {second} cannot be used together",
        "keep one of the two",
        "The kubelet refuses the pair at its start (pkg/kubelet/cm/cpumanager/policy_options.go).",
    ),
    "CP510": Code(
        "align-by-socket on a machine with few NUMA nodes",
        "align-by-socket needs a NUMA node in every socket; the machine has {nodes} in {sockets} sockets",
        "take the option out",
        "A NUMA node that spans sockets cannot tell which socket is meant, so the kubelet refuses the option.",
    ),
    "CP511": Code(
        "strict-cpu-reservation on OpenShift",
        "OpenShift's kubelet refuses its own state at every restart with strict-cpu-reservation, unless partitioning is on",
        "take the option out, or make sure that the cluster was installed with cpuPartitioningMode AllNodes",
        "OpenShift's changes to the kubelet compare the state with all CPUs, also where the option keeps the reserved ones "
        "out of it. Workload partitioning, which is a choice of the installation, has the effect of the option. A warning.",
        "warning",
    ),
    "CP512": Code(
        "too many NUMA nodes for the topology manager",
        "hardware {hardware} has {count} NUMA nodes; the topology manager takes {limit}",
        "set topologyManagerPolicyOptions max-allowable-numa-nodes to {count} or more, or topologyManagerPolicy to none",
        "The topology manager tries all combinations of NUMA nodes, memory-only ones included, so it refuses machines with "
        "more than 8 unless told otherwise.",
    ),
    "CP513": Code(
        "prefer-closest-numa-nodes on gaps",
        "the kubelet panics with prefer-closest-numa-nodes on NUMA nodes {nodes} of hardware {hardware}",
        "take the option out",
        "The kubelet looks up distances by the number of the NUMA node, so numbers with gaps run beyond the table.",
    ),
    "CP514": Code(
        "no amount",
        "{field} is {value!r}, which is no amount",
        "write a whole number with a unit, such as 500Mi",
        "The kubelet does not start with a reservation or threshold that it cannot read.",
    ),
    "CP515": Code(
        "unknown eviction signal",
        "evictionHard has no signal {signal!r}",
        "{hint}",
        "The kubelet does not start with an unknown signal.",
    ),
    "CP516": Code(
        "percentage with the memory manager",
        "evictionHard memory.available is {value}, and the memory manager needs an amount",
        "write an amount such as 100Mi",
        "reservedMemory must add up to the reservations and this threshold to the byte. A percentage is of the memory that "
        "the kernel happens to report, so nobody can write the sum down beforehand.",
    ),
    "CP517": Code(
        "reservedMemory does not add up",
        "reservedMemory is {found} in all; kubeReserved, systemReserved and evictionHard are {wanted} in all",
        "make the sums equal, or leave out reservedMemory to have it computed",
        "The kubelet does not start unless both are equal to the byte.",
    ),
    "CP518": Code(
        "reservation beyond the memory",
        "{missing} of the {wanted} to reserve find no room on hardware {hardware} beside its huge pages",
        "reserve less, or ask for fewer huge pages",
        "Memory of a NUMA node is huge pages, reserved, or for pods. The reservation goes to the nodes of the reserved CPUs "
        "first and then to the others.",
    ),
    "CP519": Code(
        "reservedMemory without the memory manager",
        "reservedMemory has no effect without the memory manager",
        "take it out, or set memoryManagerPolicy to Static",
        "Only the Static memory manager reads reservedMemory. It is used with the topology policies restricted and "
        "single-numa-node unless memoryManagerPolicy says otherwise.",
    ),
    "CP520": Code(
        "boot argument against the plan",
        "the argument {argument} says something else than the plan, which has {planned}",
        "take it out: pools and isolation say it",
        "CPU lists of the command line follow from the pools. Of two isolcpus= with unlike lists the kernel drops the second, "
        "of other lists the last one wins, and either way nodes differ from what is checked and explained.",
    ),
    "CP521": Code(
        "boot argument replaced",
        "the argument {argument} replaces {planned}",
        "leave it if that is meant",
        "The last one of a repeated argument wins in the kernel, so cpuplan writes only the given one. This is a warning.",
        "warning",
    ),
    "CP522": Code(
        "huge pages said twice",
        "the argument {argument} sets huge pages beside hugePages",
        "say it in hugePages only",
        "Boot arguments for huge pages come in pairs whose order matters; two sources would mix.",
    ),
    "CP523": Code(
        "boot argument that switches off planned CPUs",
        "the argument {argument} keeps {cpus} from coming up, which the plan uses",
        "take it out, or list the CPUs as `offline` in the inventory",
        "A CPU beyond those that came up makes the kernel drop the whole isolcpus= or nohz_full= that names it, and the "
        "kubelet and CRI-O refuse lists with it.",
    ),
    "CP524": Code(
        "settings that exclude each other",
        "{field} {value} cannot be used with {other}",
        "change one of the two",
        "Real-time kernels need real-time hints and 4k pages, 64k pages exist on aarch64, and power is either saved by pods or "
        "spent on latency. The node tuning operator refuses the same.",
    ),
    "CP525": Code(
        "command line too long",
        "the boot arguments of class {name} have {length} characters; there is room for {limit}",
        "give pools.isolated more CPUs, for the line names all others one by one, or give fewer extraArguments",
        "The kernel cuts its command line off at a fixed size without a word: 2048 characters on most architectures, of which "
        "256 are left to the boot loader. Most of a long one is systemd.cpu_affinity=, which names each CPU that is neither "
        "isolated nor offlined.",
    ),
    "CP530": Code(
        "mixed CPUs without a shared pool",
        "runtime.mixedCpus is true, and there are no shared CPUs",
        "add pools.shared, or take out mixedCpus",
        "With mixed CPUs, containers use the shared pool beside their exclusive CPUs.",
    ),
    "CP531": Code(
        "mixed CPUs on an old CRI-O",
        "mixed CPUs need CRI-O {since}, which {version} does not have",
        "use a later version, or set runtime.mixedCpus to false",
        "CRI-O ignores keys that it does not know, so `shared_cpuset` would do nothing, and an allowed annotation that it does "
        "not know makes it drop the runtime handler.",
    ),
    "CP532": Code(
        "NUMA nodes that the scheduler cannot read",
        "NodeResourceTopology gets no zones for hardware {hardware}: its NUMA nodes are {nodes}, and zones are 0 to 63 without gaps",
        "leave these nodes out of topology-aware scheduling",
        "The plugin NodeResourceTopologyMatch panics on zone numbers with gaps, and on 64. Exporters publish such zones all "
        "the same. This is a warning: the nodes themselves work.",
        "warning",
    ),
    "CP540": Code(
        "huge page size that the kernel lacks",
        "there are no huge pages of {size} on {architecture} with base pages of {base}",
        "use one of {sizes}",
        "The sizes follow from the processor's page tables.",
    ),
    "CP541": Code(
        "huge pages asked for twice",
        "pages of {size} for {where} are asked for twice",
        "keep one entry with the sum",
        "Of two counts for the same size and place the last one wins.",
    ),
    "CP542": Code(
        "NUMA node without memory",
        "NUMA node {node} of hardware {hardware} does not exist or has no memory",
        "use one of the nodes with memory: {nodes}",
        "Huge pages and reserved memory are taken from the memory of a NUMA node. The kubelet does not start with a "
        "reservation on a node that does not exist.",
    ),
    "CP543": Code(
        "huge pages beyond the memory",
        "huge pages take {asked} on NUMA node {node} of hardware {hardware}, which has {memory}",
        "ask for fewer pages",
        "The kernel sets aside as many pages as it finds memory for and says so only in its log.",
    ),
}

WRITING = {
    "CP601": Code(
        "not a place to write to",
        "{path} is {kind}, where cpuplan writes {wanted}",
        "remove or rename it, or choose another place",
        "The output is a folder of its own: not a file, not a symbolic link, and not the current folder or one above "
        "it, because the folder is exchanged as a whole. A single file is not written through a symbolic link.",
    ),
    "CP602": Code(
        "foreign file in the way",
        "{path} is {kind} that cpuplan did not write, and it has {wanted} to put there",
        "move it elsewhere, then compile again",
        "Beside its own files, the output folder may hold anything. cpuplan changes and deletes only what "
        "`.cpuplan/manifest.json` lists, so a foreign file that stands where a new one belongs stops the compilation, "
        "also with `--force`.",
    ),
    "CP603": Code(
        "edited by hand",
        "{path} is not as cpuplan wrote it",
        "say it in the intent and restore the file, or drop the edit with `cpuplan compile --force`",
        "The file's SHA-256 differs from the one in `.cpuplan/manifest.json`, and from what would be written now. The "
        "edit would be lost without a word.",
    ),
    "CP604": Code(
        "damaged manifest",
        "{path} is not a manifest of cpuplan: {problem}",
        "restore it from Git; after a merge conflict take either side whole, then `cpuplan compile --force`",
        "The manifest says which files of the output folder belong to cpuplan. Without it nothing is changed or "
        "deleted.",
    ),
    "CP605": Code(
        "mount point or image layer",
        "{path} is a mount point or comes from a container image's layer",
        "mount the folder above the output folder from outside, and nothing inside it",
        "The output folder is replaced in one step by exchanging it with a folder beside it (renameat2(2)), which "
        "needs both on one file system. In a container, mount the project and not only its output folder. A folder of "
        "an image's lower layer cannot be renamed either (overlayfs gives EXDEV).",
    ),
    "CP606": Code(
        "another run is writing",
        "another cpuplan is writing in {path}",
        "wait until it has ended, then run again",
        "Writers hold a flock(2) on the folder that contains the output folder. The kernel drops it when a run ends in "
        "any way, so it is never stale.",
    ),
    "CP607": Code(
        "reading or writing failed",
        "{path} cannot be read or written: {problem}",
        "free space, or correct the path or its permissions, then run again",
        "The operating system refused. The output folder is as it was before: the new one is made beside it and "
        "replaces it only when complete, so there must be room for both.",
    ),
    "CP608": Code(
        "missing output",
        "{path} is missing",
        "run `cpuplan compile` and commit the result",
        "Reported by `cpuplan compile --check`: the file would be added.",
    ),
    "CP609": Code(
        "stale output",
        "{path} is not what the inventories and intents give now",
        "run `cpuplan compile` and commit the result",
        "Reported by `cpuplan compile --check`: the file would be changed.",
    ),
    "CP610": Code(
        "left-over output",
        "{path} is no longer asked for",
        "run `cpuplan compile` and commit the result",
        "Reported by `cpuplan compile --check`: cpuplan wrote the file in an earlier run and would delete it now.",
    ),
}

INTENT = {
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
        "{field} is {value!r}; it must be {expected}",
        "{hint}",
        "The value has another type or range than the field takes. The JSON Schemas in `schemas/` say the same to editors.",
    ),
    "CP204": Code(
        "unknown apiVersion",
        "apiVersion is {found!r}",
        "write {expected}",
        "Documents of this release are of `cpuplan.io/v1alpha1`.",
    ),
    "CP205": Code(
        "unknown kind",
        "kind is {found!r}, which is none of Delivery, Hardware, Intent and Nodes",
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
        "{name!r} is no name that Kubernetes takes",
        "use up to 63 lower-case letters, digits and dashes, beginning and ending with a letter or digit",
        "Names become names of objects and files: RFC 1123 labels.",
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
        "write exactly one of them",
        "A pool says either which CPUs it has or how many.",
    ),
    "CP210": Code(
        "`per` does not fit",
        "pool {pool}: `per` has no meaning beside {size}",
        "take out `per`, or give the size as count, cores or percent",
        "`per` multiplies a number: for each socket, or for each NUMA node.",
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
        "give each hardware its own intent and pool (select by label), or leave one out",
        "A MachineConfigPool has one MachineConfig and one KubeletConfig, so one list of CPU numbers for all its nodes. With "
        "unlike nodes in one pool, kernel arguments fight each other and nodes boot in a loop "
        "(openshift/cluster-node-tuning-operator#558).",
    ),
    "CP228": Code(
        "invalid node name",
        "{name!r} stands for no node names: {problem}",
        "write names such as worker-0, or ranges such as worker-[00-11]",
        "Node names are RFC 1123 subdomains: lower-case letters, digits, dashes and dots.",
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
    "CP240": Code(
        "lock does not hold",
        "the locked layout of class {name} in cluster {cluster} does not satisfy its intent",
        "undo the edit, or delete the entry and compile again",
        "`intents/plan.lock.yaml` holds the solved layouts so that a compile without changes moves no CPU and needs no "
        "solver. It was changed by hand into something that the intent does not allow.",
    ),
    "CP241": Code(
        "damaged lock",
        "the lock {problem}",
        "restore it from Git, or delete it and compile again",
        "`intents/plan.lock.yaml` is written by cpuplan: a list of classes, each with cluster, class, solvedFrom and pools.",
    ),
}


COMMANDS = {
    "CP620": Code(
        "stale lock",
        "{path} is not what the intents and inventories give",
        "run `cpuplan compile` and commit the result",
        "`compile --check` compares the lock and `out/` with what it would write, byte by byte, and writes nothing.",
    ),
    "CP621": Code(
        "file in the way",
        "{path} is there already",
        "{hint}",
        "`init` and `import` never overwrite a file that they did not write.",
    ),
    "CP250": Code(
        "unknown node",
        "there is no node {node!r}",
        "{hint}",
        "A node is named by its name, or by cluster/name where two clusters have a node of that name.",
    ),
    "CP252": Code(
        "unknown CPU",
        "node {node} has no CPU {cpu}",
        "its CPUs are {cpus}",
        "`explain` takes a CPU by the number that Linux gives it.",
    ),
}

CHECKING = {
    "CP801": Code(
        "no CPUs to compare",
        "{path} cannot be read",
        "give the root of a Linux system, or a copy that holds sys/ and proc/, with --root",
        "Without the list of online CPUs nothing can be said about the node.",
    ),
    "CP802": Code(
        "other hardware",
        "the node has CPUs {found}; its hardware {hardware} has {wanted}",
        "name the right hardware for this node, or read it anew with `cpuplan import sysroot`",
        "The plan was made for another machine: CPU numbers in it mean other CPUs, or none, on this node.",
    ),
    "CP803": Code(
        "other CPUs online",
        "CPUs {found} are online; {wanted} should be",
        "look whether CPUs were switched off by hand, or whether the unit that switches the offlined pool off has failed",
        "A kubelet that finds other online CPUs than before refuses its state file (kubernetes/kubernetes#124066).",
    ),
    "CP804": Code(
        "other siblings",
        "the core of CPU {cpu} is {found}; in the inventory it is {wanted}",
        "read the hardware anew with `cpuplan import sysroot`",
        "Siblings decide which CPUs disturb each other; a layout of whole cores is wrong where they differ.",
    ),
    "CP810": Code(
        "no command line",
        "{path} cannot be read",
        "give the root of a Linux system, or a copy that holds proc/cmdline, with --root",
        "Boot arguments are read from /proc/cmdline, as the kernel got them.",
    ),
    "CP811": Code(
        "boot argument missing",
        "the node was booted without {arguments}",
        "sync the compiled files and reboot the node",
        "The argument takes effect at the next boot.",
    ),
    "CP812": Code(
        "boot argument differs",
        "the node was booted with {found} instead of {wanted}",
        "sync the compiled files and reboot; if it stays, look for a second place that sets it",
        "Of an argument that is given several times, most kernels take the last; this is the last.",
    ),
    "CP813": Code(
        "boot argument repeated",
        "{key} is on the command line {count} times with different values: {values}",
        "remove the other one: a second tool sets it too",
        "The kernel takes the last of most arguments, but drops the second isolcpus= (kernel 6.12, housekeeping.c).",
    ),
    "CP814": Code(
        "kernel has other sets",
        "the kernel's list `{file}` is {found}; it should be {wanted}",
        "look in the kernel log for the argument: one CPU that does not exist makes it drop the whole list",
        "/sys/devices/system/cpu/isolated and nohz_full show what the kernel took from isolcpus= and nohz_full=.",
    ),
    "CP820": Code(
        "no kubelet configuration",
        "there is neither {paths}",
        "give the node's root with --root",
        "The kubelet's file is etc/kubernetes/kubelet.conf on OpenShift and var/lib/kubelet/config.yaml elsewhere.",
    ),
    "CP821": Code(
        "unreadable kubelet configuration",
        "{path} is no KubeletConfiguration: {problem}",
        "correct or remove the file",
        "The kubelet does not start with a file that it cannot read.",
    ),
    "CP822": Code(
        "kubelet setting missing",
        "the kubelet's files do not say {settings}",
        "sync the compiled files and restart the kubelet",
        "These keys are in no file of the kubelet's configuration, so their defaults hold.",
    ),
    "CP823": Code(
        "kubelet setting differs",
        "{key} of the kubelet is {found}; it should be {wanted}",
        "look who wrote this file: of several drop-ins the last one by name holds",
        "Drop-ins are merged in the order of their names: maps merge, lists replace.",
    ),
    "CP830": Code(
        "no CRI-O configuration",
        "there is no file in {path}",
        "sync the compiled files; is CRI-O the node's runtime?",
        "CRI-O reads /etc/crio/crio.conf and everything below /etc/crio/crio.conf.d.",
    ),
    "CP831": Code(
        "unreadable CRI-O file",
        "{path} is no TOML: {problem}",
        "remove the file: CRI-O does not start with it",
        "CRI-O reads every file of the folder, whatever its name ends in, backups and hidden files too.",
    ),
    "CP832": Code(
        "CRI-O setting missing",
        "CRI-O's files do not say {settings}",
        "sync the compiled files and restart CRI-O",
        "CRI-O ignores keys that it does not know without a word, so a misspelt one is missing.",
    ),
    "CP833": Code(
        "CRI-O setting differs",
        "{key} of CRI-O is {found}; it should be {wanted}",
        "remove it from this file, or give the compiled file a name that sorts later",
        "Of several files the last one by name holds; a runtime handler's table is replaced as a whole.",
    ),
    "CP840": Code(
        "mixed-CPU file missing",
        "there is no {path}",
        "sync the compiled files and restart the kubelet",
        "Without the file the kubelet offers no workload.openshift.io/enable-shared-cpus.",
    ),
    "CP841": Code(
        "unreadable mixed-CPU file",
        "{path} is not what the kubelet reads: {problem}",
        "sync the compiled files and restart the kubelet",
        "With bad JSON the kubelet switches mixed CPUs off without a word; with a wrong key it offers 0 containers.",
    ),
    "CP842": Code(
        "mixed-CPU limit differs",
        "{key} is {found}; it should be {wanted}",
        "sync the compiled files and restart the kubelet: it reads the file at its start",
        "The number of containers of a node that may use shared CPUs.",
    ),
}


BUGS = {
    "CP901": Code(
        "bug in cpuplan",
        "cpuplan failed: {problem}",
        "please report it with {path}; files are written whole or not at all, so none is damaged",
        "A mistake in cpuplan and not in its input. The file holds the traceback.",
    ),
}

INTENT_POOLS = {
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
}

POOL_LISTS = {
    "CP350": Code(
        "listed CPU that the machine lacks",
        "{pool} lists {cpus}, and hardware {hardware} has only {present}",
        "take {them} out of the list, or correct the hardware",
        "A CPU list holds for one numbering of CPUs. Sizes (cores, count, percent) hold for every server model.",
    ),
    "CP351": Code(
        "listed CPU that is offline",
        "{pool} lists {cpus}, and {they} offline on the nodes of class {name}",
        "take {them} out of the list, or correct `offline` in the inventory",
        "Only online CPUs are planned. CPUs that the inventory says are offline need no pool, not even `offlined`, and stay "
        "as they are.",
    ),
    "CP352": Code(
        "list that splits a core",
        "{pool} lists {cpus} without {siblings} of the same {cores}",
        "list {whole}, or write wholeCores: false under {pool}",
        "Two threads of a core share its execution units and caches, so that a pool is heard by the pool of its siblings. "
        "CPU numbers of siblings are often far apart: 0 and 32, say.",
    ),
}

SOLVING = {
    "CP401": Code(
        "no layout",
        "{pools} {do} not fit class {name} of cluster {cluster} ({nodes}){facts}",
        "{change}",
        "No assignment of CPUs to pools satisfies these statements together, which was proven by search, and without any one "
        "of them there is one. What the remedy proposes was tried and gives a layout, once other errors are settled too.",
    ),
    "CP402": Code(
        "CPUs without a pool",
        "{count} of the {online} of class {name} in cluster {cluster} ({nodes}) would be in no pool, such as CPU {cpu}{facts}",
        "{change}",
        "Each online CPU is in exactly one pool. Let one pool take the rest, or make the sizes add up. A single thread of a "
        "core can also be left over because all other pools take whole cores only.",
    ),
}

CODES: dict[str, Code] = {
    **READING,
    **IMPORT,
    **TOPOLOGY,
    **INTENT,
    **INTENT_POOLS,
    **POOL_LISTS,
    **SOLVING,
    **COMPONENTS,
    **WRITING,
    **COMMANDS,
    **CHECKING,
    **BUGS,
}
