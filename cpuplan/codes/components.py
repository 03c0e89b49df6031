"""Settings and targets: the CP5xx, but for those of the kubelet."""

from cpuplan.codes.code import Code

CODES = {
    "CP501": Code(
        "unknown release",
        "{platform} {version} is not known to this release of cpuplan",
        "use a version from {first} to {last}, or a release of cpuplan that knows it",
        "What each release of a target can do is in one table (`versions.py`). Guessing what an unknown release "
        "takes could leave nodes with a kubelet or CRI-O that does not start.",
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
        "{hint}",
        "The kernel sets aside as many pages as it finds memory for and says so only in its log.",
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
    "CP560": Code(
        "default of another platform",
        "{name} is no default of {platform}, and cannot be switched there",
        "take it out; docs/defaults.md says which defaults a platform has",
        "Options of TuneD, and units and files of the node tuning operator, exist on OpenShift only.",
    ),
    "CP561": Code(
        "default that the node tuning operator sets",
        "{name} is switched, and in mode performanceProfile the node tuning operator sets its defaults itself",
        "take it out, or use mode mco",
        "A PerformanceProfile has no place for it: the operator would do as always, and nobody would be told.",
    ),
    "CP562": Code(
        "reservation that the nodes may contradict",
        "the memory manager's reservation is {total}; kubelet.{fields} may say otherwise on the nodes",
        "write these fields as the nodes have them, `{{}}` for nothing",
        "With the policy Static, a kubelet only starts if reservedMemory is exactly what kubeReserved, systemReserved and "
        "evictionHard add up to. The drop-in is laid over the nodes' own configuration, whose amounts cpuplan does not "
        "know: it takes the kubelet's defaults for what is not written. This is a warning.",
        "warning",
    ),
    "CP563": Code(
        "default switched twice",
        "{name} is switched a second time",
        "keep one of the two",
        "Of two switches of one default nobody could tell which one is meant.",
    ),
    "CP564": Code(
        "PerformanceProfile without CPUs",
        "pools.{pool} has no CPU, and a PerformanceProfile must have some",
        "give the pool a size, or use mode mco",
        "The API server refuses a PerformanceProfile without spec.cpu.isolated or spec.cpu.reserved, and the operator's "
        "webhook one whose lists are empty.",
    ),
    "CP565": Code(
        "file of a paused intent was changed",
        "{path} is not as it was when {intent} was paused",
        "take the file from the commit before (`git log --oneline -- {path}`), or take `paused: true` away and compile",
        "What was compiled of a paused intent stays as it is, byte for byte, and nothing else tells what is right: the inputs "
        "may have gone on since. An edit, a deleted file or one side of a merge could reach the nodes without a review.",
    ),
    "CP566": Code(
        "nothing is known of a paused intent",
        "{intent} is paused and was compiled before, and {path}, which says what stays, is missing or damaged",
        "take out/ from the commit before, or take `paused: true` away and compile",
        "The objects of a paused intent would vanish from out/, and Argo CD would ask whether to remove them.",
    ),
    "CP570": Code(
        "file that its readers would not take (a bug in cpuplan)",
        "{path}{at}: {problem}",
        "please report it, with the intent and the inventory; nothing was written",
        "Every file that is new or changed is read again before it is written, compared with what it was made from, and "
        "checked against a schema of its kind, which knows all fields and their types. What does not fit would be dropped "
        "by the API server in silence, or keep a kubelet from starting. It is a mistake in cpuplan and not in its input: "
        "the exit code is 70.",
    ),
}
