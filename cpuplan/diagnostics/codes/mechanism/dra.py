"""The DRA CPU driver: CP508, CP534, CP535, CP555, CP568, CP569, CP578, CP579 and CP684 to CP687."""

from cpuplan.diagnostics.codes.code import Code

CODES = {
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
    "CP579": Code(
        "nodes on which the DRA CPU driver may not hold",
        "{problem}",
        "{hint}",
        "The driver is an NRI plugin: while it is away, a container starts on all CPUs. From CRI-O 1.34 and containerd 2.2 "
        "on, the default validator refuses containers without the plugins that it requires.",
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
}
