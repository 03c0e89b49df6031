"""What the CPUs of a machine are: the CP3xx."""

from cpuplan.codes.code import Code

CODES = {
    "CP301": Code(
        "hardware without one description",
        "the hardware has {given}",
        "write `regular` for a machine whose sockets are alike, `topology` for any other, and not both",
        "Two descriptions of one machine could differ, and neither would be the right one.",
    ),
    "CP302": Code(
        "cores do not divide",
        "a socket's {cores} cores do not divide into {parts}",
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
        "give one id for each, or leave them out",
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
    "CP311": Code(
        "distances of memory-only nodes",
        "`distances` cannot tell how far the {count} NUMA nodes without CPUs are",
        "leave `distances` out, or describe the machine by `topology` with the `distances` of each node",
        "The kernel gives each NUMA node a distance to every other one, those that are only memory too. Where such a node is "
        "differs between machines, so that two numbers do not say it.",
    ),
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
        "{hint}",
        "Two threads of a core share its execution units and caches, so that a pool is heard by the pool of its siblings. "
        "CPU numbers of siblings are often far apart: 0 and 32, say. What the remedy proposes was tried, together with the "
        "remedies of other lists of the class that split cores.",
    ),
    "CP355": Code(
        "profile that splits a core",
        "{pool} lists {cpus}, and other pools list {siblings} of the same {cores}",
        "{hint}",
        "The node tuning operator takes such a profile. But two threads of a core share its execution units and caches, so "
        "that pods with exclusive CPUs are disturbed by what runs on the sibling; and with full-pcpus-only, which the "
        "operator sets for single-numa-node, the kubelet counts such cores as room that no pod gets.",
        severity="warning",
    ),
    "CP360": Code(
        "cores that the kubelet sees otherwise",
        "hardware {hardware} has {cores}, and to the kubelet {found}: {example}",
        "do not count on whole cores for pods there (full-pcpus-only); whole NUMA nodes or sockets are safe",
        "cAdvisor takes the CPUs of a NUMA node that have the same core_id and physical_package_id for one core, on s390x "
        "the same book and drawer too (utils/sysinfo, getCoresInfo). Where ids repeat below the socket (dies, clusters, "
        "some guests) it merges cores; where siblings have unlike ids (AMD Bulldozer, some guests) it splits them. "
        "cpuplan goes by the kernel's siblings.",
        "warning",
    ),
    "CP361": Code(
        "caches that the kubelet sees otherwise",
        "hardware {hardware} has {caches}, and to the kubelet {found}: {example}",
        "take prefer-align-cpus-by-uncorecache out for this hardware; where each NUMA node has one cache, "
        "topologyManagerPolicy aligns to it",
        "cAdvisor counts a cache that all CPUs of a NUMA node share as the node's, and reads none of a node's caches from the "
        "first core on that has one without id or size (utils/sysinfo, addCacheInfo); the kubelet then takes the socket's "
        "id for the cache's (pkg/kubelet/cm/cpumanager/topology). So with one L3 in each NUMA node, and on machines whose "
        "kernel tells no ids, as most Arm servers, there is one uncore cache in a socket.",
        "warning",
    ),
    "CP362": Code(
        "CPUs that the kubelet does not see",
        "the kubelet does not see {cpus} of hardware {hardware}: the kernel {cause}",
        "take them offline or out of `isolated`, or use the policy none there; if only a part of sysfs was imported, import all of it",
        "cAdvisor walks the links from NUMA nodes to CPUs and leaves out CPUs without core_id or physical_package_id, on "
        "s390x without book_id or drawer_id, without an error (utils/sysinfo, getCoresInfo). The static policy cannot "
        "give such CPUs to anyone, and a kubelet that finds none does not start: could not detect number of cpus.",
        "warning",
    ),
    "CP363": Code(
        "NUMA nodes that the kubelet sees otherwise",
        "hardware {hardware} has {nodes}, and to the kubelet {found}: {example}",
        "leave topologyManagerPolicy at none or best-effort there, or correct the firmware's tables",
        "cAdvisor goes by the links from NUMA nodes to CPUs, and where a kernel lists no NUMA nodes it takes each physical "
        "package for one (utils/sysinfo, getCPUTopology). cpuplan goes by the nodes' CPU lists, and takes a kernel without "
        "NUMA nodes for one node.",
        "warning",
    ),
    "CP353": Code(
        "place that the machine lacks",
        "{pool} speaks of {what}, and hardware {hardware} has no such {word} (known: {known})",
        "use one of these, or correct the hardware",
        "NUMA nodes, sockets and dies are named by the kernel's numbers, a last-level cache by its lowest CPU, as `show` does. "
        "Of core types the inventory must tell.",
    ),
    "CP354": Code(
        "no device to be near to",
        "{pool} is to be near {devices}, and hardware {hardware} {what}",
        "correct `near`, or add the device with its numaNode to the inventory",
        "A pool near a device is on the NUMA nodes of the devices that fit everything `near` says.",
    ),
}
