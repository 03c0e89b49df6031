"""What gives CPUs to containers beside the kubelet: CP590 to CP594."""

from cpuplan.diagnostics.codes.code import Code

CODES = {
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
    "CP594": Code(
        "nodes on which an NRI policy may not hold",
        "{problem}",
        "{hint}",
        "NRI plugins are reached over a socket: one that has not started, has crashed or was too slow is passed over. "
        "From CRI-O 1.34 and containerd 2.2 on, the default validator refuses containers without the plugins that it "
        "requires. The plugins do not start where the kernel gives caches no ids, as many do that are not for "
        "x86.",
        "warning",
    ),
}
