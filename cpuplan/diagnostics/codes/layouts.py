"""What the CPUs of a machine are, and layouts: the CP3xx and CP4xx."""

from cpuplan.diagnostics.codes.code import Code

CODES = {
    # What the CPUs of a machine are: the CP3xx.
    "CP301": Code(
        "hardware without exactly one description",
        "the hardware has {given}",
        "write either `regular`, for a machine with identical sockets, or `topology`, for any other machine",
        "Two descriptions of one machine could differ, and neither would be the right one.",
    ),
    "CP302": Code(
        "cores cannot be divided",
        "the {cores} cores of a socket cannot be divided into {parts}",
        "correct the numbers, or describe the machine with `topology`",
        "The dies and last-level caches of a `regular` machine have equal numbers of cores. Its NUMA nodes may differ "
        "by one core, and each has at least one.",
    ),
    "CP303": Code(
        "CPU in two places",
        "two of the {what} contain {cpus}",
        "keep each CPU in only one of them",
        "Cores, sockets, dies, clusters, NUMA nodes and the caches of a level each divide the machine's CPUs without "
        "overlap.",
    ),
    "CP304": Code(
        "CPUs without a core",
        "the {what} contain {cpus}, but `cores` and `offline` do not",
        "add them to `cores` or `offline`, or take them out here",
        "`cores` lists the threads of every core, and so defines which CPUs exist.",
    ),
    "CP305": Code(
        "thread lists of different length",
        "the lists of `threads` have different lengths: {lengths} CPUs",
        "give each list one CPU of every core; put cores with fewer threads into a separate entry",
        "The n-th CPUs of the lists in `threads` are the siblings of the n-th core, so all lists must have the same "
        "length.",
    ),
    "CP306": Code(
        "wrong number of ids",
        "there are {count} ids for {wanted} {what}",
        "give one id for each, or omit them",
        "Ids are written as a sequence such as `0-27,0-27`, in the order of the cores or caches to which they belong.",
    ),
    "CP307": Code(
        "too many CPUs",
        "the machine would have {count} CPUs; the limit is {limit}",
        "correct the numbers of sockets, cores or threads",
        "Linux can be built for up to 8192 CPUs (NR_CPUS), and systemd reads no higher numbers.",
    ),
    "CP308": Code(
        "caches without exactly one scope",
        "the caches of level {level} have {given}",
        "write `per` if each core, cluster, die, socket or NUMA node has one, or list the CPUs that share each cache",
        "A cache is identified by the CPUs that share it.",
    ),
    "CP309": Code(
        "duplicate id",
        "two of the {what} have the id {number}",
        "merge them, or correct one of the ids",
        "Sockets and NUMA nodes are identified by the kernel's numbers.",
    ),
    "CP310": Code(
        "no CPU online",
        "all CPUs of the machine are offline",
        "take the CPUs that are in use out of `offline`",
        "A machine needs at least one online CPU.",
    ),
    "CP311": Code(
        "distances of memory-only nodes",
        "`distances` does not cover the {count} NUMA nodes without CPUs",
        "omit `distances`, or describe the machine with `topology` and the `distances` of each node",
        "The kernel gives each NUMA node a distance to every other one, including nodes that have only memory. The "
        "place of such a node differs between machines, so two numbers cannot describe it.",
    ),
    "CP312": Code(
        "device without NUMA node",
        "{pool} has CPUs for each device, but hardware {hardware} has no NUMA node with CPUs for {devices}",
        "add its numaNode to the inventory, or match other devices in `perDevice`",
        "The CPUs for a device are on the NUMA node of the device. Without that node, cpuplan cannot know where they "
        "belong, and leaving the device out would make the pool too small.",
    ),
    "CP313": Code(
        "smaller cache taken as whole",
        "{pool} has the whole last-level cache {caches} (by its lowest CPU) with {cpus}, but other caches of the machine have {largest}",
        "list the caches that {pool} may have under `caches`, or state its size in `cores`",
        "A whole cache is all of its CPUs that are online. Where CPUs are offline or caches differ, caches have "
        "unequal numbers of CPUs, and the goals may choose a small one: a smaller reserved pool leaves more CPUs "
        "isolated.",
        severity="warning",
    ),
    "CP315": Code(
        "share of itself",
        "the size of {pool} is a share of {pool} itself",
        "name another set in `of`, or omit `of` for a share of all online CPUs",
        "`of` names the pool, partition or QoS set whose CPUs are 100 percent.",
    ),
    "CP316": Code(
        "key without effect in a pool",
        "pool {pool}: `{key}` has no effect beside {other}",
        "remove the key `{key}`, or {other}",
        "What a pool states and nothing reads would be misleading. The share of a NUMA node is already within one NUMA "
        "node, the CPUs for a device are on its NUMA node, and `of` is about percent and steps.",
    ),
    "CP317": Code(
        "step after all CPUs",
        "pool {pool}: step {number} of steps is about all CPUs that are left, and there are further steps",
        "give this step a number of cpus",
        "Each step is a share of the CPUs that follow those of the steps before it. Only the last step can be about all "
        "that are left.",
    ),
    "CP314": Code(
        "workload without exclusive CPUs",
        "pods of workload {workload} have no exclusive CPUs",
        "give all containers equal requests and limits of cpu and memory, and a whole number of cpu where CPUs are wanted",
        "The kubelet gives exclusive CPUs to containers that request a whole number of CPUs, in Guaranteed pods: those "
        "whose containers all have limits of cpu and memory that are equal to their requests. All other containers run "
        "on shared CPUs, so the workload needs no room in isolated.",
        severity="warning",
    ),
    "CP318": Code(
        "workload without exactly one size",
        "a workload has either cpus or a manifest",
        "write one of the two",
        "`cpus` is short for a pod of one container with so many exclusive CPUs. A `manifest` has all containers of the "
        "pod.",
    ),
    "CP319": Code(
        "workload off its NUMA node",
        "the kubelet of class {name} spreads {pod} over NUMA nodes: {cpus}",
        "set topologyManagerPolicy to single-numa-node and topologyManagerScope to pod",
        "With `per: numaNode`, each NUMA node has room for so many pods of the workload, and all exclusive CPUs of a pod "
        "are on one node. The simulated kubelet admitted the pods and put one on several nodes: without a policy of "
        "the topology manager that aligns whole pods, it fills one NUMA node after the other.",
    ),
    "CP320": Code(
        "interrupts on CPUs of pods",
        "interrupts cannot go to {pool}",
        "write reserved, a partition of reserved such as reserved.interrupts, or shared",
        "Isolated CPUs are kept free of interrupts, and switched-off ones take none. CPUs for interrupts alone are a "
        "partition of reserved: pods and system services stay off them.",
    ),
    "CP321": Code(
        "manifest that is not there",
        "the manifest {name} {problem}",
        "{hint}",
        "A workload has its manifest in the intent, or names a file of the project's folder `pods/`, such as "
        "`pods/upf.yaml`, with one pod or one workload in it.",
    ),
    "CP322": Code(
        "layout not proven best",
        "the layout of class {name} in cluster {cluster} ({nodes}) satisfies every statement, but within the limit of "
        "{limit} of work it was not proven best: {facts}",
        "give it longer with --time-limit, or waive this finding: the layout stays in the lock",
        "Each goal of the intent is proven: no layout is better. For machines with many equal parts and many pools this can "
        "take very long, so that the solver stops at the limit (`--time-limit`). The layout is then the best that was "
        "found, and the message has the first goal that is not proven with what was found and what is not ruled out. It is the "
        "same on every machine with the same release of OR-Tools, because the limit is counted in steps. The lock says which goals are "
        "not proven (`unproven`), and the layout is kept as any other. `compile --resolve`, or `compile --time-limit` "
        "with more than the lock has, searches again; CPUs move only if that proves a layout best or finds one that is nearer "
        "to a goal. A layout whose goals are all proven is no finding, also if the choice among equally good layouts is not proven: "
        "the lock has `canonical` then.",
        severity="warning",
    ),
    "CP323": Code(
        "no layout, not explained",
        "class {name} of cluster {cluster} ({nodes}) has no layout, which is proven; which of its statements contradict each "
        "other was not found within the limit of {limit} of work",
        "give it longer with --time-limit, or change the statements on the largest pools",
        "To find the few statements that contradict each other, many parts of them are tried. This stopped at the limit "
        "(`--time-limit`). The proof that all statements together have no layout was finished before.",
    ),
    "CP350": Code(
        "listed CPU that does not exist",
        "{pool} lists {cpus}, but hardware {hardware} has only {present}",
        "remove {them} from the list, or correct the hardware",
        "A CPU list is valid for one numbering of CPUs. Sizes (cores, count, percent) are valid for every server model.",
    ),
    "CP351": Code(
        "listed CPU that is offline",
        "{pool} lists {cpus}, but {they} offline on the nodes of class {name}",
        "remove {them} from the list, or correct `offline` in the inventory",
        "Only online CPUs are planned. CPUs that are offline in the inventory need no pool, not even `offlined`, and "
        "are left as they are.",
    ),
    "CP352": Code(
        "list that splits a core",
        "{pool} lists {cpus} without {siblings} of the same {cores}",
        "{hint}",
        "Two threads of a core share its execution units and caches, so a pool is disturbed by the pool of its "
        "siblings. CPU numbers of siblings are often far apart, such as 0 and 32. The change in the remedy was tried, "
        "together with the remedies for other lists of the class that split cores.",
    ),
    "CP355": Code(
        "profile that splits a core",
        "{pool} lists {cpus}, but other pools list {siblings} of the same {cores}",
        "{hint}",
        "The node tuning operator accepts such a profile. But two threads of a core share its execution units and "
        "caches, so pods with exclusive CPUs are disturbed by what runs on the sibling. With full-pcpus-only, which "
        "the operator sets for single-numa-node, the kubelet also counts such cores as free, although no pod can get "
        "them.",
        severity="warning",
    ),
    "CP360": Code(
        "cores that the kubelet sees differently",
        "hardware {hardware} has {cores}, but the kubelet sees {found}: {example}",
        "do not rely on whole cores for pods there (full-pcpus-only); whole NUMA nodes or sockets are safe",
        "cAdvisor treats the CPUs of a NUMA node that have the same core_id and physical_package_id as one core, on "
        "s390x only if they also have the same book and drawer (utils/sysinfo, getCoresInfo). If ids repeat below the "
        "socket (dies, clusters, some guests), it merges cores. If siblings have different ids (AMD Bulldozer, some "
        "guests), it splits them. cpuplan uses the kernel's siblings.",
        "warning",
    ),
    "CP361": Code(
        "caches that the kubelet sees differently",
        "hardware {hardware} has {caches}, but the kubelet sees {found}: {example}",
        "remove prefer-align-cpus-by-uncorecache for this hardware; if each NUMA node has one cache, topologyManagerPolicy aligns to it",
        "cAdvisor counts a cache that all CPUs of a NUMA node share as the cache of the node. From the first core on "
        "that has a cache without id or size, it reads none of a node's caches (utils/sysinfo, addCacheInfo). The "
        "kubelet then uses the id of the socket as that of the cache (pkg/kubelet/cm/cpumanager/topology). So with one "
        "L3 in each NUMA node, and on machines whose kernel gives no ids, such as most Arm servers, there is one "
        "uncore cache in each socket.",
        "warning",
    ),
    "CP362": Code(
        "CPUs that the kubelet does not see",
        "the kubelet does not see {cpus} of hardware {hardware}: the kernel {cause}",
        "take them offline or out of `isolated`, or use the policy none there; if only part of sysfs was imported, import all of it",
        "cAdvisor follows the links from NUMA nodes to CPUs and silently skips CPUs without core_id or "
        "physical_package_id, on s390x also those without book_id or drawer_id (utils/sysinfo, getCoresInfo). The "
        "static policy cannot give such CPUs to any pod, and a kubelet that finds no CPUs does not start: could not "
        "detect number of cpus.",
        "warning",
    ),
    "CP363": Code(
        "NUMA nodes that the kubelet sees differently",
        "hardware {hardware} has {nodes}, but the kubelet sees {found}: {example}",
        "keep topologyManagerPolicy at none or best-effort there, or correct the firmware's tables",
        "cAdvisor uses the links from NUMA nodes to CPUs. If a kernel lists no NUMA nodes, it treats each physical "
        "package as one (utils/sysinfo, getCPUTopology). cpuplan uses the CPU lists of the nodes, and treats a kernel "
        "without NUMA nodes as one node.",
        "warning",
    ),
    "CP353": Code(
        "place that does not exist",
        "{pool} refers to {what}, but hardware {hardware} has no such {word} (known: {known})",
        "use one of the known ones, or correct the hardware",
        "NUMA nodes, sockets and dies are identified by the kernel's numbers, and a last-level cache by its lowest "
        "CPU, as in `show`. Core types must be defined in the inventory.",
    ),
    "CP354": Code(
        "no matching device",
        "no matching device for `{key}` of {pool} ({devices}): hardware {hardware} {what}",
        "correct `{key}`, or add the device with its numaNode to the inventory",
        "A pool with `near` or `perDevice` is placed on the NUMA nodes of the devices that match all of its fields.",
    ),
    "CP3150": Code(
        "too many NUMA nodes",
        "the machine would have {count} NUMA nodes; the limit is {limit}",
        "correct the numbers of sockets and of their NUMA nodes",
        "Linux can be built for up to 1024 NUMA nodes (MAX_NUMNODES: CONFIG_NODES_SHIFT is at most 10).",
    ),
    # Layouts: the CP4xx.
    "CP401": Code(
        "no layout",
        "{pools} {do} not fit class {name} of cluster {cluster} ({nodes}){facts}",
        "{change}",
        "No assignment of CPUs to pools satisfies these statements together. A search has proven this, and that no "
        "smaller number of statements conflicts. If the search for a smaller conflict would take too long, the message "
        "calls the set irreducible: without any one of its statements, an assignment exists. The change in the remedy "
        "was tried. If a class has several conflicts, the remedies were tried together, and after all of them there is "
        "a layout. If no change of a single statement resolves a conflict, the remedy names several that do together. If the "
        "search for these would take too long, the remedy says so.",
    ),
    "CP402": Code(
        "CPUs without a pool",
        "{count} of the {online} of class {name} in cluster {cluster} ({nodes}) would be in no pool, such as CPU {cpu}{facts}",
        "{change}",
        "Each online CPU is in exactly one pool. Let one pool take the rest, or correct the sizes so that they add up. "
        "A single thread of a core can also be left over because all other pools take only whole cores.",
    ),
    "CP403": Code(
        "no common layout",
        "no layout of pool {pool} in cluster {cluster} is valid on all of its hardware, {machines}{facts}",
        "write mixedHardware: split, give each hardware its own intent and pool, or change one of the conflicting statements",
        "With `mixedHardware: common`, the pools have the same CPU numbers on all nodes of a MachineConfigPool, so "
        "each statement must hold on every machine. A search has proven that these statements cannot, and that no "
        "smaller number conflicts. If the search for a smaller conflict would take too long, the message calls the set "
        "irreducible. Machines with different numbers of CPUs never have a common layout.",
    ),
    "CP404": Code(
        "layout not decided",
        "whether class {name} of cluster {cluster} ({nodes}) has a layout is not known: within the limit of {limit} of work, "
        "none was found, and none was ruled out",
        "give it longer with --time-limit, or state less: give the largest pool a list of CPUs or a NUMA node, and "
        "state apart, together and per of fewer pools",
        "The solver searches for a layout until it has found one, or has proven that there is none. It stops at the limit "
        "(`--time-limit`), which is counted in its steps and not by a clock. This says nothing about the statements: they may "
        "fit or contradict each other. Layouts are hard to find where very many parts of a machine are equal and pools "
        "exclude each other from them; a pool with a place of its own leaves less to be tried.",
    ),
    "CP4150": Code(
        "more pods than a kubelet admits",
        "workload {workload} has {pods} pods without exclusive CPUs; the kubelet of each node admits at most {most} pods",
        "write at most {most} pods, or raise kubelet.configuration.maxPods",
        "Pods with exclusive CPUs are bounded by the CPUs of a pool. Others are bounded by maxPods alone, of which up to "
        "2,000 are simulated.",
    ),
}
