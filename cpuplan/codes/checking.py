"""The node differs from its plan: the CP8xx."""

from cpuplan.codes.code import Code

CODES = {
    "CP801": Code(
        "no CPUs to compare",
        "{path} cannot be read",
        "give the root of a Linux system, or a copy that contains sys/ and proc/, with --root",
        "Without the list of online CPUs, the node cannot be checked.",
    ),
    "CP802": Code(
        "different hardware",
        "the node has CPUs {found}; its hardware {hardware} has {wanted}",
        "set the right hardware for this node, or import it again with `cpuplan import sysroot`",
        "The plan was made for another machine: its CPU numbers mean other CPUs, or none, on this node.",
    ),
    "CP803": Code(
        "different CPUs online",
        "CPUs {found} are online; {wanted} should be",
        "check whether CPUs were switched off by hand, or whether the unit that switches off the offlined pool failed",
        "A kubelet that finds different online CPUs than before refuses its state file (kubernetes/kubernetes#124066).",
    ),
    "CP804": Code(
        "different siblings",
        "the core of CPU {cpu} is {found}; in the inventory it is {wanted}",
        "import the hardware again with `cpuplan import sysroot`",
        "Siblings determine which CPUs disturb each other. A layout of whole cores is wrong if they differ.",
    ),
    "CP805": Code(
        "not verifiable",
        "{path} exists but cannot be read: {problem}",
        "run `check` as a user who may read it (root), or with --root on a copy of the node's files",
        "The file may contain anything, so cpuplan reports neither that a setting is missing nor that all is well. "
        "Links are followed as on the node itself, inside its root. Files of more than 1 MiB, pipes and devices are "
        "not read.",
    ),
    "CP806": Code(
        "kernel without the file",
        "{path} does not exist; it should contain {wanted}",
        "give the root of a node, or a copy with all of /sys/devices/system/cpu; if it is complete, the kernel was built without this file",
        "A kernel without CONFIG_NO_HZ_FULL silently accepts nohz_full= and has no such file, so the effect of the "
        "argument cannot be verified.",
    ),
    "CP810": Code(
        "no command line",
        "{path} cannot be read",
        "give the root of a Linux system, or a copy that contains proc/cmdline, with --root",
        "Boot arguments are read from /proc/cmdline, as the kernel received them.",
    ),
    "CP811": Code(
        "boot argument missing",
        "the node was booted without {arguments}",
        "sync the compiled files, then drain and reboot the node",
        "The argument takes effect at the next boot.",
    ),
    "CP812": Code(
        "boot argument differs",
        "the node was booted with {found} instead of {wanted}",
        "sync the compiled files, then drain and reboot the node; if it remains, look for a second place that sets it",
        "Most kernels use the last of a repeated argument. This is the last one.",
    ),
    "CP813": Code(
        "boot argument repeated",
        "{key} is on the command line {count} times with different values: {values}",
        "remove the argument from the other tool that sets it, and keep the compiled one",
        "The kernel uses the last of most repeated arguments, but ignores the second isolcpus= (kernel 6.12, "
        "housekeeping.c).",
    ),
    "CP814": Code(
        "kernel with different CPU lists",
        "the kernel's list `{file}` is {found}; it should be {wanted}",
        "look for the argument in the kernel log: one CPU that does not exist makes the kernel ignore the whole list",
        "/sys/devices/system/cpu/isolated and nohz_full show what the kernel accepted from isolcpus= and nohz_full=.",
    ),
    "CP820": Code(
        "no kubelet configuration",
        "neither {paths} exists",
        "give the node's root with --root",
        "The kubelet's file is etc/kubernetes/kubelet.conf on OpenShift and var/lib/kubelet/config.yaml elsewhere.",
    ),
    "CP821": Code(
        "unreadable kubelet configuration",
        "{path} is not a valid KubeletConfiguration: {problem}",
        "correct it at its source; if it is a compiled file, sync the compiled files again",
        "The kubelet does not start with a file that it cannot read. Do not delete the file: its settings would be "
        "lost, too.",
    ),
    "CP822": Code(
        "kubelet setting missing",
        "the kubelet's files do not set {settings}",
        "sync the compiled files and restart the kubelet",
        "No file of the kubelet's configuration has these keys, so their defaults apply.",
    ),
    "CP823": Code(
        "kubelet setting differs",
        "{key} of the kubelet is {found}; it should be {wanted}",
        "remove the key from this file, or state it in the intent: the last drop-in by name applies",
        "Drop-ins are merged in the order of their names. Maps are merged, lists are replaced.",
    ),
    "CP840": Code(
        "mixed-CPU file missing",
        "{path} does not exist",
        "sync the compiled files and restart the kubelet",
        "Without the file, the kubelet does not offer workload.openshift.io/enable-shared-cpus.",
    ),
    "CP841": Code(
        "unreadable mixed-CPU file",
        "the kubelet cannot read {path}: {problem}",
        "sync the compiled files and restart the kubelet",
        "With invalid JSON, the kubelet silently switches mixed CPUs off. With a wrong key, it offers 0 containers.",
    ),
    "CP842": Code(
        "mixed-CPU limit differs",
        "{key} is {found}; it should be {wanted}",
        "sync the compiled files and restart the kubelet, which reads the file at startup",
        "The number of containers of a node that may use shared CPUs.",
    ),
    "CP856": Code(
        "mixed CPUs with another quota period on the node",
        "containers with shared CPUs are throttled: cpuCFSQuotaPeriod of the kubelet is {period}",
        "take cpuCFSQuotaPeriod out of this file and restart the kubelet",
        "No intent may set it beside shared CPUs (CP567), but a file of others can: on cgroup v2, CRI-O writes the quota "
        "of containers with shared CPUs for periods of 100 ms.",
    ),
    "CP860": Code(
        "slice of pods without a limit",
        "no drop-in limits {slice} to CPUs {wanted}",
        "sync the compiled files, and run systemctl daemon-reload",
        "Without AllowedCPUs, pods of the slice run on all CPUs.",
    ),
    "CP861": Code(
        "slice of pods with other CPUs",
        "the drop-ins of {slice} allow {found}; it should be {wanted}",
        "take the line out of this file, or state its CPUs in the intent; the compiled file keeps its name",
        "systemd adds up the AllowedCPUs of all drop-ins of a slice in the order of their names, also those of "
        "kubepods-.slice.d. A line without a value discards the lines before it.",
    ),
    "CP862": Code(
        "limit of a slice that is not in force",
        "the control group of {slice} has {found}; it should be {wanted}",
        "run systemctl daemon-reload; if the value comes back, find the program that writes it",
        "The kubelet with the policy none sets all CPUs on kubepods.slice at each start, and CRI-O does so when a pod "
        "switches load balancing off. systemd applies drop-ins when it is reloaded.",
    ),
    "CP863": Code(
        "CPUs that are not isolated",
        "the partition of CPUs {wanted} is {state}",
        "run systemctl start isolate-cpus.service and read what it says",
        "The kernel accepts a partition that is not possible, and says so only where the file is read. A partition that "
        "became invalid does not become valid by itself.",
    ),
    "CP870": Code(
        "file missing",
        "the node lacks {paths}",
        "lay the compiled files over the root file system; docs/kubernetes.md says what must be run once",
        "These files belong to the operating system: units and scripts, sysctls, profiles, rules of udev.",
    ),
    "CP871": Code(
        "file differs",
        "{path} is not as it was compiled; this line should be: {wanted}",
        "lay the compiled files over the root file system again, and state in the intent what should be different",
        "The finding is at the first line that differs. Files of other names can add to a compiled one; they are not "
        "compared.",
    ),
    "CP872": Code(
        "other value in force",
        "{key} is {found} on the running node; it should be {wanted}",
        "run `sysctl --system`, `systemctl daemon-reexec` or `systemd-tmpfiles --create`, or reboot; if it remains, look for another file or program that sets it",
        "The compiled files take effect when the node boots, or with these commands. Programs that manage the node, "
        "such as a TuneD profile, may set the value again.",
    ),
    "CP873": Code(
        "interrupts on isolated CPUs",
        "interrupts stand on isolated CPUs: {interrupts}",
        "run `systemctl start cpuplan-interrupts`, and look at its log",
        "Drivers place interrupts by hints of their own, whatever irqaffinity= says. A unit moves them at boot and when "
        "devices appear. What the kernel places itself (managed interrupts) cannot be moved; the unit leaves their "
        "numbers in /run/cpuplan-unmovable-interrupts, and they are no finding.",
        "warning",
    ),
    "CP874": Code(
        "other TuneD profile",
        "the active profile of TuneD is {active}; it should be {wanted}",
        "install TuneD and start it; `tuned-adm auto_profile` takes the recommended profile in place of a chosen one",
        "Only TuneD sets frequencies, queues of network devices and priorities of kernel threads.",
    ),
    "CP875": Code(
        "irqbalance with other CPUs",
        "irqbalance was started with {found}; it should be {wanted}",
        "run `systemctl daemon-reload` and restart irqbalance; if it remains, look for a drop-in of its unit that sorts after 99-cpuplan.conf",
        "A value of IRQBALANCE_BANNED_CPUS that is not empty, zeros included, overrides IRQBALANCE_BANNED_CPULIST, and "
        "irqbalance then uses isolated CPUs too. CRI-O writes that mask to the vendor's file; the compiled drop-in "
        "unsets it.",
    ),
    "CP876": Code(
        "kubelet without its drop-ins",
        "the kubelet does not read {folder}",
        "run `systemctl daemon-reload` and restart the kubelet; a unit without $KUBELET_CONFIG_ARGS needs --config-dir={folder} itself",
        "The folder is read only with --config-dir, which the compiled drop-in of the unit gives as kubeadm's unit "
        "expects it. Without it, the kubelet runs with no reserved CPUs and no CPU manager.",
    ),
    "CP885": Code(
        "node without NodeResourceTopology",
        "the files have no {kind} of node {node}",
        "give all of them: kubectl get noderesourcetopologies -o yaml; if the node has none, look at the log of its exporter, "
        "or leave nodeResourceTopology out of the Cluster document",
        "A scheduler with NodeResourceTopologyMatch passes nodes without an object, whatever fits there.",
    ),
    "CP886": Code(
        "exporter publishes something else",
        "{key} of NodeResourceTopology {node} is {found}; with the compiled settings it is {wanted}",
        "restart the exporter if the kubelet was changed after it; if the value stays, compare the node itself "
        "(`cpuplan check {node}` there), and import the machine again if it was changed",
        "nfd-topology-updater asks once how much can be allocated, and resource-topology-exporter once unless it watches its "
        "Node: after a change of reserved CPUs or huge pages, both tell of the old amounts until they are restarted. What "
        "is available, which pods change, and the size of memory are not compared.",
    ),
}
