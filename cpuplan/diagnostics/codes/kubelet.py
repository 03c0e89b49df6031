"""A kubelet's configuration: the CP5xx of what it would refuse, drop or not do."""

from cpuplan.diagnostics.codes.code import Code

CODES = {
    "CP502": Code(
        "kubelet without a drop-in folder",
        "the kubelet of Kubernetes {version} does not read {path}",
        "use 1.28 or later, or merge the file into the main configuration",
        "The folder of `--config-dir` was added in 1.28 as alpha, behind an environment variable, and in 1.30 as beta "
        "(KEP-3983); the drop-in of the kubelet's unit has both. This is a warning because the file can also be merged "
        "into the main configuration in another way.",
        "warning",
    ),
    "CP503": Code(
        "unknown policy option",
        "{option!r} is not a valid option of {field}",
        "{hint}",
        "A kubelet with an unknown policy option does not start.",
    ),
    "CP504": Code(
        "policy option of a later version",
        "the option {option} was added in Kubernetes {since}; the target has {version}",
        "remove the option, or use a later version of the target",
        "A kubelet with an unknown policy option does not start.",
    ),
    "CP505": Code(
        "policy option behind a feature gate",
        "the option {option} is alpha in Kubernetes {version}: the kubelet does not start unless {gate} is on",
        "remove the option, or make sure that the gate is on before the nodes get these files",
        "Alpha options need a feature gate that is off by default. cpuplan does not set feature gates: on OpenShift "
        "they belong to the cluster's FeatureGate object, elsewhere to the kubelet's main configuration. This is a "
        "warning because the gate may be on.",
        "warning",
    ),
    "CP506": Code(
        "invalid value of a policy option",
        "the option {option} is {value!r}; it must be {wanted}",
        "correct the value",
        "The kubelet parses the value with Go's ParseBool, or as a number, and does not start if it cannot.",
    ),
    "CP507": Code(
        "policy options without the static policy",
        "cpuManagerPolicy none accepts no options, but the configuration has {options}",
        "remove cpuManagerPolicyOptions, or use {instead}",
        "The kubelet's none policy refuses every option: `None policy: received unsupported options`. It is also the "
        "policy if DRA drivers are used (kubelet.dynamicResourceAllocation).",
    ),
    "CP509": Code(
        "conflicting policy options",
        "{first} and {second} cannot be used together",
        "keep only one of the two",
        "The kubelet refuses this pair at startup (pkg/kubelet/cm/cpumanager/policy_options.go).",
    ),
    "CP510": Code(
        "align-by-socket on a machine with few NUMA nodes",
        "align-by-socket needs at least one NUMA node per socket; the machine has {nodes} in {sockets} sockets",
        "remove the option",
        "If a NUMA node spans sockets, its socket is not defined, so the kubelet refuses the option.",
    ),
    "CP511": Code(
        "strict-cpu-reservation on OpenShift",
        "with strict-cpu-reservation, OpenShift's kubelet refuses its own state at every restart unless workload partitioning is on",
        "remove the option, or make sure that the cluster was installed with cpuPartitioningMode AllNodes",
        "OpenShift's changes to the kubelet compare the state with all CPUs, even if the option excludes the reserved "
        "ones. Workload partitioning, which is chosen at installation, has the effect of the option. This is a warning because it may be on.",
        "warning",
    ),
    "CP512": Code(
        "too many NUMA nodes for the topology manager",
        "hardware {hardware} has {count} NUMA nodes; the limit of the topology manager is {limit}",
        "set {remedy}",
        "The topology manager tries all combinations of NUMA nodes, including memory-only ones, so by default it "
        "refuses machines with more than 8. The memory manager tries those of all NUMA nodes too, the CPU manager those "
        "of nodes with CPUs; where that does not come to an end (CP5150), a higher limit alone is no remedy.",
    ),
    "CP5150": Code(
        "NUMA nodes with which the kubelet does not come to an end",
        "the {manager} looks at all 2^{count} sets of the {count} NUMA nodes of hardware {hardware} for each pod that "
        "{asks}: the kubelet does not come to an end",
        "set {remedy}",
        "The kubelet admits one pod after another. With a microsecond for each set, a billion sets take a quarter of an "
        "hour and tens of gigabytes, and each further NUMA node doubles that. No further pod is admitted meanwhile, and the "
        "kubelet is killed when the memory of the node is used up. The Static memory manager looks at all NUMA nodes, "
        "whatever the topology manager's policy is; the CPU manager at those with CPUs, unless that policy is none.",
    ),
    "CP5151": Code(
        "NUMA nodes for which the kubelet takes long",
        "the {manager} looks at all 2^{count} sets of the {count} NUMA nodes of hardware {hardware} for each pod that "
        "{asks}; what it then does is not simulated",
        "set {remedy}, or expect that each of these pods takes seconds to minutes to start",
        "Each NUMA node doubles the time that the kubelet takes for a pod. Sets of more than 16 nodes are not looked at "
        "here, so that workloads with exclusive CPUs cannot be proven to fit. This is a warning because the kubelet "
        "comes to an end.",
        "warning",
    ),
    "CP513": Code(
        "prefer-closest-numa-nodes with gaps between NUMA nodes",
        "with prefer-closest-numa-nodes, the kubelet panics on NUMA nodes {nodes} of hardware {hardware}",
        "remove the option",
        "The kubelet looks up distances by the number of the NUMA node, so numbers with gaps exceed the table.",
    ),
    "CP514": Code(
        "invalid quantity",
        "{field} is {value!r}, which is not a valid quantity",
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
        "evictionHard memory.available is {value}, but the memory manager needs an amount",
        "write an amount such as 100Mi",
        "reservedMemory must equal the sum of the reservations and this threshold, to the byte. A percentage depends "
        "on the memory that the kernel reports, so the sum cannot be known in advance.",
    ),
    "CP517": Code(
        "reservedMemory does not add up",
        "reservedMemory is {found} in total, but kubeReserved, systemReserved and evictionHard are {wanted} in total",
        "make the sums equal, or omit reservedMemory to have it computed",
        "The kubelet does not start unless both are equal to the byte.",
    ),
    "CP518": Code(
        "reservation that exceeds the memory",
        "{missing} of the {wanted} to reserve do not fit on hardware {hardware} next to its huge pages",
        "reserve less, or request fewer huge pages",
        "The memory of a NUMA node is used for huge pages, reserved, or for pods. The reservation uses the nodes of "
        "the reserved CPUs first and then the others.",
    ),
    "CP519": Code(
        "reservedMemory without the memory manager",
        "reservedMemory has no effect without the memory manager",
        "remove reservedMemory, or set memoryManagerPolicy to Static",
        "Only the Static memory manager reads reservedMemory. It is used with the topology policies restricted and "
        "single-numa-node unless memoryManagerPolicy is set. This is a warning: the kubelet ignores the field.",
        "warning",
    ),
    "CP526": Code(
        "hidden CPUs that pods still use",
        "{cpus} {are} kept from pods, but pods without exclusive CPUs still run there",
        'use the static policy with strict-cpu-reservation: "true" in kubelet.cpuManagerPolicyOptions',
        "The kubelet does not give CPUs of reservedSystemCPUs exclusively to a container, but they stay in the default "
        "cpuset of all other containers. The policy option strict-cpu-reservation excludes them (KEP-4540). Without it, "
        "cpuplan limits kubepods.slice with control groups version 2. This does not hold with the policy none, which sets "
        "all CPUs on that slice at each start of the kubelet (kubernetes/kubernetes#125923), nor if pods may disable load "
        "balancing: CRI-O then sets all online CPUs on it. To allow it, disable the rule strict-cpu-reservation.",
    ),
    "CP544": Code(
        "kubelet field that is set elsewhere",
        "kubelet.configuration has {field}, which follows from {place}",
        "set it there",
        "`kubelet.configuration` is for fields of KubeletConfiguration for which an intent has no field: a value in two "
        "places could be two values.",
    ),
    "CP545": Code(
        "unknown kubelet field",
        "KubeletConfiguration has no field {field}",
        "{hint}",
        "The API server, the machine config operator and the kubelet's lenient reader drop an unknown field in silence.",
    ),
    "CP546": Code(
        "kubelet field of the wrong type",
        "KubeletConfiguration's {field} is {value!r}, not {expected}",
        "write {expected}",
        "A kubelet does not start if a field has the wrong type.",
    ),
    "CP547": Code(
        "kubelet field that OpenShift does not allow",
        "the machine config operator refuses a KubeletConfig with {field}",
        "{hint}",
        "The operator then leaves the pool unchanged and reports this only in the status of the KubeletConfig. It "
        "refuses swap settings from 4.21 on, and unlike cgroups of the system from 4.22 on.",
    ),
    "CP558": Code(
        "soft threshold without a grace period",
        "evictionSoft has a threshold for {signal}, but evictionSoftGracePeriod has no period for it",
        "add evictionSoftGracePeriod: {{{signal}: 1m30s}}",
        "The kubelet does not start with a soft threshold that has no grace period.",
    ),
    "CP559": Code(
        "reserved memory that exceeds the memory without huge pages",
        "reservedMemory takes {asked} on NUMA node {node} of hardware {hardware}, which has {room} next to its huge pages",
        "reserve at most {room} there, and the rest on other nodes",
        "The memory manager subtracts both from the node's memory without a check. The result is negative and is "
        "treated as a very large number, so the kubelet promises memory that does not exist.",
    ),
}
