"""The node differs from its plan: the CP8xx."""

from cpuplan.diagnostics.codes.code import Code
from cpuplan.facts.settings.host import CONFIG_DIR
from cpuplan.facts.settings.kernel import NOHZ_FULL

CODES = {
    "CP800": Code(
        "files of another plan",
        "the node has the files of {found}; compiled is {wanted}",
        "deliver the compiled files to the node, or check it against the state that it was compiled with (--state)",
        "The file /etc/cpuplan/plan.json says whose files a node has. Where it is another plan's, what differs on the "
        "node is no drift: the files have not arrived, or those of another class have.",
    ),
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
        "CPUs {found} are online; {wanted} should be{said}",
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
        f"A kernel without CONFIG_NO_HZ_FULL silently accepts {NOHZ_FULL.key}= and has no such file, so the effect of the "
        "argument cannot be verified.",
    ),
    "CP807": Code(
        "unreadable root",
        "{path} is not read: {problem}",
        "give the root of a node as a folder or tar archive (plain, gzip, xz or bzip2); collect it again if it was cut off",
        "An archive is read to its end before anything is compared: a part of one could lack exactly the file that differs. "
        "Archives are not unpacked: links are followed inside, and names that are absolute or lead out are left out.",
    ),
    "CP808": Code(
        "root too large",
        "{path} is not read: {problem}",
        "unpack it and give the folder with --root, if you trust it; otherwise collect it again with `cpuplan snapshot`",
        "What others collected may be made to fill memory or run for hours. An archive may have 300,000 members, 8 GiB "
        "unpacked, and 20,000 joined streams; a compressed one 512 MiB, or 100 bytes for each packed one; one of a node in "
        "a must-gather 384 MiB. Files of more than 1 MiB are not kept.",
    ),
    "CP809": Code(
        "choice of nodes",
        "{path} may be of several nodes: {nodes}",
        "name one: cpuplan check NODE --root {path}",
        "A must-gather has files of many nodes. A host is known by etc/hostname; where that is a short name, every node "
        "that begins with it may be meant.",
    ),
    "CP810": Code(
        "no command line",
        "{path} cannot be read",
        "give the root of a Linux system, or a copy that contains proc/cmdline, with --root",
        "Boot arguments are read from /proc/cmdline, as the kernel received them.",
    ),
    "CP811": Code(
        "boot argument missing",
        "the node was booted without {arguments}{next}",
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
        "{key} is on the command line {count} times: {values}",
        "remove the argument from the other tool that sets it, and keep the compiled one",
        "The kernel uses the last of most repeated arguments, but ignores the second isolcpus= (kernel 6.12, "
        "housekeeping.c). The same value twice does no harm by itself and is a warning: two programs give the node "
        "its arguments, and the next change reaches one of them.",
    ),
    "CP814": Code(
        "boot argument without its effect",
        "{file} is {found}; with {argument} it should be {wanted}{said}",
        "look for the argument in the kernel log (dmesg): one CPU that does not exist makes the kernel ignore a whole "
        "list; then for a program that changed the value after the boot",
        "The argument is on the command line, but the kernel did not do what it says. /sys/devices/system/cpu/isolated and "
        f"{NOHZ_FULL.key} show what it accepted from isolcpus= and {NOHZ_FULL.key}=, and other files of /proc and /sys what it made of "
        "other arguments. A kernel that was built without an option ignores its arguments in silence.",
    ),
    "CP815": Code(
        "boot argument that undoes the plan",
        "the node was booted with {argument}: {effect}",
        "take the argument out where it is set (the boot loader, another MachineConfig, kernel arguments of an image), "
        "or state it in kernel.extraArguments of the intent",
        "The argument is not among the compiled ones and works against them, whatever these say. Arguments that take "
        "nothing from the plan are not reported.",
    ),
    "CP816": Code(
        "arguments lost at the next boot",
        "{path} gives the next boot {found}; it should have {wanted}",
        "lay the compiled files over the root file system again and run what makes the boot menu (update-grub, "
        "grub2-mkconfig, grubby); on OpenShift, look at the MachineConfigPool",
        "The running kernel has these arguments, and the files of its boot loader do not have all of them: a new kernel, "
        "another tool or an edit by hand changed the menu. The entry that boots by default is compared, and where GRUB's "
        "menu is made from /etc/default/grub also that.",
    ),
    "CP817": Code(
        "other number of huge pages",
        "{owner} has {pages} of {size}; it should have {wanted}{said}",
        "look at the unit that sets the pages aside, or at the kernel log (dmesg); memory that is in use or fragmented "
        "gives no pages, so that the node may have to be rebooted",
        "The kubelet promises what it finds when it starts, and places pods by the pages of each NUMA node. Pages that the "
        "intent asks for without a node may be on any: of these the sum is compared. Pages of a size that nobody asked "
        "for take memory from pods.",
    ),
    "CP818": Code(
        "machine differs from its inventory",
        "the machine is not as hardware {hardware} says: {differences}",
        "if the machine or a setting of its firmware was changed, import it again with `cpuplan import sysroot`; "
        "otherwise mend the machine",
        "Layouts follow cores, caches, NUMA nodes, memory and the places of devices. Firmware settings (SNC, NPS, SMT), "
        "a failed module of memory or a card in another slot change them. The kernel has less memory than is built in: a "
        "node is reported if it differs by more than 1/32 and 256 MiB, with crashkernel= 768 MiB.",
    ),
    "CP819": Code(
        "huge pages used outside of pods",
        "{used} of {number} huge pages of {size} are in use, and pods use {pods} of them",
        "find the program (grep -l hugepages /proc/*/numa_maps) and stop it, or ask for its pages in the intent as well",
        "The kubelet gives pods all pages of the node. A pod that gets pages which another program holds is ended when it "
        "touches them (SIGBUS).",
        "warning",
    ),
    "CP820": Code(
        "no kubelet configuration",
        "the kubelet has no configuration: {problem}",
        "give the node's root with --root, or correct the kubelet's command line",
        "The command line of the kubelet, or of its unit, says which file and folder it reads. Without both, the places are "
        "tried where installers put it: /var/lib/kubelet/config.yaml (kubeadm), /etc/kubernetes/kubelet.conf (OpenShift; a "
        "kubeconfig elsewhere), and those of Talos, Kubespray, Bottlerocket, EKS, AKS and GKE.",
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
    "CP865": Code(
        "sysctl that a later file changes",
        "{path} sets {key} to {found}; it should be {wanted}",
        "take the line out of this file, or state the value in the intent; the compiled file keeps its name",
        "Files of sysctl.d count in the order of their names, whatever folder they are in, and of a key the last value "
        "counts. What is in force now may still be right: the file changes it at the next boot.",
    ),
    "CP866": Code(
        "interrupts that came to isolated CPUs",
        "isolated CPUs got interrupts while they were watched: {found}",
        "see whether a program writes /proc/irq/*/smp_affinity, such as irqbalance with other CPUs, and run the check again",
        "The rows of /proc/interrupts that have a number were read twice. Rows with a name (LOC, RES, CAL, TLB) are timers "
        "and calls of the CPU itself, and count as no interrupts of devices. Managed interrupts are left out: a queue for "
        "one CPU serves what runs there.",
        "warning",
    ),
    "CP867": Code(
        "unit not in force",
        "{unit} does not do what was compiled: {problem}",
        "see `systemctl cat {unit}` and `systemctl status {unit}`, take the cause back, run `systemctl daemon-reload` and start it",
        "A compiled unit is masked, hidden by a file of the same name, changed by a drop-in of others, started by nothing, "
        "or it failed. A node that needs it is prepared only in part.",
    ),
    "CP868": Code(
        "managed interrupts on isolated CPUs",
        "the kernel has placed managed interrupts on isolated CPUs: {found}",
        "see whether isolcpus=managed_irq is on the command line, once, and reboot",
        "Managed interrupts cannot be moved. With isolcpus=managed_irq, the kernel gives a queue that serves several CPUs to "
        "one that is not isolated. A queue for isolated CPUs alone is no finding.",
        "warning",
    ),
    "CP869": Code(
        "unit with CPUs of others",
        "{line} of {unit}: {problem}",
        "take the line out of this file, or state in the intent what should be different, then restart the unit",
        "What a service has by CPUAffinity= or NUMAPolicy= all its processes inherit; with the kubelet's and the runtime's, "
        "pods do (containerd/containerd#11345). AllowedCPUs= confines a service: to isolated CPUs, if it names no others. A "
        "service on the CPUs of isolcpus alone is no finding: programs that place their own threads are what these are for.",
        "warning",
    ),
    "CP870": Code(
        "file missing",
        "the node lacks {paths}",
        "lay the compiled files over the root file system; docs/kubernetes.md says what must be run once",
        "These files belong to the operating system: units and scripts, sysctls, profiles, rules of udev.",
    ),
    "CP871": Code(
        "file differs",
        "{path} is not as it was compiled: {problem}",
        "lay the compiled files over the root file system again, and state in the intent what should be different",
        "The finding is at the first line that differs. Files of other names can add to a compiled one; they are not "
        "compared.",
    ),
    "CP873": Code(
        "interrupts on isolated CPUs",
        "interrupts may come to isolated CPUs: {interrupts}",
        "{how}; if they come back, see which driver or program places them",
        "Drivers place interrupts by hints of their own, whatever irqaffinity= says. A unit, or TuneD on OpenShift, moves "
        "them. An interrupt that may go to an isolated CPU, or whose effective CPU is one, is a finding. What the kernel places itself (managed interrupts) cannot be moved; the unit leaves their "
        "numbers in /run/cpuplan-unmovable-interrupts, and they are no finding.",
        "warning",
    ),
    "CP874": Code(
        "other TuneD profile",
        "the active profile of TuneD is {active}; it should be {wanted}",
        "{hint}",
        "Only TuneD sets frequencies, queues of network devices and priorities of kernel threads. On OpenShift the node "
        "tuning operator writes the name of the profile to /var/lib/ocp-tuned/recommend.d/50-openshift.conf of the node, "
        "and boot arguments come from TuneD too.",
    ),
    "CP8380": Code(
        "TuneD profile on top of the planned one",
        "the active profile of TuneD is {active}, which includes {wanted}; the project does not know it",
        "write its Tuned object into tuneds of the Cluster document (`cpuplan import must-gather` does), so that what it "
        "changes is expected; or take the object out of the cluster",
        "What such a profile sets has the last word on the node. In tuneds of the Cluster document it is compared with "
        "the plan, and `check` compares nodes with both together.",
        "warning",
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
        "{remedy}",
        f"The folder is read only with {CONFIG_DIR.key}, which the compiled drop-in of the unit gives as the platform's "
        "unit expects it; on k0s and MicroK8s, somebody must give it. Without it, the kubelet runs with no reserved CPUs and no CPU manager.",
    ),
    "CP877": Code(
        "unreadable expected state",
        "{path} cannot be used: {problem}",
        "run `cpuplan compile` with this release of cpuplan, and commit what it writes",
        "`compile` writes for each class what its nodes must show, with the digest of the plan. `check` reads this file "
        "and the node, and nothing else; it does not guess what a file of another form means.",
    ),
    "CP8175": Code(
        "expected state with which nothing can be compared",
        "{node} cannot be compared with the expected state of {name}: {problem}",
        "run `cpuplan compile` with this release of cpuplan, and take the state from there; if it stays, report it",
        "The digest of an expected state says that it is whole, not who wrote it. Here a value is one that no compilation "
        "gives, such as text for a list; the place in cpuplan that could not use it is named. Nothing is said of the node.",
    ),
    "CP878": Code(
        "nothing compiled",
        "{path} holds no expected state of a class",
        "run `cpuplan compile` in the project; on a node, name a file of out/clusters/CLUSTER/expected/state with --state",
        "A node is compared with what was compiled, not with what the intents would give now.",
    ),
    "CP889": Code(
        "no planned node of this name",
        "{path} is of no planned node: {called}",
        "name the node: cpuplan check NODE --root {path}; or set the name of the node in its inventory",
        "Without NODE, the host name decides: that of a snapshot, etc/hostname, or proc/sys/kernel/hostname. It is equal to the "
        "name of the node, or to its first label.",
    ),
    "CP879": Code(
        "documents newer than what was compiled",
        "{found} changed after class {wanted} was compiled",
        "run `cpuplan compile`, and check the node against what it writes",
        "A node is compared with what was compiled. The file of the class has the digest of its documents, so that "
        "intents that were changed since are noticed where they are at hand; comments do not count.",
        "warning",
    ),
    "CP885": Code(
        "node without NodeResourceTopology",
        "node {node} has no {kind}",
        "look at the log of its exporter, or leave nodeResourceTopology out of the Cluster document; of files, give all of "
        "them: kubectl get noderesourcetopologies -o yaml",
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
    "CP898": Code(
        "TuneD that does not tune",
        "TuneD on the node: {problem}",
        "look at /var/log/tuned/tuned.log, install what it misses, and restart TuneD",
        "Only TuneD sets frequencies, queues of network devices and priorities of kernel threads. A plugin that cannot be "
        "loaded loses all its options, and TuneD goes on without it.",
    ),
    "CP899": Code(
        "compiled MachineConfig not delivered",
        "{name}, which the node has, lacks what was compiled: {parts}",
        "sync the compiled objects; then see whether the pool is paused or degraded, and which MachineConfig overrides them",
        "The machine config daemon keeps the rendered MachineConfig of its node. What that does not have was never "
        "delivered; a file that differs from it was changed on the node, and is CP871.",
    ),
    "CP887": Code(
        "compiled object missing",
        "{kind} {name} is not there: {problem}",
        "apply what is compiled (out/clusters/CLUSTER/manifests), or let Argo CD sync it; of a Node, see why it left the "
        "cluster, or take it out of the inventory",
        "Pods that name a RuntimeClass are refused without it; without its policies, a cluster takes pods that silently "
        "get no shared CPUs.",
    ),
    "CP888": Code(
        "compiled object differs",
        "{field} of {kind} {name} is {found}; compiled is {wanted}{more}",
        "apply what is compiled; if it comes back, look for who else writes the field (kubectl get -o yaml "
        "--show-managed-fields), or state the value in the intent",
        "Compared are the fields that were compiled, and labels and annotations of these names. Defaults of the API "
        "server, status and other metadata are not.",
    ),
    "CP890": Code(
        "Node with other amounts",
        "{amount} of Node {node} is {found}; with the compiled settings it is {wanted}",
        "restart the kubelet, which counts at its start; if the value stays, check the node itself (`cpuplan check {node}` "
        "there): CPUs online, huge pages, and the kubelet's configuration",
        "The scheduler fills a node by these amounts. CPUs that can be allocated are those online without the reserved "
        "ones. Memory that is kept back is what is reserved, the threshold of eviction, and all huge pages.",
    ),
    "CP891": Code(
        "rendered MachineConfig differs",
        "{part} of {name} is {found}; it should be {wanted}",
        "look for the object that has it otherwise (kubectl get machineconfigs): the last one by name wins; state it in "
        "the Cluster document, so that `compile` counts with it",
        "The rendered MachineConfig is all that reaches the nodes of a pool. Compared are boot arguments, kernel, files, "
        "units and the kubelet's configuration as far as they come from compiled objects; what others add is not.",
    ),
    "CP892": Code(
        "configuration has not arrived",
        "{what}: {problem}",
        "wait until the nodes are updated (`cpuplan check cluster --wait 60m`); if it stays, look at the conditions of the "
        "MachineConfigPool, and at the log of the machine-config-daemon of a node that is degraded",
        "The machine config operator drains and reboots one node after the other. A paused pool waits until someone "
        "unpauses it; a degraded one waits until its cause is gone.",
    ),
    "CP897": Code(
        "cluster cannot be read",
        "{server} cannot be read: {problem}",
        "{remedy}",
        "`check cluster` reads with the user of a kubeconfig, which needs the verbs get and list only. This code is about a "
        "cluster that cannot be asked at all: no connection, no credentials, no whole answer in time, or an answer that "
        "no API server gives, such as the page of a login. What it refuses of some objects is CP8130 and CP8131.",
    ),
    "CP8130": Code(
        "right to read is missing",
        "{what} are not verified: the user may not {verb} {resource} ({problem})",
        "give the user of the kubeconfig, or the service account, the rule {{apiGroups: ['{group}'], resources: ['{plural}'], "
        "verbs: ['get', 'list']}} in a ClusterRole that is bound to it, such as `kubectl create clusterrole cpuplan-{plural} "
        "--verb=get,list --resource={resource}` and `kubectl create clusterrolebinding cpuplan-{plural} "
        "--clusterrole=cpuplan-{plural} --user=NAME` (or --serviceaccount=NAMESPACE:NAME)",
        "What cannot be looked at may differ. A check that lacks a right fails with exit code 7, unless something differs; "
        "the rights that a cluster needs are those of the ClusterRole cpuplan-arrival, which `compile` writes for the Job "
        "of `verify.waitFor`.",
    ),
    "CP8131": Code(
        "API server does not tell",
        "{what} are not verified: {path} cannot be read: {problem}",
        "look at the answer (`kubectl get --raw {path}`) and at the log of the API server, then check again; an answer that "
        "no API server gives comes from something in between, such as a proxy",
        "What cannot be looked at may differ. An API server that is busy or fails (429, 5xx) is asked again for some "
        "seconds; its answers are bounded in bytes, values, depth and pages, and must have the types of the API.",
    ),
    "CP8132": Code(
        "too little was verified",
        "{what}: {verified} of {facts} facts were looked at, and it must be {wanted}; not looked at, with the number of "
        "facts: {reasons}",
        "give the check what it lacks: another --root, or the rights to read; --coverage lists every fact. What is enough "
        "can be stated with --min-verified",
        "A node of which nothing was looked at never holds. --min-verified asks for more than one fact of each node: for "
        "a number of them (12), or for a share (80%) of those that the node could show. The exit code is 7, unless "
        "something differs.",
    ),
    "CP8133": Code(
        "object is none of an API server",
        "{object} is no {kind} that an API server gives: {problem}",
        "take the objects anew (`kubectl get {kind} -o yaml`); what was edited by hand is no evidence",
        "Objects of a cluster are compared by their fields, which have the types of the API there. One that has others is "
        "not compared.",
    ),
}
