"""PerformanceProfiles (CP26x, CP27x) and proposals of intents (CP28x).

Most of the rules for profiles are those of the operator's validating webhook, which checks a profile
only when it reaches a cluster.
"""

from cpuplan.diagnostics.codes.code import Code
from cpuplan.facts.settings.kubelet import RESERVED_MEMORY

_PROFILE = "The node tuning operator's webhook has the same rule, but reports it only when the profile reaches a cluster. "

CODES = {
    "CP260": Code(
        "profile without CPUs",
        "{field} is empty",
        "list the CPUs, such as 0-1,32-33",
        _PROFILE
        + "The reserved CPUs are for the system and the isolated ones for pods. Both are required.",
    ),
    "CP261": Code(
        "CPU in two sets of a profile",
        "{cpus} {are} in both {first} and {second}",
        "remove {them} from one of the two",
        _PROFILE
        + "Each CPU is in at most one of reserved, isolated, shared, offlined and ovsDpdk.",
    ),
    "CP262": Code(
        "several labels where one is allowed",
        "{field} has {count} labels; the node tuning operator accepts one",
        "keep only one of them",
        _PROFILE + "The operator derives the names of pools and objects from this label.",
    ),
    "CP263": Code(
        "node selector without a role",
        "{field} has {found}, which does not name a role",
        "select nodes by a label such as node-role.kubernetes.io/worker-cnf, or set both machineConfigLabel and machineConfigPoolSelector",
        _PROFILE
        + "The part of the label's name after the slash is used as the name of the MachineConfigPool.",
    ),
    "CP264": Code(
        "node selector used twice",
        "{field} selects {selector}, as profile {other} does",
        "give each pool of nodes only one profile",
        _PROFILE + "Two profiles for the same nodes would overwrite each other's files.",
    ),
    "CP265": Code(
        "different nodes in one profile",
        "{field} selects {node} with {found}, but {first} with {wanted}",
        "give each kind of node its own pool and profile, or write an Intent, which creates a class for each kind",
        _PROFILE + "The CPU lists of one server are rarely right for another.",
    ),
    "CP266": Code(
        "unsupported page size",
        "{field} is {value}, but {machine} has {sizes}",
        "use one of these sizes",
        _PROFILE
        + "The sizes of pages and huge pages depend on the architecture (kernel: Documentation/mm/hugetlbpage).",
    ),
    "CP267": Code(
        "huge pages without a default size",
        "{field} is missing, but there are huge pages",
        "set it to the size that most of them have",
        _PROFILE + "The operator derives the boot argument default_hugepagesz from it.",
    ),
    "CP268": Code(
        "huge pages requested twice",
        "{field} requests pages of {size} {where} a second time",
        "add up the two numbers in one entry",
        _PROFILE + "Two units with the same name make a MachineConfig that Ignition refuses.",
    ),
    "CP269": Code(
        "invalid network device",
        "{field} {problem}",
        "identify devices by interfaceName, or by vendorID and deviceID such as 0x8086",
        _PROFILE
        + "Devices are matched by udev's properties INTERFACE, ID_VENDOR_ID and ID_MODEL_ID.",
    ),
    "CP270": Code(
        "profile setting that is not allowed",
        "{field} is {value}, which {problem}",
        "{remedy}",
        _PROFILE + "The message states the rule.",
    ),
    "CP271": Code(
        "profile without a pool",
        "{field} {selector} matches {found}",
        "make sure that exactly one MachineConfigPool, with labels, has this node selector",
        "The KubeletConfig of a profile is bound to the labels of the one MachineConfigPool whose node selector "
        "matches that of the profile. The node tuning operator stops at a profile with no such pool, or with several. "
        "If the pool has no labels, the KubeletConfig has an empty selector, which the machine config operator ignores.",
    ),
    "CP272": Code(
        "invalid kubelet snippet",
        "{field}: {problem}",
        "{remedy}",
        "The annotation kubeletconfig.experimental contains a KubeletConfiguration as JSON. The operator cannot decode "
        "what is refused here, or the kubelet does not start with it.",
    ),
    "CP273": Code(
        "unknown annotation value",
        "{field} is {value}",
        "write {expected}, or remove the annotation",
        'The node tuning operator silently treats such a value as "no".',
        severity="warning",
    ),
    "CP2420": Code(
        "unknown annotation of the operator",
        "the node tuning operator has no annotation {name}",
        "{hint}",
        "The operator ignores annotations of its own domain that it does not know.",
        severity="warning",
    ),
    "CP274": Code(
        "kubelet snippet field without effect",
        "{name} in {field} has no effect: {reason}",
        "remove {name} from the snippet",
        "The node tuning operator silently overwrites some fields of the annotation kubeletconfig.experimental.",
        severity="warning",
    ),
    "CP275": Code(
        "unsupported object",
        "{kind} ({version}) is not one of the objects that are read with PerformanceProfiles",
        "{hint}",
        "Objects of these API groups decide what nodes get, so that one that is not read may contradict the plan. "
        "Objects of other groups are left alone.",
        severity="warning",
    ),
    "CP276": Code(
        "profile value without a meaning",
        "{field} is {value}, not {expected}",
        "write {expected}, or remove the field",
        "The node tuning operator accepts such a value, but writes units that fail, or none at all.",
    ),
    "CP277": Code(
        "unsupported profile value",
        "{problem}",
        "{remedy}",
        "A profile is read as an Intent, whose fields have stricter rules than the operator's CRD: which texts are "
        "possible in the files of a boot loader or in a TuneD profile, and which ones the kubelet accepts. The field "
        "is that of the Intent.",
    ),
    "CP278": Code(
        "static memory manager without a reservation",
        "{field} requires the Static memory manager, but nothing is reserved for it",
        f"set numa.topologyPolicy to restricted or single-numa-node in the profile, or add {RESERVED_MEMORY.key} to the snippet",
        f"The kubelet's Static memory manager does not start unless {RESERVED_MEMORY.key} equals what Node Allocatable "
        "subtracts (pkg/kubelet/cm/memorymanager, validateReservedMemory). The node tuning operator writes "
        f"{RESERVED_MEMORY.key} only with its topology policies restricted and single-numa-node, and only if the snippet has "
        "none, not even an empty one. An Intent may omit it: cpuplan computes it.",
    ),
    "CP279": Code(
        "label or annotation that is not text",
        "{field} is {value!r}, not text",
        "quote it",
        "Labels and annotations of Kubernetes objects are maps of text. An API server refuses the object.",
    ),
    "CP280": Code(
        "pool missing from a must-gather",
        "{path} has no {kind} {pool!r}; {hint}",
        "choose one: `cpuplan propose PATH --list` lists the pools and their nodes",
        "Pools are MachineConfigPool objects of the must-gather. On a hosted cluster they are the values of the node "
        "label `hypershift.openshift.io/nodePool`.",
    ),
    "CP281": Code(
        "pool without nodes",
        "pool {pool} has no nodes in {path}",
        "label a node for the pool and collect again; the remarks show the pools of the nodes that match its selector",
        "A layout is made for a machine. A node is in one pool only: a custom pool before worker, and master before "
        "worker. Nodes that run Windows or whose taints match the pool's selector do not count.",
    ),
    "CP282": Code(
        "different nodes in one pool",
        "the nodes of pool {pool} differ: {nodes} has {found}, {first} has {wanted}",
        "give each kind of node its own pool; an Intent that states numbers of CPUs creates a class for each kind",
        "A MachineConfigPool has one list of CPU numbers for all of its nodes. Nodes that differ only in the kernel's "
        "core ids, memory or devices count as equal here.",
    ),
    "CP283": Code(
        "impossible number of CPUs",
        "{problem}",
        "{remedy}",
        "Pools of whole cores have a multiple of a core's threads, and every requested pool needs a CPU, as do the "
        "system and the pods. With nosmt, only the first thread of each core counts.",
    ),
    "CP284": Code(
        "pool without a unique label",
        "pool {pool} has no label that no other pool has",
        "label it: `oc label machineconfigpool {pool} machineconfiguration.openshift.io/role={pool}`",
        "A KubeletConfig finds its pool by labels. With a label that two pools have, it would change both.",
    ),
    "CP285": Code(
        "node without snapshot",
        "{path} has no nodes/{node}/sysinfo.tgz, which contains the CPUs of the node",
        "collect again, with the node up and running, or take the node out of the pool",
        "A layout that fits the other nodes of a pool may not fit an unknown one.",
    ),
    "CP286": Code(
        "must-gathers of different clusters or times",
        "{path} and an earlier image disagree about {kind} {name}",
        "give the must-gather of one cluster, collected at one time",
        "A must-gather may contain several images, each with some objects of the cluster. Objects that two of them "
        "contain must be equal.",
    ),
    "CP287": Code(
        "mode that a hosted cluster does not support",
        "the target has the mode {mode} and a control plane that is External",
        "write mode: performanceProfile",
        "Nodes of a hosted cluster are configured by ConfigMaps that their NodePool names. cpuplan writes the "
        "ConfigMap that contains a PerformanceProfile.",
    ),
    "CP288": Code(
        "pool that cannot be split",
        "mixedHardware: split gives each hardware a pool, but {problem}",
        "correct this, write mixedHardware: common, or give each hardware its own intent and pool",
        "Each class of nodes gets a MachineConfigPool <pool>-<hardware> with its own labels, and a node is in only one "
        "custom pool. The machine config operator does not support custom pools of control plane nodes.",
    ),
    "CP289": Code(
        "nodes without the label of their pool",
        "in the inventory, {nodes} no label {key}, which selects the nodes of pool {pool} of cluster {cluster}",
        "`kubectl label node {node} {key}=` (out/clusters/{cluster}/node-labels/ lists all), and the same in inventories/",
        "A pool of `mixedHardware: split` has the nodes that carry its label. cpuplan does not set the label: until "
        "you set it, the nodes stay in their present pool, with its settings. A node must not be in two custom "
        "pools, so remove the label of the earlier one. Nodes reboot when they change their pool.",
        "warning",
    ),
    "CP290": Code(
        "different files in a common pool",
        "pool {pool} of cluster {cluster} has a common layout, but its files would differ between {first} and {second}: {keys}",
        "write mixedHardware: split, or give each hardware its own intent and pool",
        "A MachineConfigPool has one set of files. Apart from the layout, these depend on the vendor and model of the "
        "CPUs and on the NUMA nodes of the reserved CPUs.",
    ),
    "CP291": Code(
        "nodes outside their pool",
        "in the inventory, {nodes} no label {wanted}, which selects the nodes of pool {pool} of cluster {cluster}",
        "{hint}`kubectl label node {node} {wanted}`, and the same in inventories/",
        "A MachineConfigPool has the nodes that carry its labels. Other nodes that the intent selects stay in their "
        "present pool, with its settings. A misspelt name makes a new pool without nodes.",
        "warning",
    ),
    "CP2400": Code(
        "generator of policies",
        "a {kind} is no object of a cluster: its profiles and MachineConfigs are not read",
        "render it with `kustomize build --enable-alpha-plugins FOLDER > policies.yaml`, and give cpuplan the Policies",
        "Plugins of Kustomize make Policies of a PolicyGenTemplate or PolicyGenerator and of files that it names. "
        "Rendered Policies are read: the objects in their `object-templates` count like those in files.",
        severity="warning",
    ),
    "CP2401": Code(
        "object with templates",
        "the {kind} has templates in place of values: it is not read",
        "give cpuplan the rendered object, or that of the managed cluster: `oc get {plural} -o yaml`",
        "Templates of Advanced Cluster Management begin with two braces, and are resolved on the hub or on the managed "
        "cluster; those of files for a PolicyGenTemplate begin with a dollar sign, and are overwritten by it.",
        severity="warning",
    ),
    "CP2404": Code(
        "template of a file",
        "{path} has templates, which are no YAML before they are resolved: it is not read",
        "render it first, and give cpuplan the result",
        "Programs fill in what stands in two braces, such as Helm, kube-compare or a generator of sites, with values "
        "that are in other files.",
        severity="warning",
    ),
    "CP2403": Code(
        "part of a profile that an import loses",
        "{what} {problem}",
        "{remedy}",
        "An Intent in mode performanceProfile keeps labels, annotations and the texts of CPU lists "
        "(`targets.profile`), so that the operator makes the same of the compiled profile as of the one before.",
        severity="note",
    ),
    "CP2402": Code(
        "objects that are made of others",
        "{path} {problem}",
        "render it with `{command} > rendered.yaml`, and give cpuplan that file in place of the folder",
        "cpuplan reads objects as they stand in files. It leaves patches and values of charts alone, and does not apply "
        "them.",
        severity="warning",
    ),
}
