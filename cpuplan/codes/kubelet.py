"""A kubelet's configuration: the CP5xx of what it would refuse, drop or not do."""

from cpuplan.codes.code import Code

CODES = {
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
        "The kubelet's none policy refuses every option: `None policy: received unsupported options`. It is also the "
        "policy beside DRA drivers (kubelet.dynamicResourceAllocation).",
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
        "{field} has no signal {signal!r}",
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
        "single-numa-node unless memoryManagerPolicy says otherwise. A warning: the kubelet passes over it.",
        "warning",
    ),
    "CP526": Code(
        "hidden CPUs that pods still use",
        "{cpus} {are} kept from pods, and pods without exclusive CPUs run there all the same",
        'add strict-cpu-reservation: "true" to kubelet.cpuManagerPolicyOptions',
        "reservedSystemCPUs keeps exclusive pods away only: its CPUs stay in the default cpuset of all others. The policy "
        "option strict-cpu-reservation takes them out (KEP-4540). A warning, which the rule strict-cpu-reservation switches "
        "off.",
        "warning",
    ),
    "CP544": Code(
        "kubelet field with a place of its own",
        "kubelet.configuration has {field}, which follows from {place}",
        "write it there",
        "`kubelet.configuration` is for fields of KubeletConfiguration that an intent does not know by itself: a value in "
        "two places could be two values.",
    ),
    "CP545": Code(
        "unknown kubelet field",
        "KubeletConfiguration has no field {field}",
        "{hint}",
        "The API server, the machine config operator and the kubelet's lenient reader drop an unknown field in silence.",
    ),
    "CP546": Code(
        "kubelet field of another type",
        "KubeletConfiguration's {field} is {value!r}, not {expected}",
        "write {expected}",
        "With a field of the wrong type, a kubelet does not start.",
    ),
    "CP547": Code(
        "kubelet field that OpenShift keeps to itself",
        "the machine config operator refuses a KubeletConfig with {field}",
        "take it out; feature gates are set by the FeatureGate object of the cluster",
        "The operator then leaves the pool as it is and only says so in the status of the KubeletConfig.",
    ),
    "CP558": Code(
        "soft threshold without a grace period",
        "evictionSoft has a threshold for {signal}, and evictionSoftGracePeriod has no period for it",
        "write evictionSoftGracePeriod: {{{signal}: 1m30s}} beside it",
        "The kubelet does not start with a soft threshold that it does not know how long to wait for.",
    ),
    "CP559": Code(
        "reserved memory beyond what huge pages leave",
        "reservedMemory takes {asked} on NUMA node {node} of hardware {hardware}, which has {room} beside its huge pages",
        "reserve at most {room} there, and the rest on other nodes",
        "The memory manager subtracts both from the node's memory without looking: what is left is less than nothing, which it "
        "takes for a huge number, so that it promises memory that nobody has.",
    ),
}
