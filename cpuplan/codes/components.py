"""Settings and targets: the CP5xx."""

from cpuplan.codes.code import Code

CODES = {
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
        "take it out, or take the CPUs out of the lists of pools and, with another argument than nosmt, list them as "
        "`offline` in the inventory",
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
    "CP526": Code(
        "hidden CPUs that pods still use",
        "{cpus} {are} kept from pods, and pods without exclusive CPUs run there all the same",
        'add strict-cpu-reservation: "true" to kubelet.cpuManagerPolicyOptions',
        "reservedSystemCPUs keeps exclusive pods away only: its CPUs stay in the default cpuset of all others. The policy "
        "option strict-cpu-reservation takes them out (KEP-4540). A warning, which the rule strict-cpu-reservation switches "
        "off.",
        "warning",
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
    "CP533": Code(
        "mixed CPUs and DRA",
        "containers cannot use shared CPUs where a DRA driver gives out CPUs",
        "set runtime.mixedCpus to false, or give up kubelet.dynamicResourceAllocation",
        "Mixed CPUs stand on the kubelet's static CPU manager, which DRA replaces.",
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
    "CP548": Code(
        "no place in a PerformanceProfile",
        "{field} is {value}; with a PerformanceProfile it is always {only}",
        "take it out, or use mode mco",
        "In mode performanceProfile, the node tuning operator makes the objects, and this is not for it to choose.",
    ),
    "CP550": Code(
        "namespaces without shared CPUs",
        "runtime.sharedNamespaces has {names}, and no container can share CPUs",
        "add pools.shared, or take the namespaces out",
        "The annotation of a namespace allows its pods to ask for shared CPUs; without a shared pool, or with "
        "runtime.mixedCpus false, such pods stay pending.",
    ),
    "CP551": Code(
        "mutating policy behind a gate",
        "the API server of Kubernetes {version} has MutatingAdmissionPolicy {api} only if its gate is on",
        "start it with --feature-gates=MutatingAdmissionPolicy=true and "
        "--runtime-config=admissionregistration.k8s.io/{api}=true and set runtime.annotatePods to true; or set it to false",
        "MutatingAdmissionPolicy is on by default from Kubernetes 1.36 (KEP-3962). Where the API is not served, an Argo CD sync "
        "fails at this object. With runtime.annotatePods false it is not written, and pods bring the annotation "
        "`cpu-shared.crio.io/<container>: enable` themselves; the validating policy tells who forgot it. A warning.",
        "warning",
    ),
    "CP552": Code(
        "nobody checks pods that share CPUs",
        "Kubernetes {version} has no ValidatingAdmissionPolicy by itself, so pods that ask for shared CPUs are not checked",
        "use {since} or later, or check pods by other means",
        "CRI-O gives shared CPUs to every container with the annotation. From 1.30 on, a policy refuses pods that ask in vain "
        "or without leave. A warning.",
        "warning",
    ),
    "CP553": Code(
        "no mutating policy",
        "runtime.annotatePods is true, and the API server of Kubernetes {version} has no MutatingAdmissionPolicy",
        "use {since} or later, or take it out and have pods bring the annotation cpu-shared.crio.io/<container>: enable",
        "MutatingAdmissionPolicy came with Kubernetes 1.32 (KEP-3962).",
    ),
    "CP554": Code(
        "field that the release does not know",
        "{field} came with OpenShift {since}; the target is {version}",
        "use a later version of the target, or take it out",
        "The API server drops fields that the operator's CRD does not have, in silence, and the machine config operator "
        "degrades a pool with a kernelType that it does not know.",
    ),
    "CP556": Code(
        "no CPUs for Open vSwitch",
        "openVSwitch.dpdk is true, and there is no CPU for its threads",
        "give the pool isolcpus a size, on an OpenShift target",
        "Poll-mode threads spin: each needs a CPU that nothing else runs on.",
    ),
    "CP557": Code(
        "pods on the CPUs of Open vSwitch",
        "openVSwitch.dpdk leaves its CPUs open to burstable and best-effort pods",
        'set kubelet.cpuManagerPolicyOptions.{option} to "true", or use a cluster with workload partitioning',
        "Reserved CPUs are kept from exclusive use only: without strict-cpu-reservation, the pods of the default cpuset run "
        "on them too, and the poll-mode threads lose packets. The node tuning operator's controller refuses this as well.",
    ),
    "CP558": Code(
        "soft threshold without a grace period",
        "evictionSoft has a threshold for {signal}, and evictionSoftGracePeriod has no period for it",
        "write evictionSoftGracePeriod: {{{signal}: 1m30s}} beside it",
        "The kubelet does not start with a soft threshold that it does not know how long to wait for.",
    ),
}
