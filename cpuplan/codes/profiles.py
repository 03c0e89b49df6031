"""PerformanceProfiles of OpenShift's node tuning operator (CP26x, CP27x) and proposals of intents
(CP28x).

Most of the rules for profiles are the operator's own (its validating webhook, which sees no profile
before it is in a cluster).
"""

from cpuplan.codes.code import Code

_PROFILE = "The node tuning operator's webhook has this rule too; it only speaks up when the profile reaches a cluster. "

CODES = {
    "CP260": Code(
        "profile without CPUs",
        "{field} is empty",
        "list the CPUs, such as 0-1,32-33",
        _PROFILE
        + "The reserved CPUs are for the system, the isolated ones for pods: both are needed.",
    ),
    "CP261": Code(
        "CPU in two sets of a profile",
        "{cpus} {are} in {first} and in {second}",
        "take {them} out of one of the two",
        _PROFILE
        + "Each CPU is in at most one of reserved, isolated, shared, offlined and ovsDpdk.",
    ),
    "CP262": Code(
        "several labels where one is taken",
        "{field} has {count} labels, the node tuning operator takes one",
        "keep one of them",
        _PROFILE + "It makes the names of pools and objects from this label.",
    ),
    "CP263": Code(
        "node selector without a role",
        "{field} has {found}, which names no role",
        "select nodes by a label such as node-role.kubernetes.io/worker-cnf, or give machineConfigLabel and "
        "machineConfigPoolSelector both",
        _PROFILE
        + "The part of the label's name after the slash is taken for the MachineConfigPool.",
    ),
    "CP264": Code(
        "node selector used twice",
        "{field} selects {selector}, as profile {other} does",
        "give each pool of nodes one profile",
        _PROFILE + "Two profiles for the same nodes would overwrite each other's files.",
    ),
    "CP265": Code(
        "unlike nodes under one profile",
        "{field} selects {node} with {found}, and {first} with {wanted}",
        "give unlike nodes pools and profiles of their own, or write an Intent, which makes a class of each",
        _PROFILE + "CPU lists of one server are seldom right for another.",
    ),
    "CP266": Code(
        "page size that there is not",
        "{field} is {value}; {machine} has {sizes}",
        "choose one of these sizes",
        _PROFILE
        + "Sizes of pages and huge pages follow from the architecture (kernel: Documentation/mm/hugetlbpage).",
    ),
    "CP267": Code(
        "huge pages without a default size",
        "{field} is missing, and there are huge pages",
        "write the size that most of them have",
        _PROFILE,
    ),
    "CP268": Code(
        "huge pages asked for twice",
        "{field} asks for pages of {size} {where} a second time",
        "add the two numbers up in one entry",
        _PROFILE + "Two units of one name make a MachineConfig that Ignition refuses.",
    ),
    "CP269": Code(
        "unusable network device",
        "{field} {problem}",
        "name devices by interfaceName, or by vendorID and deviceID such as 0x8086",
        _PROFILE
        + "Devices are found by udev's properties INTERFACE, ID_VENDOR_ID and ID_MODEL_ID.",
    ),
    "CP270": Code(
        "settings of a profile that exclude each other",
        "{field} is {value}, which {problem}",
        "{remedy}",
        _PROFILE,
    ),
    "CP271": Code(
        "profile without a pool",
        "{field} {selector} fits {found}",
        "let exactly one MachineConfigPool, with labels, have this node selector",
        "The KubeletConfig of a profile is bound to the labels of the one MachineConfigPool whose node selector fits the "
        "profile's. The node tuning operator stops at a profile without one, or with several; bound to a pool without "
        "labels, the KubeletConfig has an empty selector, which the machine config operator passes over.",
    ),
    "CP272": Code(
        "kubelet snippet that cannot be taken",
        "{field}: {problem}",
        "{remedy}",
        "The annotation kubeletconfig.experimental holds a KubeletConfiguration as JSON. What is refused here, the operator "
        "cannot decode, or no kubelet starts with it.",
    ),
    "CP273": Code(
        "annotation that is not understood",
        "{field} is {value}",
        "write {expected}, or take it out",
        "The node tuning operator takes such a value for no, in silence.",
        severity="warning",
    ),
    "CP274": Code(
        "field of a kubelet snippet without effect",
        "{name} in {field} has no effect: {reason}",
        "take {name} out of the snippet",
        "The node tuning operator writes over some fields of the annotation kubeletconfig.experimental, in silence.",
        severity="warning",
    ),
    "CP275": Code(
        "object that is not read",
        "{kind} ({version}) is none of the objects that are read beside PerformanceProfiles",
        "move it to another folder",
        "inventories/ and intents/ hold cpuplan's documents, and PerformanceProfiles with MachineConfigPool, Node, "
        "Infrastructure and ClusterVersion objects as they are.",
        severity="warning",
    ),
    "CP276": Code(
        "value of a profile that stands for nothing",
        "{field} is {value}, not {expected}",
        "write {expected}, or take it out",
        "The node tuning operator takes it, and writes units that fail, or none at all.",
    ),
    "CP277": Code(
        "value of a profile that cannot be taken",
        "{problem}",
        "{remedy}",
        "A profile is taken as an Intent, whose fields know more of their values than the operator's CRD: which texts can stand "
        "in a boot loader's files or in a TuneD profile, and which the kubelet knows. The field is the Intent's.",
    ),
    "CP278": Code(
        "static memory manager without a reservation",
        "{field} asks for the Static memory manager, and nothing is reserved for it",
        "write numa.topologyPolicy restricted or single-numa-node in the profile, or reservedMemory in the snippet",
        "The kubelet's Static memory manager does not start unless reservedMemory adds up to what Node Allocatable takes off "
        "(pkg/kubelet/cm/memorymanager, validateReservedMemory). The node tuning operator writes reservedMemory with its "
        "topology policies restricted and single-numa-node only, and only where the snippet has none, not even an empty one. "
        "An Intent of your own may leave it out: cpuplan computes it.",
    ),
    "CP279": Code(
        "label or annotation that is no text",
        "{field} is {value!r}, not text",
        "put quotes around it",
        "Labels and annotations of Kubernetes objects are maps of text: an API server refuses the object.",
    ),
    "CP280": Code(
        "pool that a must-gather does not tell of",
        "{path} tells of no {kind} {pool!r}; {hint}",
        "choose one: `cpuplan propose PATH --list` shows the pools and their nodes",
        "Pools are MachineConfigPool objects of the must-gather; on a hosted cluster they are the values of the nodes' label "
        "`hypershift.openshift.io/nodePool`.",
    ),
    "CP281": Code(
        "pool without nodes",
        "pool {pool} has no nodes in {path}",
        "label a node for the pool and collect again; the remarks say where the nodes are that its selector fits",
        "A layout is made for a machine. A node is in one pool only: the custom one before worker, master before worker. "
        "Nodes that run Windows or whose taints fit the pool's selector do not count.",
    ),
    "CP282": Code(
        "unlike nodes in one pool",
        "nodes of pool {pool} are unlike: {nodes} has {found}, {first} has {wanted}",
        "give each kind of node a pool of its own; an Intent that says how many CPUs makes a class of each kind",
        "A MachineConfigPool has one list of CPU numbers for all of its nodes. Nodes that differ only in the kernel's core "
        "ids, memory or devices are alike here.",
    ),
    "CP283": Code(
        "number of CPUs that cannot be",
        "{problem}",
        "{remedy}",
        "Pools of whole cores have multiples of a core's threads, and every pool that is asked for needs a CPU: system, "
        "pods. With nosmt only the first thread of each core counts.",
    ),
    "CP284": Code(
        "pool without a label of its own",
        "pool {pool} has no label that no other pool has",
        "label it: `oc label machineconfigpool {pool} machineconfiguration.openshift.io/role={pool}`",
        "A KubeletConfig finds its pool by labels; with a label that two pools have, it would change both.",
    ),
    "CP285": Code(
        "node without snapshot",
        "{path} has no nodes/{node}/sysinfo.tgz, which tells the node's CPUs",
        "collect again, with the node up and running, or take the node out of the pool",
        "A layout that fits the other nodes of a pool need not fit one that nobody has seen.",
    ),
    "CP286": Code(
        "must-gathers of two clusters or times",
        "{path} is not what an image before it tells of {kind} {name}",
        "give the must-gather of one cluster, of one time",
        "A must-gather may hold several images, each with some objects of the cluster. What two of them tell must agree.",
    ),
    "CP287": Code(
        "mode that a hosted cluster does not know",
        "the target has the mode {mode}, and a control plane that is External",
        "write mode: performanceProfile",
        "Nodes of a hosted cluster are configured by ConfigMaps that their NodePool names; cpuplan writes the one that holds a "
        "PerformanceProfile.",
    ),
    "CP288": Code(
        "pool that cannot be split",
        "mixedHardware: split gives each hardware a pool, and {problem}",
        "leave out what stands in the way, write mixedHardware: common, or give each hardware its own intent and pool",
        "Each class of nodes gets a MachineConfigPool <pool>-<hardware> with labels of its own, and a node is in one custom "
        "pool only. The machine config operator has no custom pools of control plane nodes.",
    ),
    "CP289": Code(
        "nodes without the label of their pool",
        "in the inventory, {nodes} not the label of pool {pool} of cluster {cluster}",
        "`kubectl label node {node} {key}=` (out/clusters/{cluster}/node-labels/ lists all), and the same in inventories/",
        "A pool that `mixedHardware: split` makes has the nodes that carry its label. Somebody must set it, cpuplan does not: "
        "until then the nodes stay in the pool where they are, with its settings. A node must not be in two custom pools: "
        "take away the label of the earlier one. Nodes reboot when they change their pool.",
        "warning",
    ),
    "CP290": Code(
        "common pool with unlike files",
        "pool {pool} of cluster {cluster} has a common layout, and its files would differ between {first} and {second}: {keys}",
        "write mixedHardware: split, or give each hardware its own intent and pool",
        "A MachineConfigPool has one set of files. Beside the layout, these follow the vendor and model of the CPUs and the "
        "NUMA nodes of the reserved CPUs.",
    ),
    "CP291": Code(
        "nodes outside their pool",
        "in the inventory, {nodes} no label {wanted}, by which pool {pool} of cluster {cluster} finds its nodes",
        "{hint}`kubectl label node {node} {wanted}`, and the same in inventories/",
        "A MachineConfigPool has the nodes that carry its labels. Others that the intent selects stay in the pool where they are, "
        "with its settings; a pool whose name is misspelt is a new one without nodes.",
        "warning",
    ),
}
