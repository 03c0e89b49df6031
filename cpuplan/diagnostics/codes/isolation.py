"""QoS sets and CPUs that the kernel isolates: what nothing on a node can keep, and traps."""

from cpuplan.diagnostics.codes.code import Code
from cpuplan.facts.settings.kernel import NOHZ_FULL
from cpuplan.facts.settings.kubelet import RESERVED_CPUS

CODES = {
    "CP536": Code(
        "boot argument with another effect",
        "{linux} does not do what {argument} says: {reason}",
        "correct the argument or the pools; `cpuplan explain NODE kernel` shows what the kernel does",
        "cpuplan predicts what the kernel makes of the whole command line. The kernel says little about options that it "
        "ignores: a list with a CPU that does not exist is dropped with one line in the log, and an unknown option goes "
        "on to init. This is a warning because another kernel may do something else.",
        "warning",
    ),
    "CP537": Code(
        "boot argument without an effect",
        "{argument} changes nothing: {reason}",
        "remove the argument from kernel.extraArguments",
        "The other boot arguments have the same effect in Linux 6.12. This is a warning because it does no harm.",
        "warning",
    ),
    "CP538": Code(
        "managed_irq alone isolates nothing",
        "isolation.managedIrq without domain or nohzFull isolates no CPU",
        "set isolation.domain or isolation.nohzFull to true",
        "isolcpus=managed_irq keeps the interrupts of multi-queue devices off, if another CPU can take them. The scheduler, "
        "timers, workqueues and threads of the kernel use the CPUs as before.",
        "warning",
    ),
    "CP539": Code(
        "partitions that isolate nothing",
        "isolation.by partitions isolates no CPU: {reason}",
        "set isolation.by to bootArguments, or change what is named",
        "An isolated partition is a cgroup (version 2, Linux 6.7) whose CPUs the scheduler takes out of its domains. A unit "
        "makes one for the pool isolcpus before the kubelet starts, and CRI-O makes one for each pod with exclusive CPUs "
        "that disables load balancing.",
    ),
    "CP580": Code(
        "QoS sets with control groups version 1",
        "QoS sets cannot be kept on the nodes of cluster {cluster}: they have control groups version 1",
        "use nodes with control groups version 2",
        "The sets are kept by `AllowedCPUs` of the slices of pods. With version 1, a container whose cpuset is not "
        "within that of its slice does not start: the write fails with EPERM or EACCES (kubernetes/kubernetes#103933).",
    ),
    "CP581": Code(
        "QoS sets without slices",
        "QoS sets cannot be kept if {field} of the kubelet is {value}",
        "let kubelet.configuration say {field}: {needed}",
        "The sets are kept by `AllowedCPUs` of kubepods-besteffort.slice and kubepods-burstable.slice. The kubelet makes "
        "slices of these names only with cgroupDriver systemd, cgroupsPerQOS true and cgroupRoot /.",
    ),
    "CP582": Code(
        "QoS sets in a PerformanceProfile",
        "a PerformanceProfile cannot express QoS sets",
        "use mode mco",
        "A profile has no field for the CPUs of a QoS class. A MachineConfig beside it could limit the slices of pods, but "
        f"the node tuning operator writes `{RESERVED_CPUS.key}` from its reserved and shared sets alone, over every "
        "annotation, so that Guaranteed pods could have the CPUs of the set exclusively.",
    ),
    "CP583": Code(
        "Guaranteed pods outside of the set",
        "Guaranteed pods without exclusive CPUs also run on {cpus}, which qos.other does not contain",
        'use the static policy with strict-cpu-reservation: "true" in kubelet.cpuManagerPolicyOptions, or omit qos.other',
        "BestEffort and Burstable pods have slices, whose CPUs systemd limits. The slices of Guaranteed pods are directly in "
        "kubepods.slice, and without exclusive CPUs these pods run on the default cpuset of the kubelet. Only "
        "strict-cpu-reservation excludes reserved CPUs from it. On OpenShift, workload partitioning has the same effect.",
    ),
    "CP584": Code(
        "QoS set that pods can have exclusively",
        "pods can take all of {cpus} of qos.{name} exclusively; {pods} pods then run there too",
        "give the set a CPU of the pool reserved, or CPUs that qos.other does not contain",
        "The kernel gives a container the CPUs that its cpuset and its slice have in common, and all CPUs of the slice if "
        "they have none in common. Besides, a container whose exclusive CPUs contain all CPUs of a slice does not get its "
        "CPUs isolated by CRI-O: the kernel refuses the partition (EINVAL).",
        "warning",
    ),
    "CP585": Code(
        "CPUs of a QoS set that its pods do not use",
        "{pods} pods do not run on {cpus} of qos.{name}, but only on {used}",
        "let qos.bestEffort and qos.other have no CPU in common, or all CPUs of one in the other",
        "With strict-cpu-reservation, the CPUs that only one set contains are not in the default cpuset of the kubelet. The "
        "kernel gives a container the CPUs that this cpuset and its slice have in common. Only if they have none in "
        "common does it give the container all CPUs of the slice.",
        "warning",
    ),
    "CP600": Code(
        "list that older kernels drop",
        "Linux before 5.18 ignores {argument}, since its CPUs are not those of {first}",
        "use Linux 5.18 or later, or the same switches of isolation for all isolated CPUs, with no pool isolcpus",
        f"There was one list for {NOHZ_FULL.key}= and isolcpus= before, and the kernel logged that a later one must match it. "
        "`check` says of a node whether its kernel has the lists (CP814).",
        "note",
    ),
}
