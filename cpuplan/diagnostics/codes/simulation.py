"""What a kubelet does with the plan, and with pods on it: the CP7xx."""

from cpuplan.diagnostics.codes.code import Code
from cpuplan.facts.settings.kubelet import (
    CPU_MANAGER_POLICY,
    EVICTION_HARD,
    KUBE_RESERVED,
    MEMORY_MANAGER_POLICY,
    RESERVED_CPUS,
    RESERVED_MEMORY,
    SYSTEM_RESERVED,
)

CODES = {
    "CP701": Code(
        "kubelet that does not start",
        "the kubelet of class {name} in cluster {cluster} does not start: {problem}",
        "change the setting that the text names; `cpuplan explain` shows where each setting comes from",
        "The planned node was started in a simulator of the kubelet of the target's version. The text is the one that "
        "would be in the kubelet's log (cmd/kubelet/app/server.go, pkg/kubelet/cm).",
    ),
    "CP702": Code(
        "feature gate that stops the kubelet",
        "the kubelet of {where} crashes at startup because of a feature gate: {problem}",
        "remove the gate: a gate that is gone or locked can no longer be chosen",
        "A gate that the version does not have, or no longer has, makes the kubelet panic before it reads anything "
        "else: CPUManager since 1.33, MemoryManager since 1.36, TopologyManager since 1.29 "
        "(pkg/features/kube_features.go, removed when locked). OpenShift's kubelet only warns about unknown gates.",
    ),
    "CP703": Code(
        "configuration that the kubelet refuses",
        "the kubelet of {where} does not start: {problem}",
        "{hint}",
        "The configuration was validated as the kubelet does at startup "
        "(pkg/kubelet/apis/config/validation/validation.go), and the text is the kubelet's own.",
    ),
    "CP704": Code(
        "overlapping exclusive CPUs",
        "the static policy gives out CPUs twice on hardware {hardware}: {example}",
        f"make cores and sockets equal (switch SMT off, or use the same cores of every socket), or use {CPU_MANAGER_POLICY.key} none there",
        "The kubelet treats a core or socket as free if as many of its CPUs are free as cores or sockets have on "
        "average, and then takes all of it (pkg/kubelet/cm/cpumanager/cpu_assignment.go, isCoreFree and isSocketFree). "
        "This is wrong if cores have different numbers of threads (hybrid processors, threads that are offline), or "
        "sockets different numbers of CPUs. The example comes from the simulated kubelet. This is a warning because "
        "pods of other sizes may never be affected.",
        severity="warning",
    ),
    "CP705": Code(
        "kubelet that does not come to an end",
        "on nodes of class {name}, {what}",
        "{remedy}",
        "The kubelet admits one pod after another, and no further one while it is busy. The managers of CPUs and memory "
        "look at all sets of NUMA nodes: the Static memory manager of all NUMA nodes, whatever the topology manager's "
        "policy is, the CPU manager of those with CPUs, unless that policy is none. With a microsecond for each set, a "
        "billion sets take a quarter of an hour and tens of gigabytes, and each further NUMA node doubles that. The "
        "topology manager compares each hint of one manager with each of the others, unless its policy is "
        "single-numa-node: four billion combinations took 21 minutes (kubernetes/kubernetes#131738, #135541). "
        "With both full-pcpus-only and distribute-cpus-across-numa, CPUs are given out in whole cores but counted one "
        "by one. If a NUMA node has an odd number of free CPUs, because a reserved CPU leaves its sibling alone, the "
        "rounds never end (pkg/kubelet/cm/cpumanager/cpu_assignment.go, takeByTopologyNUMADistributed, KEP-2902).",
    ),
    "CP706": Code(
        "uneven distribution over many NUMA nodes",
        "distribute-cpus-across-numa chooses the wrong NUMA nodes on hardware {hardware}, which has {nodes}",
        "do not rely on an even distribution when a container needs four or more NUMA nodes, or remove the option",
        "Combinations of four and of six to eight NUMA nodes are kept in slices that share memory with later ones, so "
        "the last node of a combination can be replaced after it was chosen as the best "
        "(kubernetes/kubernetes#141237). Containers still get as many CPUs as they request.",
        "warning",
    ),
    "CP707": Code(
        "state file that the new plan refuses",
        "{changed} changed, so a kubelet of class {name} in cluster {cluster} does not start with the {file} that the previous plan left{when}: {problem}",
        "drain each node, stop its kubelet, delete /var/lib/kubelet/{file}, and only then start it with the new files",
        "The kubelet keeps the assignment of CPUs and memory in files across restarts and reboots, and does not start "
        "when they contradict its configuration (pkg/kubelet/cm/cpumanager/policy_static.go, validateState; "
        "memorymanager likewise). The plan in out/ was compared with the new one by starting the simulated kubelet of "
        "the new plan with the files of the old one. On OpenShift, the kubelet's unit deletes the files at every start.",
        "warning",
    ),
    "CP708": Code(
        "running pod refused after a restart",
        "when the kubelet of {node} restarts, it refuses {pod}, which runs there: {problem}",
        "leave as many CPUs free as the largest container has, or omit full-pcpus-only",
        "With full-pcpus-only, the kubelet compares a container with the free CPUs before it checks whether the "
        "container already has its CPUs (kubernetes/kubernetes#129078; pkg/kubelet/cm/cpumanager/policy_static.go, "
        "Allocate). The pods that were admitted in the simulation were admitted again by a restarted kubelet with the "
        "state files of the first one.",
        "warning",
    ),
    "CP709": Code(
        "kubelet field without effect",
        "the kubelet of {where} ignores part of its configuration: {problem}",
        "correct the name, or remove the field",
        "The kubelet decodes its file strictly, only logs the errors, and then decodes it leniently. A misspelt field "
        "has no effect, and of a duplicate key the last one counts (pkg/kubelet/kubeletconfig/util/codec).",
        "warning",
    ),
    "CP710": Code(
        "kubelet configuration that cannot be read",
        "the kubelet of {where} does not start: {problem}",
        "correct the file; quote numbers and booleans that stand for text",
        f"A value of the wrong type stops the kubelet, such as a bare number for {RESERVED_CPUS.key} or a bare true for a policy option.",
    ),
    "CP711": Code(
        "reserved huge pages",
        f"the kubelet of {{where}} does not start: {RESERVED_MEMORY.key} has {{problem}}, but huge pages cannot be reserved",
        "remove the entry",
        f"For each resource, the sum of {RESERVED_MEMORY.key} must equal that of {KUBE_RESERVED.head}, {SYSTEM_RESERVED.head} and "
        f"{EVICTION_HARD.head}. Huge pages pass the validation of {RESERVED_MEMORY.key} but cannot be in the others, so the sums never "
        "match (pkg/kubelet/cm/memorymanager, validateReservedMemory).",
    ),
    "CP712": Code(
        "workload that the kubelet refuses",
        "the kubelet of class {name} does not admit {pod} after the workloads before it: {problem}",
        "{remedy}",
        "There are enough CPUs in total, but not where the kubelet's policies require them: on one NUMA node, in whole "
        "cores. `cpuplan simulate` shows where the other workloads run. With very many NUMA nodes it is not known what the "
        "kubelet does, since it looks at all sets of them (CP705, CP5151).",
    ),
    "CP713": Code(
        "workloads that do not fit in every order",
        "in the order {order}, the kubelet of class {name} does not admit the last of its workloads: {problem}",
        "leave room for one more of the largest workload, make sizes equal, or make sure that the largest come first",
        "The order in which pods start is not defined, least of all after a reboot. The simulated kubelet tried the "
        "orders, up to half a second of work. `cpuplan simulate --any-order` tries more, and says how many.",
        "warning",
    ),
    "CP7586": Code(
        "workloads with devices of unknown NUMA nodes",
        "whether the kubelet of class {name} admits workload {workload} is not known: it requests {devices}, and no "
        "document says which devices these are",
        "say it with `devicePlugins` of hardware {hardware}; `numaNodes: false` stands for a plugin that tells no NUMA nodes",
        "A topology manager other than none also counts the hints of devices: it refuses a pod whose devices are on other "
        "NUMA nodes than its CPUs, or gives it other CPUs. The devices of a node and their NUMA nodes are in the inventory; "
        "which of them a device plugin offers as which resource is known of GPUs of NVIDIA, AMD and Intel only.",
        "warning",
    ),
    "CP7155": Code(
        "pods not simulated to the end",
        "whether the kubelet of class {name} in cluster {cluster} admits what is planned for it is not known: the limit of "
        "{limit} of work was reached before",
        "give it longer with --time-limit, or plan fewer pods",
        "The kubelet's managers look at all sets of NUMA nodes for each pod, which takes long on machines with many of "
        "them, and a workload may have thousands of pods. The limit is counted in steps of the simulated kubelet and not by a "
        "clock, so that the same input ends at the same pod everywhere.",
    ),
    "CP7645": Code(
        "node without CPUs for pods",
        "nodes of class {name} admit no pod that requests CPU: {problem}",
        "give isolated CPUs that best-effort pods share with the others",
        "The kubelet offers pods what is not reserved: the CPUs of isolated, less those that are for best-effort pods "
        "alone. A pod that requests a thousandth of a CPU was tried on an empty node. Pods without requests are "
        "admitted. To allow it, disable the rule isolated-not-empty.",
        "warning",
    ),
    "CP7646": Code(
        "node without CPUs for exclusive use",
        "nodes of class {name} give no container CPUs of its own: {problem}",
        "give isolated a whole core, or set cpuManagerPolicy to none",
        "The static policy is there to give containers of Guaranteed pods whole CPUs, and whole cores with "
        "full-pcpus-only. The smallest such pod was tried on an empty node.",
        "warning",
    ),
    "CP7647": Code(
        "nothing left of the rest",
        "{pool} takes the rest, of which class {name} leaves no CPU",
        "make the other pools smaller, or leave {pool} out",
        "A pool without CPUs has no effect, and what was to run there runs elsewhere.",
        "warning",
    ),
    "CP7648": Code(
        "workloads that fill a node",
        "beside its workloads, class {name} admits no other pod that requests CPU: {problem}",
        "give isolated one CPU more than the workloads need, or plan one pod fewer",
        "Each node also runs pods of DaemonSets, for its network for example, and these come first: then a pod of the "
        "workloads is refused. A pod that requests a thousandth of a CPU was tried after the workloads. A "
        "DaemonSet whose requests are known belongs into `workloads`.",
        "warning",
    ),
    "CP7605": Code(
        "memory of NUMA nodes without CPUs",
        "the memory manager gives {pods} memory of {nodes} of hardware {hardware} alone, without CPUs",
        f"set {MEMORY_MANAGER_POLICY.key} to None, or reserve all memory of these nodes ({RESERVED_MEMORY.key}, in {SYSTEM_RESERVED.head} too)",
        "HBM, CXL memory and memory of GPUs is memory like any other to the Static memory manager: where the NUMA nodes "
        "with CPUs are full, or their CPUs do not decide, a pod gets that of the lowest node with enough, and the kernel "
        "lets it use no other (cpuset.mems). With CPUs or devices of the pod on other nodes, the topology manager's policy "
        "decides whether it is refused instead. This is a warning because it may be what the pod is for.",
        "warning",
    ),
    "CP714": Code(
        "pod that shares CPUs otherwise than it asks",
        "{who} {problem}",
        "{remedy}",
        "OpenShift's API server, the kubelet and CRI-O let such pods run without a word: with all CPUs of the kubelet's "
        "default set, with shared CPUs that nobody counts, or throttled. The admission policies of cpuplan refuse most of "
        "them, in clusters that have the policies. This is a warning.",
        "warning",
    ),
    "CP7341": Code(
        "RuntimeClass that the cluster lacks",
        "{who}: the cluster has no RuntimeClass {name}, so the API server refuses the pod",
        "{remedy}; of another program that makes the class, give the RuntimeClass beside the pod",
        "OpenShift's clusters have the RuntimeClasses of their profiles. Those of other programs are read from the files "
        "with the pods; names that begin with kata or nvidia are taken as there.",
        "warning",
    ),
    "CP7342": Code(
        "pod that workload partitioning leaves alone",
        "{who} {problem}",
        "{remedy}",
        "The API server takes the annotation of such a pod away and says so in the annotation "
        "workload.openshift.io/warning only. The pod keeps its CPU requests, and its containers run on the CPUs of all "
        "others instead of the reserved ones.",
        "warning",
    ),
    "CP7343": Code(
        "annotation where nobody reads it",
        "{name} stands in {place}, where nobody reads it",
        "move it to {right}",
        "Pods have the annotations of metadata.annotations, and those of a workload the ones of its template. Unknown keys "
        "elsewhere are refused or dropped by the API server, and annotations of a Deployment do not reach its pods.",
        "warning",
    ),
    "CP7344": Code(
        "workload of a pod that the API server refuses",
        "{who} is refused: {problem}",
        "{remedy}",
        "The plugin ManagementCPUsOverride of OpenShift's API server reads the annotation "
        "target.workload.openshift.io/management and the resource management.workload.openshift.io/cores, which it puts "
        "in the place of `cpu` itself. The text is its own.",
        "warning",
    ),
    "CP720": Code(
        "manifest that cannot be simulated",
        "the manifest {problem}",
        "correct it; pods are read from {kinds}",
        "Manifests are read as they are applied, after Helm or Kustomize. Templates of pods are found in objects of other "
        "kinds, too; objects without pods are ignored.",
    ),
    "CP721": Code(
        "nothing to simulate",
        "no pod in {files}",
        "give files with Pods or workloads, such as a Deployment",
        "Pods come from Pods, Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs, CronJobs and Lists of them, and "
        "from the templates of pods in objects of other kinds.",
    ),
    "CP7460": Code(
        "object whose pods are not simulated",
        "{object} is not simulated: {why}",
        "write the pods that it makes as Pods beside it; their CPUs are missing in every answer",
        "Nothing is proven of the pods of a file while others of it were not looked at: the exit code is 6 where it would "
        "be 0. Argo's workflows, migrations of machines and objects whose operator decides what pods there are have no "
        "template of a pod. As the node sees them, `kubectl get pods -o yaml` shows them.",
        "warning",
    ),
    "CP7461": Code(
        "pods of another kind of object",
        "of {object}, {pods} read from {field}",
        "compare with the pods that its controller makes, by `kubectl get pods -o yaml`, if it changes the template",
        "Templates of pods are read in objects of every kind, as PyTorchJob, JobSet, LeaderWorkerSet, RayCluster, Volcano's "
        "Job and Argo's Rollout, as many times as the replicas beside and above them say. What a controller adds to its "
        "pods, such as sidecars, is not in the file.",
        "note",
    ),
    "CP7565": Code(
        "machine that KubeVirt refuses",
        "{object} is refused by KubeVirt: it {problem}",
        "correct the field, so that KubeVirt makes a pod of virt-launcher for it",
        "The rules are those of KubeVirt 1.9 about CPUs and memory "
        "(pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go), and the types of the fields that "
        "are read. Its webhook refuses the object, so no pod of it can be simulated.",
    ),
    "CP7566": Code(
        "pods of a virtual machine",
        "{object} runs in {pods} of virt-launcher with {cpus}{halted}{unread}",
        "compare with its pod, by `kubectl get pods -l kubevirt.io=virt-launcher -o yaml`",
        "The pod is made by the rules of KubeVirt 1.9 (pkg/virt-controller/services): dedicatedCpuPlacement gives each "
        "vCPU and I/O thread a CPU of its own, isolateEmulatorThread one or two more, all in the container compute of a "
        "Guaranteed pod; memory has the overhead of virt-launcher and QEMU. Instancetypes and the KubeVirt object are "
        "read from the files beside it. KubeVirt asks the scheduler for a node with the label "
        "kubevirt.io/cpumanager where CPUs are dedicated, which nodes with the static policy have.",
        "note",
    ),
    "CP7567": Code(
        "instancetype that is not in the files",
        "{object} is not simulated: {kind} {name} says what its machine has, and is not in the files",
        "write it beside the machine: `kubectl get {kind} {name} -o yaml`; until then its CPUs are missing in every answer",
        "CPUs and memory of such a machine stand in its instancetype only. Nothing is proven of the pods of a file while "
        "others of it were not looked at: the exit code is 6 where it would be 0. An instancetype of one namespace must "
        "be in that of the machine.",
        "warning",
    ),
    "CP7568": Code(
        "objects whose pods are in the files by themselves",
        "not read from {names}: what their controllers made is in the files",
        "write the objects alone, without what their controllers made, to simulate as many pods as they ask for",
        "`kubectl get all -o yaml` has a Deployment, its ReplicaSet and their pods, and of KubeVirt a machine, its "
        "instance and the pod of virt-launcher. The ownerReferences say so, and the pods count once.",
        "note",
    ),
    "CP7569": Code(
        "pods that have ended",
        "not simulated, since they have ended: {names}",
        "omit status.phase to simulate a pod as if it began",
        "Pods with the phase Succeeded or Failed hold no CPUs any more; the kubelet and the scheduler do not count them.",
        "note",
    ),
    "CP730": Code(
        "CPUs that Koordinator and the kubelet both give away",
        "koord-scheduler and the static policy of class {name} give out CPUs twice: {example}",
        f"use {CPU_MANAGER_POLICY.key} none: Koordinator gives CPUs to pods of the classes LSE and LSR",
        "The kubelet's static policy does not know which CPUs koord-scheduler gave to pods, and binds Guaranteed pods to "
        "the same ones; koordlet only reports the kubelet's choice for what is scheduled later "
        "(koordinator-sh/koordinator#1214). The example comes from the simulation.",
        "warning",
    ),
    "CP731": Code(
        "workload for which Koordinator finds no CPUs",
        "on an empty node of class {name}, koord-scheduler refuses a pod of {workload} with {cpus} CPUs: {problem}",
        "request fewer CPUs, give `isolated` more, or use a less strict numaTopologyPolicy",
        "With SingleNUMANode the CPUs must come from one NUMA node, with FullPCPUs from whole free cores; reserved CPUs "
        "count in neither. Such pods would wait for ever. `cpuplan simulate --scheduler koordinator` shows what is left.",
    ),
}
