"""What a kubelet does with the plan, and with pods on it: the CP7xx."""

from cpuplan.codes.code import Code

CODES = {
    "CP701": Code(
        "kubelet that does not start",
        "the kubelet of class {name} in cluster {cluster} does not start: {problem}",
        "change what the text names; `cpuplan explain` says where each setting comes from",
        "The planned node was started in a simulator that repeats the kubelet of the target's version. The text is the one "
        "that would be in the kubelet's log (cmd/kubelet/app/server.go, pkg/kubelet/cm).",
    ),
    "CP702": Code(
        "feature gate that stops the kubelet",
        "the kubelet of {where} crashes at its start over a feature gate: {problem}",
        "take the gate out: one that is gone or locked has become the rule",
        "A gate that the version does not have (any more) makes the kubelet panic before it has read anything else: CPUManager "
        "since 1.33, MemoryManager since 1.36, TopologyManager since 1.29 (pkg/features/kube_features.go, removed when locked). "
        "OpenShift's kubelet only warns of unknown gates.",
    ),
    "CP703": Code(
        "configuration that the kubelet refuses",
        "the kubelet of {where} does not start: {problem}",
        "correct the value",
        "The configuration was checked as the kubelet does at its start (pkg/kubelet/apis/config/validation/validation.go), and "
        "the text is the kubelet's own.",
    ),
    "CP704": Code(
        "exclusive CPUs that overlap",
        "the static policy gives out CPUs twice on hardware {hardware}: {example}",
        "make cores and sockets alike (switch SMT off, or the same cores of every socket), or use cpuManagerPolicy none for it",
        "The kubelet takes a core or socket for free when as many of its CPUs are free as cores or sockets have on average, "
        "and then takes all of it (pkg/kubelet/cm/cpumanager/cpu_assignment.go, isCoreFree and isSocketFree). Where cores have "
        "unlike numbers of threads (hybrid processors, threads that are offline), or sockets unlike numbers of CPUs, that is "
        "wrong. The example was found by asking the simulated kubelet. A warning: pods of other sizes may never meet it.",
        severity="warning",
    ),
    "CP705": Code(
        "kubelet that loops for ever",
        "on nodes of class {name} a container of {count} CPUs makes the kubelet loop for ever",
        "reserve whole cores, or take one of full-pcpus-only and distribute-cpus-across-numa out",
        "With both options CPUs are dealt out in whole cores, but counted singly: where a NUMA node has an odd number of free "
        "CPUs, since a reserved one leaves its sibling alone, the rounds never end and no pod is admitted any more "
        "(pkg/kubelet/cm/cpumanager/cpu_assignment.go, takeByTopologyNUMADistributed, KEP-2902).",
    ),
    "CP706": Code(
        "uneven distribution over many NUMA nodes",
        "distribute-cpus-across-numa picks other NUMA nodes than it should on hardware {hardware}, which has {nodes}",
        "do not count on CPUs being even when a container needs four or more NUMA nodes, or take the option out",
        "Combinations of four and of six to eight NUMA nodes are kept in slices that share their memory with later ones, so that the "
        "last node of a combination can be replaced after it was found best (kubernetes/kubernetes#141237). Containers still get as "
        "many CPUs as they ask for.",
        "warning",
    ),
    "CP707": Code(
        "state file that the new plan refuses",
        "{changed} changed, so a kubelet of class {name} in cluster {cluster} does not start with the {file} that the plan before left{when}: {problem}",
        "drain each node, stop its kubelet, delete /var/lib/kubelet/{file}, and only then start it with the new files",
        "The kubelet keeps who has which CPUs and memory in files over restarts and reboots, and does not start when they contradict its "
        "configuration (pkg/kubelet/cm/cpumanager/policy_static.go, validateState; memorymanager likewise). The plan in out/ was "
        "compared with the new one by starting the one's simulated kubelet with the other's files. On OpenShift the kubelet's unit deletes "
        "the files at every start.",
        "warning",
    ),
    "CP708": Code(
        "running pod refused after a restart",
        "when the kubelet of {node} restarts, it refuses {pod}, which runs there: {problem}",
        "leave as many CPUs free as the largest container has, or take full-pcpus-only out",
        "With full-pcpus-only a container is compared with the CPUs that are left before the kubelet looks whether it has its own already "
        "(kubernetes/kubernetes#129078; pkg/kubelet/cm/cpumanager/policy_static.go, Allocate). The pods that were admitted in the simulation "
        "were admitted again by a restarted kubelet with the state files of the first.",
        "warning",
    ),
    "CP709": Code(
        "kubelet field without effect",
        "the kubelet of {where} drops what it does not know: {problem}",
        "correct the name, or take it out",
        "The kubelet decodes its file strictly, only logs what that refuses, and then goes on leniently: a misspelt field has no "
        "effect, and of a key that is there twice the last one counts (pkg/kubelet/kubeletconfig/util/codec).",
        "warning",
    ),
    "CP710": Code(
        "kubelet configuration that cannot be read",
        "the kubelet of {where} does not start: {problem}",
        "correct the file; numbers and flags that stand for text need quotes",
        "A value of the wrong type stops the kubelet, such as a bare number for reservedSystemCPUs or a bare true for a policy option.",
    ),
    "CP711": Code(
        "reserved huge pages",
        "the kubelet of {where} does not start: reservedMemory has {problem}, and huge pages cannot be reserved",
        "take the entry out",
        "The sums of reservedMemory must be equal to those of kubeReserved, systemReserved and evictionHard, of each resource; huge pages "
        "pass the validation of reservedMemory and cannot be in the others, so that the sum never fits "
        "(pkg/kubelet/cm/memorymanager, validateReservedMemory).",
    ),
    "CP712": Code(
        "workload that the kubelet refuses",
        "the kubelet of class {name} does not admit {pod} after the workloads before it: {problem}",
        "give `isolated` more CPUs where they are missing, ask for fewer, or use a topologyManagerPolicy that is less strict",
        "There are CPUs enough in all, and yet the kubelet does not find them as its policies demand: on one NUMA node, in whole cores. "
        "`cpuplan simulate` shows where the others run.",
    ),
    "CP713": Code(
        "workloads that do not fit in every order",
        "in the order {order} the kubelet of class {name} does not admit the last of its workloads: {problem}",
        "leave room for one more of the largest, make sizes alike, or see to it that the largest come first",
        "Nobody says in which order pods come, after a reboot least of all. The orders were gone through in the simulated kubelet, up to a "
        "number of steps; with `cpuplan simulate --any-order` up to a larger one.",
        "warning",
    ),
    "CP720": Code(
        "manifest that cannot be simulated",
        "the manifest {problem}",
        "correct it; pods are read from {kinds}",
        "Manifests are read as they are applied, after Helm or Kustomize. Objects of other kinds are passed over.",
    ),
    "CP721": Code(
        "nothing to simulate",
        "there is no pod in {files}",
        "name files with Pods or workloads, such as a Deployment",
        "Pods, Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs, CronJobs and Lists of them have pods.",
    ),
}
