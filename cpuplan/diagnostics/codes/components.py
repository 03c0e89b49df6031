"""Settings and targets: the CP5xx but those of mechanisms and of isolation."""

from cpuplan.diagnostics.codes.code import Code
from cpuplan.facts.settings.crio import EXEC_CPU_AFFINITY, INFRA_CTR_CPUSET, SHARED_CPUSET
from cpuplan.facts.settings.host import CONFIG_DIR
from cpuplan.facts.settings.kernel import NOHZ_FULL
from cpuplan.facts.settings.kubelet import (
    CPU_MANAGER_POLICY,
    EVICTION_HARD,
    KUBE_RESERVED,
    RESERVED_CPUS,
    RESERVED_MEMORY,
    SYSTEM_RESERVED,
)

CODES = {
    # Settings and targets: the CP5xx except those of the kubelet.
    "CP501": Code(
        "unknown release",
        "{program} {version} is unknown to this release of cpuplan",
        "use a version {span}, or a release of cpuplan that knows it; `cpuplan versions {program}` lists them",
        "cpuplan has one table of what each release of a platform, a container runtime, Koordinator, the DRA CPU driver "
        "and the NRI plugins can do. Guessing for an unknown release could leave nodes with a program that does not "
        "start.",
    ),
    "CP520": Code(
        "boot argument that contradicts the plan",
        "the argument {argument} contradicts the plan, which has {planned}",
        "remove the argument: pools and isolation determine it",
        "The CPU lists of the command line follow from the pools. The kernel ignores the second of two isolcpus= with "
        "different lists, and uses the last of other lists. Either way, nodes would differ from what is checked and "
        "explained.",
    ),
    "CP521": Code(
        "boot argument replaced",
        "the argument {argument} replaces {planned}",
        "leave it if this is intended",
        "The kernel uses the last of a repeated argument, so cpuplan writes only the given one. This is a warning because the intent may mean it.",
        "warning",
    ),
    "CP522": Code(
        "huge pages in two places",
        "the argument {argument} is about huge pages, beside hugePages: {effect}",
        "leave it if this is intended, or set all pages in hugePages",
        "Boot arguments for huge pages come in pairs whose order matters, and the kernel reads those of all sources as "
        "one list. What it makes of them is counted: memory, simulations and the expected node have these pages.",
        "warning",
    ),
    "CP523": Code(
        "boot argument that switches off planned CPUs",
        "the argument {argument} prevents {cpus}, which the plan uses, from coming up",
        "remove the argument, or take the CPUs out of the lists of pools and, unless they are siblings, list them as `offline` in the inventory",
        f"If isolcpus= or {NOHZ_FULL.key}= names a CPU that did not come up, the kernel ignores the whole list, and the "
        "kubelet and CRI-O refuse lists that contain it.",
    ),
    "CP5300": Code(
        "boot argument without which the plan would hold",
        "the argument {argument} undoes the plan: {effect}",
        "remove the argument; where it is meant, let the inventory describe the machine that it leaves",
        "The kernel does as it is told, whatever else was planned: without NUMA nodes, memory or control groups that the "
        "plan counts on, the kubelet does not start or gives out what is not there.",
    ),
    "CP5301": Code(
        "boot argument that works against the plan",
        "the argument {argument} works against the plan: {effect}",
        "remove the argument, or leave it if this is intended",
        "The plan holds, and workloads get less of what it is for: ticks, interrupts or idle states disturb them. "
        "Mitigations that switch siblings off do so on CPUs that have the bug only.",
        "warning",
    ),
    "CP5302": Code(
        "huge pages that contradict hugePages",
        "the argument {argument} contradicts hugePages: {effect}",
        "remove the argument, or the pages in hugePages",
        "Of one size the kernel takes the first count, and of default sizes the first one. Which one comes first depends "
        "on who writes the command line.",
    ),
    "CP5303": Code(
        "isolcpus= with the CPUs of the plan and other flags",
        "the argument {argument} has the CPUs of {planned} and other flags: the kernel takes both lists",
        "leave it if this is intended: isolation.domain: true says the same as a list without flags",
        "Without a flag, or with domain, the scheduler moves no tasks to or from these CPUs, so that containers without "
        "exclusive CPUs stay where they start. In a PerformanceProfile, cpu.balanceIsolated: false says the same.",
        "warning",
    ),
    "CP524": Code(
        "conflicting settings",
        "{field} {value} cannot be used with {other}",
        "change one of the two",
        "Real-time kernels need real-time hints and 4k pages, 64k pages exist only on aarch64, and power is either "
        "saved per pod or spent on latency. The node tuning operator refuses the same combinations.",
    ),
    "CP525": Code(
        "command line too long",
        "the boot arguments of class {name} have {length} characters; the limit is {limit}",
        "use fewer extraArguments, or give pools.isolated more CPUs: systemd.cpu_affinity= names all others one by one",
        "The kernel silently cuts off its command line at a fixed size: 2048 characters on most architectures, of "
        "which 256 are left to the boot loader. On nodes that take no files, most of a long line is "
        "systemd.cpu_affinity=, which names each CPU that is neither isolated nor offlined.",
    ),
    "CP530": Code(
        "mixed CPUs without a shared pool",
        "runtime.mixedCpus is true, but there are no shared CPUs",
        "add pools.shared, or remove runtime.mixedCpus",
        "With mixed CPUs, containers use the shared pool in addition to their exclusive CPUs.",
    ),
    "CP5645": Code(
        "shared pool that the kubelet does not know",
        "the kubelet of class {name} gives CPUs of pools.shared exclusively too, and containers without exclusive CPUs "
        "run on {where}",
        "give the CPUs to isolated, use mechanism balloons, or leave out `runtime.mixedCpus: false` where the runtime has mixed CPUs",
        "The static policy knows two sets: CPUs that it may give exclusively, and reserved ones. Containers without "
        "exclusive CPUs run on all that no other container has. Without mixed CPUs nothing keeps a pool for them. With "
        "the policy option strict-cpu-reservation they are not on reserved CPUs.",
        "note",
    ),
    "CP531": Code(
        "mixed CPUs on an old CRI-O",
        "mixed CPUs need CRI-O {since}, which {version} does not have",
        "use a later version, or set runtime.mixedCpus to false",
        f"CRI-O ignores keys that it does not know, so `{SHARED_CPUSET.key}` would have no effect. An allowed annotation that "
        "it does not know makes it drop the runtime handler.",
    ),
    "CP532": Code(
        "NUMA nodes that the scheduler cannot read",
        "NodeResourceTopology gets no zones for hardware {hardware}: its NUMA nodes are {nodes}, but zones must be 0 to 63 without gaps",
        "exclude these nodes from topology-aware scheduling",
        "The plugin NodeResourceTopologyMatch panics on zone numbers with gaps, and on 64. Exporters publish such "
        "zones anyway. This is a warning: the nodes themselves work.",
        "warning",
    ),
    "CP533": Code(
        "mixed CPUs and DRA",
        "containers cannot use shared CPUs if a DRA driver gives out CPUs",
        "set runtime.mixedCpus to false, or remove kubelet.dynamicResourceAllocation",
        "Mixed CPUs depend on the kubelet's static CPU manager, which DRA replaces.",
    ),
    "CP540": Code(
        "unsupported huge page size",
        "there are no huge pages of {size} on {architecture} with base pages of {base}",
        "use one of {sizes}",
        "The sizes depend on the page tables of the processor.",
    ),
    "CP541": Code(
        "huge pages requested twice",
        "pages of {size} for {where} are requested twice",
        "keep one entry with the sum",
        "Of two counts for the same size and place, the last one applies.",
    ),
    "CP542": Code(
        "NUMA node without memory",
        "NUMA node {node} of hardware {hardware} does not exist or has no memory",
        "use one of the nodes with memory: {nodes}",
        "Huge pages and reserved memory are taken from the memory of a NUMA node. The kubelet does not start with a "
        "reservation on a node that does not exist.",
    ),
    "CP543": Code(
        "huge pages that exceed the memory",
        "huge pages take {asked} on NUMA node {node} of hardware {hardware}, which has {memory}",
        "{hint}",
        "The kernel allocates as many pages as it finds memory for, and reports the rest only in its log.",
    ),
    "CP548": Code(
        "field without a place in a PerformanceProfile",
        "{field} is {value}; with a PerformanceProfile it is always {only}",
        "remove the field, or use mode mco",
        "In mode performanceProfile, the node tuning operator makes the objects, and a profile cannot change this.",
    ),
    "CP549": Code(
        "huge pages without a NUMA node",
        "{pages} of {size} cannot be spread evenly over NUMA nodes {nodes}: the kernel chooses the node of {left} at boot",
        "write an entry with numaNode and count for each NUMA node, such as {{size: {size}, count: {count}, numaNode: {node}}}",
        "With memoryManagerPolicy Static, the kubelet only admits pods whose huge pages are on the NUMA nodes of their "
        "CPUs and devices. The kernel spreads pages without a node evenly. Where the rest is allocated depends on the "
        "node that it begins with, and on nodes without enough contiguous memory. `simulate` and the expected "
        "NodeResourceTopology assume the lowest nodes.",
        "warning",
    ),
    "CP5605": Code(
        "huge pages on NUMA nodes without CPUs",
        "the kernel spreads {pages} of {size} over NUMA nodes {nodes} of hardware {hardware} too, which have no CPUs",
        "write an entry with numaNode and count for each NUMA node that is to have pages, such as {{size: {size}, count: {count}, numaNode: {node}}}",
        "Pages without a node are spread over all NUMA nodes that have memory at boot (mm/hugetlb.c, "
        "hugetlb_hstate_alloc_pages, N_MEMORY): HBM, CXL memory and memory of GPUs too. Pods whose CPUs and memory are "
        "to be on one NUMA node cannot use them. Memory that a driver adds after boot, as that of GPUs on Grace Hopper, "
        "gets none, and the nodes with CPUs then have more pages than is planned.",
        "warning",
    ),
    "CP550": Code(
        "namespaces without shared CPUs",
        "runtime.sharedNamespaces has {names}, but no container can share CPUs",
        "add pools.shared, or the feature set that CP571 asks for, or remove the namespaces",
        "The annotation of a namespace allows its pods to request shared CPUs. Without a shared pool, with "
        "runtime.mixedCpus false, or if the node tuning operator ignores the pool, such pods stay pending.",
    ),
    "CP551": Code(
        "mutating policy behind a gate",
        "the API server of Kubernetes {version} has MutatingAdmissionPolicy {api} only if its feature gate is on",
        "start it with --feature-gates=MutatingAdmissionPolicy=true and --runtime-config=admissionregistration.k8s.io/{api}=true and set runtime.annotatePods to true, or set it to false",
        "MutatingAdmissionPolicy is on by default from Kubernetes 1.36 (KEP-3962). If the API is not served, an Argo "
        "CD sync fails at this object. With runtime.annotatePods false, it is not written, and pods bring the "
        "annotation `cpu-shared.crio.io/<container>: enable` themselves. The validating policy reports those that do "
        "not. This is a warning because the gate may be on.",
        "warning",
    ),
    "CP552": Code(
        "pods that share CPUs are not checked",
        "Kubernetes {version} does not have ValidatingAdmissionPolicy on by default, so pods that request shared CPUs are not checked",
        "use {since} or later, or check pods in another way",
        "CRI-O gives shared CPUs to every container with the annotation. From 1.30 on, a policy refuses pods that "
        "request them in vain or without permission. This is a warning because shared CPUs work without the policy.",
        "warning",
    ),
    "CP553": Code(
        "no mutating policy",
        "runtime.annotatePods is true, but the API server of Kubernetes {version} has no MutatingAdmissionPolicy",
        "use {since} or later, or remove runtime.annotatePods and let pods bring the annotation cpu-shared.crio.io/<container>: enable",
        "MutatingAdmissionPolicy came with Kubernetes 1.32 (KEP-3962).",
    ),
    "CP554": Code(
        "field that the release does not have",
        "{field} came with OpenShift {since}; the target is {version}",
        "use a later version of the target, or remove the field",
        "The API server silently drops fields that the operator's CRD does not have, and the machine config operator "
        "degrades a pool with an unknown kernelType. Before 4.17, the node tuning operator of a hosted cluster "
        "(controlPlaneTopology: External) ignores PerformanceProfiles.",
    ),
    "CP556": Code(
        "no CPUs for Open vSwitch",
        "openVSwitch.dpdk is true, but there is no CPU for its threads",
        "give the pool isolcpus a size, on an OpenShift target",
        "Poll-mode threads never sleep: each needs a CPU on which nothing else runs.",
    ),
    "CP557": Code(
        "pods on the CPUs of Open vSwitch",
        "openVSwitch.dpdk leaves its CPUs open to burstable and best-effort pods",
        'set kubelet.cpuManagerPolicyOptions.{option} to "true", or use a cluster with workload partitioning',
        "Reserved CPUs are kept only from exclusive use. Without strict-cpu-reservation, the pods of the default "
        "cpuset run on them too, and the poll-mode threads lose packets. The node tuning operator's controller also "
        "refuses this.",
    ),
    "CP560": Code(
        "default of another platform",
        "{name} is not a default of {platform} and cannot be switched there",
        "remove the entry; docs/defaults.md lists the defaults of each platform",
        "What belongs to the node tuning operator, such as the parents of its TuneD profile, and its units and files, "
        "exists only on OpenShift.",
    ),
    "CP561": Code(
        "default that the node tuning operator sets",
        "{name} is switched, but in mode performanceProfile the node tuning operator sets its defaults itself",
        "remove the entry, or use mode mco",
        "A PerformanceProfile has no field for it, so the switch would silently have no effect.",
    ),
    "CP562": Code(
        "reservation that the nodes may contradict",
        "the memory manager's reservation is {total}, but kubelet.{fields} may be different on the nodes",
        "set these fields to the values on the nodes, or to `{{}}` for nothing",
        f"With the policy Static, a kubelet starts only if {RESERVED_MEMORY.key} is exactly the sum of {KUBE_RESERVED.head}, "
        f"{SYSTEM_RESERVED.head} and {EVICTION_HARD.head}. The drop-in is merged into the nodes' own configuration, whose amounts "
        "cpuplan does not know: it assumes the kubelet's defaults for what is not written. This is a warning because the assumption may be right.",
        "warning",
    ),
    "CP563": Code(
        "default switched twice",
        "{name} is switched a second time",
        "keep only one of the two",
        "With two switches for one default, it is not clear which one is meant.",
    ),
    "CP564": Code(
        "PerformanceProfile without CPUs",
        "pools.{pool} has no CPU, but a PerformanceProfile must have some",
        "give the pool a size, or use mode mco",
        "The API server refuses a PerformanceProfile without spec.cpu.isolated or spec.cpu.reserved, and the "
        "operator's webhook refuses one whose lists are empty.",
    ),
    "CP565": Code(
        "changed file of a paused intent",
        "{path} has changed since {intent} was paused",
        "restore the file from the commit before (`git log --oneline -- {path}`), or remove `paused: true` and compile",
        "The compiled files of a paused intent stay unchanged, byte for byte. There is no other source for them, "
        "because the inputs may have changed since. An edit, a deleted file or one side of a merge could reach the "
        "nodes without a review.",
    ),
    "CP566": Code(
        "missing record of a paused intent",
        "{intent} is paused and was compiled before, but {path}, which records its files, {problem}",
        "restore out/ from the commit before, or remove `paused: true` and compile",
        "The objects of a paused intent would disappear from out/, and Argo CD would ask whether to delete them.",
    ),
    "CP573": Code(
        "memory reserved elsewhere than by the operator",
        "memory is reserved by NUMA node ({amounts}); the node tuning operator reserves all of it on NUMA node 0",
        f"nothing is needed; for the operator's entry, write kubelet.{RESERVED_MEMORY.key}",
        "System services run on the reserved CPUs and use the memory of their NUMA nodes. The operator reserves on NUMA "
        "node 0, even if that node has no memory. A compiled PerformanceProfile states the reservation in its annotation "
        "`kubeletconfig.experimental`.",
        "note",
    ),
    "CP567": Code(
        "mixed CPUs with another quota period",
        "containers with shared CPUs would be throttled: CRI-O writes their quota for periods of 100ms, and "
        "cpuCFSQuotaPeriod is {period}",
        "remove cpuCFSQuotaPeriod, set cpuCFSQuota to false, or set runtime.mixedCpus to false",
        "On cgroup v2, CRI-O computes the quota of a container with shared CPUs from the kubelet's period, and writes it "
        "without that period, so that the kernel uses 100 ms. With 10ms, a container of 4 CPUs gets the time of 0.4.",
    ),
    "CP574": Code(
        "slices with control groups of version 1",
        "isolation.systemServices is slices, but the nodes of {cluster} have control groups of version 1",
        "use affinity, or nodes with control groups of version 2",
        "systemd sets AllowedCPUs= in control groups of version 2 only. On version 1, it ignores the line.",
    ),
    "CP575": Code(
        "irqbalance of an unknown operating system",
        "pods may ask CRI-O for CPUs without interrupts, but irqbalance on Debian does not read what CRI-O writes",
        "state the target's osFamily, or let interrupts go to the reserved CPUs (isolation.irqAffinity)",
        "CRI-O bans the CPUs of such pods in /etc/sysconfig/irqbalance. Debian's irqbalance reads "
        "/etc/default/irqbalance, so that it moves interrupts back to these CPUs. With osFamily debian, CRI-O is given "
        "that file. This is a warning because the nodes may be of another family.",
        "warning",
    ),
    "CP576": Code(
        "list of irqbalance that a mask overrides",
        "irqbalance may use the isolated CPUs: the operator's unit writes a mask of zeros, which overrides the list of TuneD",
        "{remedy}",
        "With globallyDisableIrqLoadBalancing, TuneD from 2.24 on bans the isolated CPUs by IRQBALANCE_BANNED_CPULIST. "
        "clear-irqbalance-banned-cpus.service writes IRQBALANCE_BANNED_CPUS=0 at every boot. irqbalance takes a mask "
        "that is not empty, zeros included, instead of the list "
        "(openshift/cluster-node-tuning-operator#1350). This is a warning because irqaffinity= and CRI-O still keep "
        "interrupts away from pods that ask for it.",
        "warning",
    ),
    "CP571": Code(
        "mixed CPUs behind a gate",
        "the node tuning operator ignores pools.shared: the feature set {feature_set} is without its gate MixedCPUsAllocation, and the kubelet gives {cpus} to all pods",
        "set featureSet in the Cluster document if the cluster has {sets}; otherwise remove pools.shared, or use mode mco",
        f"The gate is in no default feature set of any release. Without it, the operator writes neither {SHARED_CPUSET.key} "
        f"nor {RESERVED_CPUS.key} with the shared CPUs, so that they are part of the kubelet's default CPU set. The "
        "feature set is spec.featureSet of the FeatureGate object `cluster`. The predicted objects show it. This is a "
        "warning.",
        "warning",
    ),
    "CP572": Code(
        "CPU vendor without a TuneD profile",
        "TuneD cannot load the profile of the node tuning operator {version} on CPUs of {vendor}",
        "use mode mco, or another release",
        "From 4.16 on, the operator's profile includes one for Intel, AMD or ARM by the vendor id. On CPUs of other "
        "vendors (on Arm up to 4.17) it includes a profile that does not exist, and nothing is tuned: no boot argument "
        "and no sysctl. This is a warning.",
        "warning",
    ),
    "CP577": Code(
        "Application of two clusters",
        "the Argo CD Application of cluster {cluster} and that of what hosted cluster {hosted} has in its hosting cluster "
        "have the same name",
        "give cluster {cluster} another name in its Nodes documents",
        "Argo CD names an Application by its cluster, and the one of a hosted cluster's objects in the hosting cluster by "
        "the hosted cluster and `-hosting`. An ApplicationSet does not make two Applications of one name.",
    ),
    "CP595": Code(
        "delivery that the operating system cannot take",
        "{delivery} does not reach nodes with {system}: {problem}",
        "choose another form in delivery, or change osFamily if the nodes have another operating system",
        "Flatcar is configured by Ignition at the first boot. Its image has no Python, and its cloud-init knows a few "
        "keys only.",
    ),
    "CP5505": Code(
        "delivery that the platform cannot take",
        "{delivery} does not reach nodes of {platform}: {problem}",
        "choose another form in delivery, such as tree or ansible",
        "Some deliveries are objects of a tool that sets up nodes in one way only. Which ones a platform takes is in its row "
        "of facts (docs/kubernetes.md).",
    ),
    "CP5506": Code(
        "flag that somebody must give",
        "the kubelet of {platform} reads {folder} only if it is told to, and no drop-in of its unit can do that",
        "{remedy}",
        "A kubelet reads a folder of drop-ins only with a flag. On these platforms a program starts the kubelet with flags of "
        "its own, and takes further ones where it was installed or in a file of its own. `check` says so as long as the flag "
        "is not there (CP876). This is a note.",
        "note",
    ),
    "CP596": Code(
        "delivery at the first boot only",
        "nodes that are installed already do not get changes: {deliveries} is read at the first boot only",
        "replace nodes after a change, or add tree, ansible or nodeWright to delivery",
        "cloud-init and Ignition configure an instance once. A change of the intent changes their files, and nodes keep "
        "what they have until they are installed again. This is a note.",
        "note",
    ),
    "CP597": Code(
        "Cluster API template without a namespace",
        "the template for Cluster API needs the namespace of the cluster's other objects",
        "set hostingNamespace to the namespace of the Cluster object, and hostingCluster to the management cluster's name "
        "in Argo CD",
        "A MachineDeployment reads its bootstrap template in its own namespace only. The object is written to "
        "`out/clusters/<cluster>/hosting/`, for the management cluster.",
    ),
    "CP598": Code(
        "setting that the platform cannot have",
        "{platform} cannot have {setting}: {reason}",
        "write the intent without it, or use the platform kubernetes with CRI-O for these nodes",
        "RKE2, K3s, Talos and Bottlerocket have their own containerd, which knows no shared CPUs and no hooks of CRI-O. "
        "Talos and Bottlerocket also take settings only, and neither files nor units of others, so that services and "
        "interrupts stay where they are.",
    ),
    "CP599": Code(
        "settings that the platform does not get",
        "{platform} does not get what cpuplan adds by itself on other nodes: {settings}",
        "nothing is needed if you can do without; otherwise use the platform kubernetes for these nodes",
        "These settings are defaults (see docs/defaults.md), which no field of the intent asks for. The platform has no "
        "place for them. A default that is disabled with `defaults` is not listed. This is a note.",
        "note",
    ),
    "CP570": Code(
        "invalid output file (a bug in cpuplan)",
        "{path}{at}: {problem}",
        "report this with the intent and the inventory; nothing was written",
        "Every new or changed file is read again before it is written, compared with its source, and validated against "
        "a schema that knows all fields and their types. What does not match would be dropped silently by the API "
        "server, or keep a kubelet from starting. This is a mistake in cpuplan and not in its input. The exit code is "
        "70.",
    ),
    # A kubelet's configuration: the CP5xx of what it would refuse, drop or not do.
    "CP502": Code(
        "kubelet without a drop-in folder",
        "the kubelet of Kubernetes {version} does not read {path}",
        "use 1.28 or later, or merge the file into the main configuration",
        f"The folder of `{CONFIG_DIR.key}` was added in 1.28 as alpha, behind an environment variable, and in 1.30 as beta "
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
        f"{CPU_MANAGER_POLICY.key} none accepts no options, but the configuration has {{options}}",
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
        "of nodes with CPUs; where that does not come to an end (CP705), a higher limit alone is no remedy.",
    ),
    "CP5151": Code(
        "NUMA nodes for which the kubelet takes long",
        "on hardware {hardware}, {what} for each pod that {asks}",
        "{remedy}, or expect that each of these pods takes seconds to hours to start",
        "Each NUMA node doubles the time that the kubelet takes for a pod: 2^20 sets take it seconds, 2^29 hours and "
        "much of its memory. This is a warning because the kubelet comes to an end (CP705: where it does not).",
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
        f"{EVICTION_HARD.head} memory.available is {{value}}, but the memory manager needs an amount",
        "write an amount such as 100Mi",
        f"{RESERVED_MEMORY.key} must equal the sum of the reservations and this threshold, to the byte. A percentage depends "
        "on the memory that the kernel reports, so the sum cannot be known in advance.",
    ),
    "CP517": Code(
        f"{RESERVED_MEMORY.key} does not add up",
        f"{RESERVED_MEMORY.key} is {{found}} in total, but {KUBE_RESERVED.head}, {SYSTEM_RESERVED.head} and {EVICTION_HARD.head} are {{wanted}} in total",
        f"make the sums equal, or omit {RESERVED_MEMORY.key} to have it computed",
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
        f"{RESERVED_MEMORY.key} without the memory manager",
        f"{RESERVED_MEMORY.key} has no effect without the memory manager",
        f"remove {RESERVED_MEMORY.key}, or set memoryManagerPolicy to Static",
        f"Only the Static memory manager reads {RESERVED_MEMORY.key}. It is used with the topology policies restricted and "
        "single-numa-node unless memoryManagerPolicy is set. This is a warning: the kubelet ignores the field.",
        "warning",
    ),
    "CP526": Code(
        "hidden CPUs that pods still use",
        "{cpus} {are} kept from pods, but pods without exclusive CPUs still run there",
        'use the static policy with strict-cpu-reservation: "true" in kubelet.cpuManagerPolicyOptions',
        f"The kubelet does not give CPUs of {RESERVED_CPUS.key} exclusively to a container, but they stay in the default "
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
        f"{RESERVED_MEMORY.key} takes {{asked}} on NUMA node {{node}} of hardware {{hardware}}, which has {{room}} next to its huge pages",
        "reserve at most {room} there, and the rest on other nodes",
        "The memory manager subtracts both from the node's memory without a check. The result is negative and is "
        "treated as a very large number, so the kubelet promises memory that does not exist.",
    ),
    # What container runtimes cannot do, or do with their files: CP527 to CP529, CP586 to
    # CP589.
    "CP527": Code(
        "statement that containerd cannot keep",
        "{field} cannot hold with runtime containerd: {problem}",
        "{hint}",
        "containerd has no shared pool, no hooks for containers with exclusive CPUs and no affinity of exec probes; it "
        "has NRI from 1.7 on, and no partition without a plugin of it.",
    ),
    "CP528": Code(
        "what containerd does not do",
        "containerd {version}: {what}",
        "nothing has to be done, as long as nobody relies on it",
        f"CRI-O keeps pause containers and its own monitors on the CPUs of `{INFRA_CTR_CPUSET.key}`, and its hooks keep "
        "interrupts, load balancing and quotas off containers that ask for it by annotations. containerd passes over "
        "such annotations (containerd/containerd#7653).",
        "note",
    ),
    "CP529": Code(
        "key that only config.toml can have",
        "a drop-in cannot give containerd {version} the key {key} of {field}",
        "write it in /etc/containerd/config.toml yourself: {key} = {value} in [plugins.'{table}'{inner}]",
        "Before containerd 2.0, the table of a plugin in an imported file replaces the earlier table as a whole. Of the "
        "CRI plugin's table, the sandbox image, the registries and `SystemdCgroup` would be lost, so that cpuplan "
        "writes nothing into it.",
        "warning",
    ),
    "CP587": Code(
        "drop-in that the runtime takes otherwise",
        "{runtime} would not take its drop-in as it is meant: {problem}",
        "use another value; with runtime.handler, another name",
        "The drop-ins of CRI-O and containerd are read at compile time as the runtime reads them: types, unknown keys, "
        "handlers that it leaves out, and tables that replace others. What is in force then must be what the settings "
        "say. A handler with the name of the default runtime would change all pods: its table replaces the default "
        "one, with all that it does not repeat.",
    ),
    "CP5340": Code(
        "annotation for which CRI-O runs no hook",
        "{names} of {who}: without effect, because {problem}",
        "{remedy}",
        "CRI-O runs its CPU hooks for Guaranteed pods whose RuntimeClass names a handler that allows the annotations, "
        "and there for containers that request whole CPUs. All others it starts without a word, with interrupts, load "
        "balancing and quotas as they are. This is a warning: the pod runs.",
        "warning",
    ),
    "CP5341": Code(
        "misspelt annotation for CRI-O",
        "{names} of {who}: {problem}",
        "{remedy}",
        "Nothing says that an annotation is one that nobody reads. The hooks read cpu-load-balancing.crio.io, "
        "cpu-quota.crio.io, irq-load-balancing.crio.io, cpu-c-states.crio.io, cpu-freq-governor.crio.io and "
        "cpu-shared.crio.io.",
        "warning",
    ),
    "CP5360": Code(
        "annotation that CRI-O ignores",
        "the annotation {annotation} of {who} does nothing on {release}: {problem}",
        "{remedy}",
        "CRI-O compares the values of its CPU hooks with a few texts and says nothing of others, and each release reads "
        "other keys and values: `housekeeping` came with 1.34.3, annotations for one container with 1.36.4. The table is "
        "read from the release branches of cri-o/cri-o (internal/runtimehandlerhooks). This is a warning: the pod runs.",
        "warning",
    ),
    "CP5361": Code(
        "annotation with which no container starts",
        "the annotation {annotation} of {who} keeps containers from starting on {release}: {problem}",
        "{remedy}",
        "CRI-O runs its CPU hooks before a container starts, and their errors keep it from starting: values of "
        "cpu-c-states.crio.io that the release does not know (`max_latency:` came with 1.28), and on version 2 of control "
        "groups cpu-load-balancing.crio.io before 1.28.3. The text is CRI-O's own.",
    ),
    "CP5362": Code(
        "CPUs of exec probes on an old CRI-O",
        "{field} {value} needs CRI-O {since}, which {version} does not have",
        "use {later} or later, or write runtime.execCpuAffinity: none",
        f"CRI-O passes over keys that it does not know, so `{EXEC_CPU_AFFINITY.last}` would have no effect: what `exec` "
        "starts, probes among it, would run on any CPU of the container.",
    ),
    "CP588": Code(
        "file of CRI-O in a MachineConfig of others",
        "MachineConfig {name} gives nodes of pool {pool} the file {path}, which CRI-O reads {problem}",
        "look at the file with `cpuplan validate --crio`, and give it a name that sorts before cpuplan's",
        "CRI-O reads everything below /etc/crio/crio.conf.d, in the order of the names. The Cluster document has the "
        "names of files only, so that this is a warning; `check` reads the files of a node.",
        "warning",
    ),
    "CP5380": Code(
        "Tuned object that overrides a setting",
        "Tuned {name} gives nodes of pool {pool} {what}; the plan of intent {intent} has {planned}",
        "leave it if this is intended, and say why in a waiver; otherwise take it out of the profile",
        "A profile that includes the planned one has the last word on each option. What is compiled into expected/, "
        "explained and checked on nodes has the value of the Tuned object.",
        "warning",
    ),
    "CP5381": Code(
        "Tuned object that displaces the planned profile",
        "nodes of pool {pool} get profile {profile} of Tuned {name} (priority {priority}), which does not include "
        "{planned} of intent {intent} (priority {own})",
        "write `include={planned}` in [main] of the profile, or give its recommendation a priority above {own}",
        "A node has one profile of TuneD: that of the recommendation with the lowest number. Without the planned one in "
        "it, nodes get no boot arguments of the plan, and nothing else that TuneD sets.",
    ),
    "CP5382": Code(
        "profile that TuneD cannot load",
        "TuneD cannot load profile {profile} of Tuned {name} on nodes of pool {pool} of intent {intent}: {problem}",
        "{hint}",
        "TuneD applies nothing then, not even the planned profile, and the operator reports the Profile of the node as "
        "degraded (pkg/tuned/controller.go). A PerformanceProfile NAME becomes the profile "
        "openshift-node-performance-NAME: whoever renames it must rename what includes it. `-` before a name makes an "
        "include optional.",
    ),
    "CP5383": Code(
        "profiles with one priority",
        "profile {first} of Tuned {name} and profile {second} of Tuned {other} both have priority {priority} on nodes of "
        "pool {pool} of intent {intent}; {first} counts by the name of its object",
        "give the one that should count a lower number that no other has",
        "The operator takes the recommendation with the lowest number and warns in its log of two with the same. The "
        "names of the objects decide then (pkg/operator/profilecalculator.go).",
        "warning",
    ),
    "CP5384": Code(
        "part of a Tuned object that only a node can tell",
        "{what} in Tuned {name} is not known for nodes of pool {pool} of intent {intent}: {why}",
        "write the value itself; or leave it, and compare `check` and `cat /proc/cmdline` of a node with the plan",
        "Profiles may run programs, read files of the node and include profiles that come with TuneD. cpuplan runs "
        "nothing: what follows from these is missing in expected/, and is not compared with the plan.",
        "warning",
    ),
    "CP5385": Code(
        "two profiles of one name",
        "Tuned {name} has another profile {profile} than Tuned {other}, for nodes of pool {pool} of intent {intent} too",
        "give one of them another name, or the same text",
        "The operator writes all profiles of all Tuned objects to each node. Of two with one name and unlike texts it "
        "updates no node from 4.19 on (pkg/operator/profilecalculator.go, DuplicateProfileError); before, it logs an "
        "error, and which of them counts is left to chance.",
    ),
    "CP5386": Code(
        "Tuned object without effect",
        "profile {profile} of Tuned {name} has priority {priority}, and nodes of pool {pool} get {planned} of intent "
        "{intent} with priority {own}",
        "give its recommendation a priority below {own}",
        "The profile includes the planned one and is meant to count for its nodes, but the lowest number counts.",
        "warning",
    ),
    "CP5387": Code(
        "profile without boot arguments",
        "profile {profile} of Tuned {name} is recommended by labels of nodes: the boot arguments of pool {pool} of "
        "intent {intent} go nowhere",
        "write `machineConfigLabels: {{{wanted}}}` in the recommendation in place of match",
        "The operator writes the MachineConfig 50-nto-POOL only for nodes whose profile was found by "
        "machineConfigLabels (pkg/operator/controller.go, syncProfile). With match, an existing object stays as it was, "
        "and a new pool gets none.",
    ),
    "CP5400": Code(
        "drop-in of the kubelet in a MachineConfig of others",
        "MachineConfig {name} gives nodes of pool {pool} the file {path}, whose keys win over those of intent {intent}",
        "move its keys to `kubelet` of the intent, and leave the file out; or see what remains of both with "
        "`cpuplan validate kubelet.conf --config-dir DIR`",
        "Kubelets of OpenShift 4.21 and later read the *.conf files of /etc/openshift/kubelet.conf.d after kubelet.conf, "
        "on control plane nodes since 4.23. The Cluster document has the names of files only, so that this is a warning; "
        "`check` reads the files of a node.",
        "warning",
    ),
    "CP5402": Code(
        "list of an adopted profile without its pool",
        "profile.lists.{name} is {text}, and pool {pool} has {cpus}: the list is not used",
        "take the text out, or write the CPUs of the pool",
        "The text of a list is kept as long as it means the CPUs of the pool. A list in normal form says the same "
        "without a field.",
        "warning",
    ),
    "CP5403": Code(
        "annotation that is a field of the intent",
        "the annotation {name} is made from fields of the intent: the text in profile.annotations does not count",
        "take it out, and write the field of the intent that says the same",
        "The node tuning operator reads some annotations of a profile as settings. cpuplan plans these settings, and "
        "writes the annotations itself.",
    ),
    "CP5401": Code(
        "workload partitioning by a MachineConfig of others",
        "MachineConfig {name} gives nodes of pool {pool} the file {path}, with which the kubelet keeps reserved CPUs for "
        "pods of the platform, and intent {intent} does not have `cpuPartitioning`",
        "in a cluster with workload partitioning, write `cpuPartitioning: true` in the target, or give the Infrastructure "
        "object beside a PerformanceProfile; otherwise leave the file out",
        "The kubelet looks for the file alone, whoever wrote it. Installations before 4.14 with one node have such a "
        "MachineConfig; the pool of all other pods is smaller there than without it.",
        "warning",
    ),
    "CP586": Code(
        "drop-in that must be imported",
        "containerd reads {path} only if config.toml imports it",
        'write imports = ["{imports}"] in /etc/containerd/config.toml, once, before its first table',
        "No release reads a folder by itself: where config.toml exists, only the files that it imports are read. From "
        "2.2 on, `containerd config default` prints the line. `check` says of a node whether the drop-in is read "
        "(CP843).",
        "note",
    ),
}
