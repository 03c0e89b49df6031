"""What gives CPUs to containers beside the kubelet, and NodeResourceTopology, in every stage."""

from cpuplan.diagnostics.codes.code import Code
from cpuplan.facts.settings.kubelet import CPU_MANAGER_POLICY

CODES = {
    "CP5625": Code(
        "release that is not proven",
        "{title} {version} is {how}",
        "compare one node with `cpuplan check` before all get it; `cpuplan versions {program}` says what is known",
        "Answers of the newest releases are those of an older one until their source was read or their answers were "
        "recorded, and so are those of releases of which only names were read. Files and simulations may then differ "
        "from what the program does; docs/limits.md says where.",
        "note",
    ),
    "CP5626": Code(
        "release newer than those that are known",
        "{title} {version} is unknown to this release of cpuplan; it is taken to be as {newest}",
        "compare one node with `cpuplan check` before all get it, or use a release of cpuplan that knows it",
        "What cpuplan writes for TuneD differs by what came with which release, and nothing that it writes is refused by "
        "a newer one.",
        "warning",
    ),
    # What gives CPUs to containers beside the kubelet: CP579, CP590 to CP593, CP5320.
    "CP590": Code(
        "statement that an NRI policy cannot keep",
        "{field} cannot hold with mechanism {mechanism}: {problem}",
        "{hint}",
        "The NRI policies replace the kubelet's static policy: both would write the CPUs of containers. Balloons gives "
        "a container the CPUs of one balloon, and a CPU is in one balloon at most. Topology-aware has pools after the "
        "machine, none by name: Guaranteed containers that ask for whole CPUs have them alone, and all others share "
        "what is left.",
    ),
    "CP591": Code(
        "NRI policy that differs from the plan",
        "class {name}: {problem}",
        "{hint}",
        "Balloons has no CPU lists. cpuplan names devices that stand for cores and NUMA nodes, and asks its port of "
        "the policy which CPUs the balloons of the planned machine get; the policy itself would take others without "
        "a word. Neither policy starts on machines whose NUMA nodes are not numbered from 0 without gaps.",
    ),
    "CP592": Code(
        "partition that nothing enforces",
        "nothing on the nodes keeps pods to {partition}",
        "on kubernetes, let the target have mechanism: balloons; elsewhere, waive this if the pods come there in "
        "another way",
        "The kubelet knows no partitions: it gives a container any CPUs of the isolated pool. There is no warning "
        "where the partition is the whole isolated pool, and where it has all isolated CPUs of its NUMA nodes, is near "
        "a device, and the topology manager keeps pods on the NUMA node of their device.",
        "warning",
    ),
    "CP593": Code(
        "no CPU for other pods",
        "class {name} leaves no CPU to {pods}",
        "{hint}",
        "The NRI policies refuse a container for which no CPU is free (CreateContainerError), and the kubelet "
        "tries again. Pods of the namespace kube-system run on the reserved CPUs.",
        "warning",
    ),
    "CP5320": Code(
        "machine on which an NRI policy may not start",
        "hardware {hardware} has caches without ids: the plugin may not start",
        "look for /sys/devices/system/cpu/cpu0/cache/index0/id, and give caches their ids",
        "The plugins do not start where the kernel gives caches no ids, as many do that are not for x86.",
        "warning",
        was="CP594",
    ),
    "CP579": Code(
        "runtime that does not wait for what gives containers CPUs",
        "{runtime} starts containers on all CPUs while {plugin} is away",
        "use version {version} or later, where containers wait for {plugin}",
        "NRI policies and the DRA CPU driver are NRI plugins, which are reached over a socket: one that has not started, has "
        "crashed or was too slow is passed over. From CRI-O 1.34 and containerd 2.2 on, the default validator refuses "
        "containers without the plugins that it requires.",
        "warning",
        was="CP594",
    ),
    # The DRA CPU driver: CP508, CP534, CP535, CP555, CP568, CP569, CP578 and CP684 to
    # CP687.
    "CP508": Code(
        "statement that the DRA CPU driver cannot keep",
        "{field} cannot hold with mechanism {mechanism}: {problem}",
        "{hint}",
        "The driver (kubernetes-sigs/dra-driver-cpu) gives CPUs to containers with a claim, whatever their QoS class, and "
        "the rest to all others. It has no fixed sets beside reservedCPUs, manages no memory, gives the kubelet no hints, "
        "and knows nothing of CPUs that the kernel isolates. Both it and the kubelet's static policy would write the CPUs "
        "of containers: the kubelet has the policy none.",
    ),
    "CP534": Code(
        "claims that may get CPUs of another core",
        "hardware {hardware}: {problem}, so a claim of mode grouped may get half of its CPUs elsewhere or fail with "
        "`overlapping CPU assignment`",
        "use mode: individual, or let all claims and reserved CPUs be whole cores that fit one last-level cache",
        "In mode grouped the driver takes whole cores by the kernel's core_id, which is not unique: it repeats in each "
        "socket, and on hybrid parts. It divides the CPUs of the machine by its cores, so with threads that are offline a "
        "half-taken core counts as free (dra-driver-cpu up to 0.2.0 and main of August 2026; mended by the open pull "
        "request #210; seen by running the driver). In mode individual the devices of a claim are its CPUs.",
        "warning",
    ),
    "CP535": Code(
        "no CPU left to pods without claims",
        "class {name}: claims can take every CPU that is not reserved, and then {effect}",
        "{hint}",
        "Containers without a claim get what is not claimed. Where that is nothing, driver 0.2.0 sets no CPUs at all, which "
        "the runtime takes for all of them, those of claims and of the system included (dra-driver-cpu #295). Later "
        "releases refuse to create such containers (#297). With mode individual, isolated CPUs of no partition are in no "
        "DeviceClass, unless a workload asks for them.",
        "warning",
    ),
    "CP555": Code(
        "claims that split cores",
        "{what} has {cpus}, of which not all are whole cores: {effect}",
        "{hint}",
        "The driver has nothing like full-pcpus-only (dra-driver-cpu #45): the other thread of a split core serves pods "
        "without claims, or another claim.",
        "warning",
    ),
    "CP568": Code(
        "claims that nothing keeps together",
        "workload {workload} needs {count} claims of at most {most} CPUs for container {container}: nothing keeps them on "
        "one {part}",
        "make it smaller, use mode: grouped, or leave out align",
        "A claim has at most 32 devices and 32 conditions (resource.k8s.io/v1, AllocationResultsMaxSize), and in mode "
        "individual each CPU is a device (dra-driver-cpu #290). A container may use several claims; a condition holds "
        "within one.",
        "warning",
    ),
    "CP569": Code(
        "machine on which the DRA CPU driver publishes nothing",
        "hardware {hardware}: {problem}, so the DRA CPU driver finds no CPUs",
        "use mechanism: kubelet on these machines",
        "The driver passes over each CPU without a link to its NUMA node (/sys/devices/system/cpu/cpu0/node0) or without "
        "/sys/devices/system/cpu/cpu0/cache. Without CPUs it publishes no devices, and sets no CPUs for other containers "
        "(seen by running it). Inventories do not say where a kernel has no caches at all; caches without ids are no "
        "hindrance.",
    ),
    "CP578": Code(
        "feature gates of the control plane",
        "cluster {cluster} needs {gates} in kube-apiserver, kube-scheduler and kube-controller-manager of Kubernetes "
        "{version}: {effect}",
        "start them with --feature-gates={flags}, and say so by controlPlaneFeatureGates of the Cluster document",
        "cpuplan writes the kubelet's feature gates, and none of the control plane. DRAConsumableCapacity is off by default "
        "before 1.36: the API server then drops allowMultipleAllocations of devices, and one claim takes a whole device. "
        "DRANodeAllocatableResources is off by default in 1.37.",
        "warning",
    ),
    "CP684": Code(
        "node that publishes no CPUs",
        "node {node} has no ResourceSlice of driver dra.cpu",
        "look at the pods of the driver's DaemonSet on this node, and whether it has the label {wanted}",
        "The driver publishes the CPUs of a node when it starts, in the pool of the node's name. Without them the scheduler "
        "finds no CPUs for claims.",
    ),
    "CP685": Code(
        "device that differs from the plan",
        "node {node}: device {device} {problem}",
        "compare the driver's configuration on the node with out/clusters/<cluster>/dra; it is read when the driver starts",
        "Names of devices are positions in the list of CPUs that are not reserved: with other reserved or online CPUs, the "
        "same name is another CPU. DeviceClasses and claims choose by attributes and capacity.",
    ),
    "CP686": Code(
        "device that is not planned",
        "node {node}: the driver publishes {device}, which is not planned: {found}",
        "compare the driver's configuration on the node with out/clusters/<cluster>/dra; it is read when the driver starts",
        "Reserved CPUs are not published. A device too many is a reserved CPU that claims can get, or another mode.",
    ),
    "CP687": Code(
        "claim with CPUs of others",
        "claim {claim} has CPUs {found}: {problem}",
        "start the pod of the claim anew, after the driver has started with the configuration of "
        "out/clusters/<cluster>/dra",
        "The driver writes a file of CDI for each claim that is prepared. Claims with reserved CPUs are of a driver "
        "with another configuration. Two claims with one CPU are of a driver that has started anew while a claim had no "
        "running container, and has forgotten it (dra-driver-cpu #318).",
    ),
    # Simulated claims of the DRA CPU driver: CP716 and on, CP7200 to CP7202.
    "CP716": Code(
        "claim that cannot be read",
        "{object}: {problem}",
        "correct it; `kubectl explain resourceclaim.spec.devices` has the fields",
        "ResourceClaims, their templates and DeviceClasses (resource.k8s.io) are read beside the pods of the files, where "
        "the target has mechanism dra. A ResourceClaim that is allocated in its status keeps these devices.",
    ),
    "CP717": Code(
        "selector that cannot be evaluated",
        "{object} selects devices by `{expression}`: {problem}",
        "write it with attributes, literals, lists, comparisons, `in`, `has`, `&&`, `||` and `!`",
        "cpuplan evaluates the part of CEL in which selectors of CPUs are written, and no other function than `has`, "
        "`quantity`, `compareTo`, `isGreaterThan` and `isLessThan`. Which devices any other expression selects is not "
        "guessed.",
    ),
    "CP719": Code(
        "pod that loses its exclusive CPUs",
        "container {container} of {pod} has no claim: it shares CPUs with all others, although it requests {cpus} as the "
        "kubelet's static policy would give them to it alone",
        "let it claim its CPUs; `cpuplan compile` writes templates for the workloads of an intent",
        "The static policy gives exclusive CPUs by the shape of a pod: Guaranteed, with whole CPUs. The DRA CPU driver "
        "gives them by claim only. Nothing reports the difference.",
        "warning",
    ),
    "CP722": Code(
        "claim with CPUs of another device",
        "on nodes of class {name}, {example}",
        "use mode: individual, or claims and reserved CPUs that are whole cores and fit one last-level cache",
        "The driver takes whole cores by the kernel's core_id, which repeats on other sockets, in clusters and on hybrid "
        "parts, and then takes all CPUs with that id (dra-driver-cpu up to 0.2.0 and main of August 2026; mended by the "
        "open pull request #210). The example comes from the simulated driver.",
        "warning",
    ),
    "CP723": Code(
        "CPUs that claims and others both use",
        "on nodes of class {name}, {example}",
        "leave CPUs that no claim takes, and let a container use each claim as long as the pod runs",
        "Where no CPU is left, the driver sets no CPUs for containers without a claim, which the runtime takes for all of "
        "them, or for no change (dra-driver-cpu #295; #297 refuses such containers). When the driver restarts, it forgets "
        "claims that no running container has (#318). The example comes from the simulation.",
        "warning",
    ),
    "CP7200": Code(
        "pod that requests less than it claims",
        "{pod} claims {claimed} but requests {requested}: the scheduler and the kubelet count only what it requests",
        "let its containers, or the pod (spec.resources), request and limit as many",
        "Without the driver's mapping (KEP-5517, Kubernetes 1.37) neither the scheduler nor the kubelet counts the CPUs of "
        "claims: a node can be overcommitted, and the QoS class does not follow from them.",
        "warning",
        was="CP718",
    ),
    "CP7201": Code(
        "limit below a claim",
        "container {container} of {pod} claims {claimed} but has a limit of {limit}: its quota throttles it",
        "let its limit be as large as its claims, or omit it",
        "Without the driver's mapping (KEP-5517, Kubernetes 1.37) a CPU limit throttles a container whatever it claims.",
        "warning",
        was="CP718",
    ),
    "CP7202": Code(
        "claim that is counted twice",
        "container {container} of {pod} claims {claimed} and requests {requested} as well: with the driver's mapping "
        "both are counted",
        "request only what it needs beside its claims",
        "With the driver's mapping (KEP-5517, Kubernetes 1.37) requests are counted in addition to the CPUs of claims.",
        "warning",
        was="CP718",
    ),
    # The NRI resource policies: CP732 and CP733.
    "CP732": Code(
        "exporter that nodes do not have",
        "class {name} has mechanism {mechanism}: no plugin of an NRI policy writes NodeResourceTopology for its nodes",
        "name another exporter, or use mechanism: balloons or topology-aware for all nodes of the cluster",
        "The plugins of both policies write one object for their node if agent.nodeResourceTopology is true, and replace "
        "all zones and attributes that others wrote: node-feature-discovery, the resource-topology-exporter and koordlet "
        "write the same object. So a cluster has one exporter, and cpuplan lets the plugins write only where it is they.",
    ),
    "CP733": Code(
        "namespaces of reserved CPUs without an NRI policy",
        "{field} has no meaning with mechanism {mechanism}",
        "leave it out, or use mechanism: balloons or topology-aware",
        "The NRI policies put pods of these namespaces on the reserved CPUs (reservedPoolNamespaces). The kubelet runs "
        "no pod on CPUs of its reservation unless the pod shares all CPUs.",
    ),
    # Targets that name a mechanism, or anything else, for nothing: CP734.
    "CP734": Code(
        "target of no cluster",
        "{target} is never used: {former} is for {clusters}",
        "let targets name different clusters, or write an intent for each: a node has one target, and one mechanism",
        "The nodes of a cluster have the first target that names their cluster, or that names none and is for all. What a "
        "later one asks for, such as another mechanism, would be dropped without a word.",
    ),
    # NodeResourceTopology and the scheduler that reads it: CP650 to CP659.
    "CP650": Code(
        "exporter that the API server refuses",
        "cluster {cluster}: {exporter} writes NodeResourceTopology {version}, but the CRD {crd} only serves {served}",
        "install a CRD that serves both versions (nodeResourceTopology.crd: noderesourcetopology-api), or let "
        "nodeResourceTopology.exporter be what runs on the nodes",
        "One group has CRDs of several distributors. The API's own, which resource-topology-exporter, "
        "node-feature-discovery and charts of Koordinator from 1.7 on install, serve v1alpha1 and v1alpha2; the manifest "
        "of scheduler-plugins serves v1alpha2 only, charts of Koordinator up to 1.6 serve v1alpha1 only. Both exporters "
        "write v1alpha2, koordlet v1alpha1. The plugin NodeResourceTopologyMatch reads v1alpha2, Koordinator's scheduler "
        "v1alpha1. Without objects, NodeResourceTopologyMatch passes every node.",
    ),
    "CP651": Code(
        "zones without CPUs or memory",
        "NodeResourceTopologyMatch refuses pods that request {what} on {nodes}: {because}",
        f"use {CPU_MANAGER_POLICY.key} static and memoryManagerPolicy Static, or a topologyManagerPolicy other than single-numa-node",
        "Exporters ask the kubelet's pod-resources API what can be allocated: it names CPUs with the static CPU manager "
        "only, and memory with the Static memory manager only. Of what no zone has, the plugin lets pods request devices "
        "and storage, but neither CPUs nor memory. It looks into nodes with single-numa-node only. Pods that are not "
        "Guaranteed pass where zones have 0 CPUs, but not where zones have no CPUs or no memory at all.",
        "warning",
    ),
    "CP652": Code(
        "nodes of one kind with unlike zones",
        "cluster {cluster}: nodes of intent {intent} differ in what NodeResourceTopology tells of them: {difference}",
        "give each hardware an intent and a label of its own, and let workloads select their nodes by it; or waive this "
        "where the difference is wanted",
        "NodeResourceTopologyMatch expects that nodes among which it chooses have the same NUMA topology and kubelet "
        "configuration, and cannot check that itself (README of the plugin, Cluster). Scores of unlike nodes cannot be "
        "compared: they are shares of what a zone has, and a pod that fits a NUMA node of one may fit none of the other.",
        "warning",
    ),
    "CP653": Code(
        "nodes that pass the filter unseen",
        "cluster {cluster}: NodeResourceTopologyMatch aligns pods on nodes of {aligned} only, and passes every node of {others}",
        "let pods that must be aligned select their nodes by a label, or set topologyManagerPolicy: single-numa-node on all "
        "nodes that may get them",
        "The plugin filters nodes with single-numa-node and passes those with any other policy (kubernetes-sigs/"
        "scheduler-plugins issue 885): a kubelet with restricted may still refuse the pod, and one with none or best-effort "
        "runs it on several NUMA nodes.",
        "warning",
    ),
    "CP654": Code(
        "more NUMA nodes than the plugin counts",
        "{exporter} does not publish how many NUMA nodes the kubelet allows, so LeastNUMANodes takes 8 for nodes of class "
        "{name}, which have {nodes}: the score of a pod on {too_many} NUMA nodes is {score}",
        "use another scoringStrategy of NodeResourceTopologyMatch, such as LeastAllocated",
        "The kubelet's option max-allowable-numa-nodes is the attribute topologyManagerMaxNUMANodes, which no exporter "
        "writes. A NUMA node more is 12 points less than 100, and the scheduler takes a score below 0 for a failure of the "
        "plugin: the pod stays pending.",
        "warning",
    ),
    "CP655": Code(
        "object that the API server refuses",
        "the API server refuses {object}: {problem}",
        "{hint}",
        "v1alpha1 needs topologyPolicies and zones, v1alpha2 zones only. A zone has name and type, and lists of costs "
        "({name, value}, a whole number), attributes ({name, value}, text) and resources ({name, capacity, "
        "allocatable, available}, quantities). null is no list.",
    ),
    "CP656": Code(
        "field that the API server drops",
        "the API server drops {field} of {object} without a word",
        "leave the field out; v1alpha1 has no attributes at the top, and neither version has a spec",
        "Fields that are not in the schema of the CRD are pruned when an object is stored. A v1alpha2 object loses its "
        "attributes when it is written in v1alpha1, as koordlet does.",
        "warning",
    ),
    "CP657": Code(
        "object on which the scheduler crashes",
        "NodeResourceTopologyMatch crashes on {object}: {problem}",
        "number the zones of type Node from node-0 on without gaps, up to node-63",
        "The plugin keeps the scores of zones in a list that is as long as there are NUMA nodes, at the number in the "
        "zone's name, and zones in a table of 64. A number beyond the end is a Go panic: the scheduler restarts, and "
        "crashes again. Zones of another type are not counted.",
    ),
    "CP658": Code(
        "value that nobody reads",
        "NodeResourceTopologyMatch passes over {value} in {object}",
        "{hint}",
        "Attributes have the kubelet's words, `topologyPolicies` joins policy and scope: SingleNUMANodePodLevel. What is "
        "neither counts as policy none, with which every pod passes. A zone whose name is not node- and a number is no NUMA "
        "node (the plugin's README shows numa-node-0, from which nothing is read).",
        "warning",
    ),
    "CP659": Code(
        "zones that contradict themselves",
        "{object}: {problem}",
        "write capacity, allocatable (without what is reserved) and available (without what pods have exclusively) in "
        "descending order, and each zone once",
        "The CRD checks types only. The plugin reads `available`, Koordinator's scheduler reads `allocatable`. Of two zones "
        "with one name, the plugin takes from both, and fails where one of them has too little.",
        "warning",
    ),
}
