"""A running node: its kubelet and runtimes, threads, control groups, and values in force."""

from cpuplan.diagnostics.codes.code import Code
from cpuplan.facts.settings.crio import INFRA_CTR_CPUSET, IRQBALANCE_CONFIG_FILE, SHARED_CPUSET
from cpuplan.facts.settings.host import CONFIG_DIR
from cpuplan.facts.settings.kernel import NOHZ_FULL

_BACK = "if it comes back, find the file or program that sets it"
_STATE = "take the cause back, and reboot the node; or state in the intent what the node has"

CODES = {
    # The kubelet and container runtimes of a node as they run, and files of runtimes. CP824
    # to CP835, CP843 to CP855: of a node, or given to `validate`.
    "CP824": Code(
        "setting that a flag overrides",
        "{key} of {program} is {found} by {flag}; it should be {wanted}",
        "{hint}",
        "Flags win over all files. The command line is that of the running process, or else of its unit with all drop-ins "
        "and environment files: kubeadm's /var/lib/kubelet/kubeadm-flags.env, /etc/default/kubelet, /etc/sysconfig/crio. "
        "A flag for a map replaces all of it, except feature gates.",
    ),
    "CP825": Code(
        "state file that the kubelet refuses",
        "{when} the kubelet does not start with {file}: {problem}",
        "drain the node, stop the kubelet, delete {file}, and start the kubelet",
        "The kubelet keeps in state files which container has which CPUs and memory, and compares them with its "
        "configuration and the machine when it starts. A kubelet that runs does not notice. The start was simulated with the "
        "file, on the node's CPUs and memory; the text is the kubelet's own (pkg/kubelet/cm/cpumanager, memorymanager).",
    ),
    "CP826": Code(
        "state file that contradicts the plan",
        "{file} does not fit: {problem}",
        "restart the kubelet of the drained node; where two containers have the same CPUs, delete the file before",
        "The file is what the running kubelet has written. OpenShift's unit removes it before each start, so that it keeps no "
        "kubelet down, but it shows with which settings the kubelet runs. Two containers with the same CPU are found by no "
        "kubelet.",
    ),
    "CP827": Code(
        "program that is older than its files",
        "{program} started before its files were written: {files}",
        "restart {program}",
        "The files are read when the program starts. Whether the change matters is not known: what the running program has "
        "read is nowhere to be seen.",
    ),
    "CP828": Code(
        "program that does not run",
        "{program} does not run: {found}",
        "run `systemctl status {unit}` and `journalctl -u {unit}`, and mend what they say",
        "What is compiled for the program has no effect while it is down. Another finding may say why.",
    ),
    "CP829": Code(
        "kubelet that does not start on this machine",
        "the kubelet does not start on this machine: {problem}",
        "{hint}",
        "The configuration in force was started in a simulator of the kubelet, on the node's CPUs, memory and huge pages. The "
        "text is the one that would be in the kubelet's log. A kubelet that runs fails at its next start.",
    ),
    "CP834": Code(
        "program of a runtime handler missing",
        "{program} has the handler {handler} with {key} {path}, {problem}",
        "install it, or correct the path and restart {program}",
        "CRI-O leaves out a handler whose program it does not find, and containers of other handlers fail when they start. "
        "The path is looked for on the node as the runtime does.",
    ),
    "CP835": Code(
        "runtime that reads other files",
        "CRI-O does not read {path}: {problem}",
        "take the flag out of CRI-O's command line (/etc/sysconfig/crio, drop-ins of crio.service), and restart it",
        f"`--config` and `{CONFIG_DIR.key}`, or the variables CONTAINER_CONFIG and CONTAINER_CONFIG_DIR, name other files than "
        "/etc/crio/crio.conf and /etc/crio/crio.conf.d, for which the settings are compiled.",
    ),
    "CP830": Code(
        "no CRI-O configuration",
        "{path} contains no file",
        "sync the compiled files, and check that CRI-O is the runtime of the node",
        "CRI-O reads /etc/crio/crio.conf and everything below /etc/crio/crio.conf.d.",
    ),
    "CP831": Code(
        "unreadable CRI-O file",
        "{path} is not valid TOML: {problem}",
        "correct it, or move what is not configuration out of the folder: CRI-O does not start with it",
        "CRI-O reads every file of the folder, whatever its extension, including backups and hidden files.",
    ),
    "CP832": Code(
        "CRI-O setting missing",
        "CRI-O's files do not set {settings}",
        "sync the compiled files and restart CRI-O",
        "CRI-O silently ignores keys that it does not know, so a misspelt one counts as missing.",
    ),
    "CP833": Code(
        "CRI-O setting differs",
        "{key} of CRI-O is {found}; it should be {wanted}",
        "remove the key from this file, or state it in the intent; the compiled file keeps its name",
        "The last of several files by name applies. The table of a handler or workload is replaced as a whole. `check` and "
        "the next compilation find the compiled file by its name.",
    ),
    "CP8360": Code(
        "workload of CRI-O on exclusive CPUs",
        "the workload {name} of CRI-O runs pods on CPUs {found}, which the kubelet gives to containers exclusively",
        "give its cpuset CPUs that no container gets exclusively, such as the reserved ones, and restart CRI-O",
        "A pod with the annotation of a table in [crio.runtime.workloads] gets the CPUs of the table, whatever the kubelet "
        "asks for. The kubelet does not know of that: it gives the same CPUs to containers with exclusive ones.",
    ),
    "CP8361": Code(
        "CRI-O with a known defect",
        "node {node} runs CRI-O {found}: {problem} ({annotation}; {source})",
        "update the node to CRI-O {wanted} or later, or do not use the annotation there",
        "Early releases of a branch of CRI-O break what the plan's handler offers to pods; the Node says which release runs. "
        "The table is read from the branches and tags of cri-o/cri-o. This is a warning: pods without the annotation are "
        "not affected.",
        "warning",
    ),
    "CP843": Code(
        "containerd drop-in that is not read",
        "containerd does not read the compiled drop-in: {problem}",
        'write imports = ["/etc/containerd/conf.d/*.toml"] there, before its first table, and restart containerd',
        "No release of containerd reads a folder by itself, and without config.toml it reads no file at all.",
    ),
    "CP844": Code(
        "containerd configuration that is refused",
        "containerd does not start with {path}: {problem}",
        "correct it and restart containerd",
        "A file that an import names without a wildcard must exist; `containerd config dump` says nothing of it. The last "
        "`version` of all files counts, and from 2.0 on no release reads a newer one than its own: 3, and 4 from 2.3 on.",
    ),
    "CP845": Code(
        "containerd setting missing",
        "containerd's files do not set {settings}",
        "sync the compiled files and restart containerd",
        "containerd logs keys that it does not know and passes over them. Plugins' tables by the names of an older "
        "`version` do not count beside a file with a newer one.",
    ),
    "CP846": Code(
        "containerd setting differs",
        "{key} of containerd is {found}; it should be {wanted}",
        "remove the key from this file, or state it in the intent; the compiled file keeps its name",
        "Of several imported files the last one applies. Before 2.0 it replaces the tables of plugins as a whole.",
    ),
    "CP847": Code(
        "CRI-O configuration that is refused",
        "CRI-O does not start: {problem}",
        "correct it and restart CRI-O",
        "CRI-O checks the types of all keys that it knows in each file, and then the merged configuration: "
        f"`{INFRA_CTR_CPUSET.key}`, the default handler, annotations and resources of workloads.",
    ),
    "CP848": Code(
        "runtime handler that CRI-O leaves out",
        "CRI-O leaves out the handler {handler}: {problem}",
        "correct its table and restart CRI-O",
        "CRI-O starts with a warning, and pods of the handler fail. One allowed annotation that it does not know is "
        "enough, and so is a table in a later file without the path.",
    ),
    "CP849": Code(
        "key that CRI-O passes over",
        "CRI-O {version} has no key {key}",
        "correct its name or its table; keys of other releases may go",
        "CRI-O says nothing about keys that it does not know, so that a misspelt one has no effect, and one that "
        "a later release brought. `validate` takes the release from --target kubernetes/1.33, else from the targets of the "
        "project, else the newest one.",
        "warning",
    ),
    "CP851": Code(
        "CRI plugin of containerd that does not start",
        "containerd runs without its CRI plugin: {problem}",
        "{remedy}, and restart containerd",
        "containerd itself starts and logs that the plugin does not; the kubelet then finds no runtime (unknown service "
        "runtime.v1.RuntimeService). Packages of Docker bring a config.toml that disables the plugin.",
    ),
    "CP853": Code(
        "part of containerd that is off",
        "{problem}",
        "{remedy}; nothing has to be done where nobody uses it",
        "NRI and CDI are on by default since containerd 2.0, and off before.",
        "note",
    ),
    "CP854": Code(
        "key that containerd passes over",
        "containerd {version} has no key {key}",
        "correct its name or its table; keys of other releases may go",
        "containerd logs a warning when it starts (since 2.0), and uses the default. Only the top of a file and the tables of "
        "the CRI and NRI plugins are known. `validate` takes the release from --target containerd/2.1, else from the targets "
        "of the project, else the newest one that is known.",
        "warning",
    ),
    "CP855": Code(
        "import from another folder",
        "containerd reads {path} too, which is not in {folder}",
        "run `validate` on the node, or move the file below /etc/containerd",
        "Only the given folder is read. On nodes it is taken for /etc/containerd, or for the folder that it is itself.",
        "warning",
    ),
    # Traps in files of runtimes: what CRI-O and containerd take without an error.
    "CP8320": Code(
        "backup that CRI-O reads",
        "{problem}",
        "move it out of the folder, or give it a name with .conf",
        "CRI-O reads all files of crio.conf.d, whatever their names end in: those that editors and packages keep "
        "beside a changed file, and hidden ones too. Their values count.",
        "warning",
        was="CP850",
    ),
    "CP8321": Code(
        "table of CRI-O that loses keys",
        "{problem}",
        "repeat all keys of the table in one file",
        "The table of a handler or workload in a later file replaces that of an earlier one whole, while keys of "
        "other tables win one by one.",
        "warning",
        was="CP850",
    ),
    "CP8322": Code(
        f"`{SHARED_CPUSET.key}` that is no list of CPUs",
        "{problem}",
        "write it like 0-3,8",
        f"CRI-O reads `{SHARED_CPUSET.key}` only when a container asks for shared CPUs: it starts with any text.",
        "warning",
        was="CP850",
    ),
    "CP8323": Code(
        f"`{SHARED_CPUSET.key}` and `{INFRA_CTR_CPUSET.key}` with the same CPUs",
        "{problem}",
        "take them out of one: CRI-O compares them with nothing",
        "Pause containers and the programs that start containers then run on CPUs that latency-sensitive "
        "containers share.",
        "warning",
        was="CP850",
    ),
    "CP8324": Code(
        "workload of CRI-O without resources",
        "{problem}",
        "add its table resources, which may be empty",
        "A pod of such a workload may bring resources in an annotation: then CRI-O crashes.",
        "warning",
        was="CP850",
    ),
    "CP8325": Code(
        "workload of CRI-O without a prefix",
        "{problem}",
        "give it a prefix",
        "Resources of one container are in the annotation `<annotation_prefix>/<container>`.",
        "warning",
        was="CP850",
    ),
    "CP8326": Code(
        "workloads of CRI-O with one annotation",
        "{problem}",
        "give each its own",
        "The first workload whose annotation a pod has is its own, and CRI-O keeps workloads in a map without an order.",
        "warning",
        was="CP850",
    ),
    "CP8327": Code(
        "handler that runs the CPU hooks by its name",
        "{problem}",
        "name it otherwise, or allow the hooks that it is for",
        "CRI-O chooses the hooks of a handler by whether its name contains high-performance, beside the "
        "annotations that it allows.",
        "warning",
        was="CP850",
    ),
    "CP8328": Code(
        "irqbalance file that the system does not read",
        "CRI-O bans interrupts in {written}, and irqbalance reads {read}",
        f'write {IRQBALANCE_CONFIG_FILE.key} = "{{read}}" in [crio.runtime]',
        "CRI-O writes the file for pods that ask for CPUs without interrupts, which a handler or workload has to allow. "
        "irqbalance of Debian has its settings in another one.",
        "warning",
        was="CP850",
    ),
    "CP8329": Code(
        "table of containerd that loses keys",
        "{problem}",
        "repeat all keys of the table in this file",
        "Before 2.0, the table of a plugin in an imported file replaces that of an earlier file whole.",
        "warning",
        was="CP852",
    ),
    "CP8330": Code(
        "key that the table before it takes",
        "{problem}",
        "{remedy}",
        "In TOML a key belongs to the last table above it, until the next one: `imports`, `disabled_plugins` and "
        "`version` have to stand before all tables.",
        "warning",
        was="CP852",
    ),
    "CP8331": Code(
        "relative import of containerd",
        "{problem}",
        "write the whole path, from / on",
        "Before 2.0, a pattern with `*` is resolved in the working directory of containerd.",
        "warning",
        was="CP852",
    ),
    "CP8332": Code(
        "file that containerd does not import",
        "{problem}",
        "let `imports` of config.toml name it, before the first table there",
        "The files beside those that a pattern imports, and those of the folder conf.d.",
        "warning",
        was="CP852",
    ),
    "CP8333": Code(
        "imported file with a higher version",
        "{problem}",
        "leave out version, or migrate the main file",
        "containerd 2.3.0 to 2.3.4 refuse an imported file whose version is higher than that of config.toml.",
        "warning",
        was="CP852",
    ),
    "CP8334": Code(
        "table of another version of containerd's files",
        "{problem}",
        "{remedy}",
        "Version 3, which came with 2.0, has other names for the tables of the CRI plugin. Those of an older "
        "version are migrated only if the version of their file says so, from 2.3 on, or that of all files "
        "together.",
        "warning",
        was="CP852",
    ),
    "CP8335": Code(
        "handler of containerd without a shim",
        "{problem}",
        'write runtime_type = "io.containerd.runc.v2" in its table',
        "containerd looks for the shim of a handler by its type when a pod needs it, and 2.0 took the older shims away.",
        "warning",
        was="CP852",
    ),
    "CP8336": Code(
        "other driver of control groups than the kubelet's",
        "{problem}",
        "{remedy}",
        "The kubelet makes paths of control groups for its `cgroupDriver`, and runc takes them for those of its "
        "own. The KubeletConfiguration on the command line counts, else systemd, as kubeadm sets it.",
        "warning",
        was="CP852",
    ),
    "CP8337": Code(
        "value of another type in containerd's files",
        "{problem}",
        "give it a value of that type",
        "Options of handlers and the table of NRI are decoded when they are used: containerd itself starts.",
        "warning",
        was="CP852",
    ),
    "CP8338": Code(
        "plugins that containerd requires without exception",
        "{problem}",
        "give tolerate_missing_plugins_annotation the name of an annotation, and the plugin's pods that annotation",
        "The default validator of NRI refuses all containers while a required plugin is away, those of the plugin "
        "itself too.",
        "warning",
        was="CP852",
    ),
    # Threads, control groups and containers of a node.
    "CP836": Code(
        "programs on isolated CPUs",
        "{threads} outside of pods may run on {found}: {programs}",
        "look for CPUAffinity= in the unit, and for taskset or cgroups of others; then restart the unit. If it is "
        "systemd itself, reboot: all programs inherit its CPUs",
        "Every thread counts that no kubelet started and whose Cpus_allowed_list has CPUs which the plan keeps "
        "programs off: with CPUAffinity= of systemd, with isolcpus=domain, or with a partition. What is pinned to the "
        "pool isolcpus alone is left out.",
    ),
    "CP837": Code(
        "kernel threads on isolated CPUs",
        "{threads} may run on {found}; the kernel keeps them on {wanted}",
        "move them back with taskset, and look for the program that moved them; a reboot does it too",
        f"{NOHZ_FULL.key}= keeps the kernel's own threads off its CPUs, but for those that belong to one CPU, to a NUMA node "
        "(kswapd, kcompactd), to a workqueue or to an interrupt.",
    ),
    "CP838": Code(
        "RCU threads not as planned",
        "{found}; the plan has {wanted}",
        "look in the kernel log for what the kernel made of the argument, and reboot the node with the compiled arguments",
        "With rcu_nocbs= there is a thread rcuop/N or rcuos/N for each CPU whose callbacks other CPUs run. "
        "rcutree.kthread_prio= is the real-time priority of the threads rcu_preempt, rcuc/N and rcub/N.",
    ),
    "CP839": Code(
        "CPUs that a control group keeps",
        "{found}",
        "write `member` to cpuset.cpus.partition and an empty line to cpuset.cpus.exclusive of that control group, those "
        "below first. If CPUs remain isolated without a control group, reboot the node",
        "A partition takes its CPUs from all other control groups, those of pods too. The kernel accepts one that is not "
        "possible and says so only where it is read. CPUs of a partition leak if cpuset.cpus.exclusive of a control group "
        "above it is cleared first: they stay isolated until the next boot. What stays in cpuset.cpus.exclusive prevents "
        "later partitions.",
    ),
    "CP857": Code(
        "containers on other CPUs",
        "{who}: {found}; the kubelet's state file gives {wanted}",
        "restart the pod: the kubelet compares with what it last wrote, and does not repair it",
        "Each container has the exclusive CPUs of cpu_manager_state, with shared CPUs if it asked for them, and all others "
        "have the shared pool (kubernetes/kubernetes#138731, #120230).",
    ),
    "CP858": Code(
        "quota below exclusive CPUs",
        "{who}: {cpus}, and a quota of {found}; it should be {wanted}",
        "annotate the pod with cpu-quota.crio.io: disable, or run a kubelet of 1.33 or later, and restart the pod",
        "The smallest quota of the control groups above, of and in a container stops it (cri-o/cri-o#9251), also while its "
        "CPUs are idle.",
    ),
    "CP859": Code(
        "exclusive CPUs that are not aligned",
        "{who} has {cpus}, {found}; the kubelet's policies promise {wanted}",
        "restart the pod: it was admitted before the policies were as they are",
        "full-pcpus-only gives whole cores, and the topology policies single-numa-node and restricted give CPUs of as few "
        "NUMA nodes as are enough. They count when a pod is admitted.",
    ),
    "CP864": Code(
        "containers with CPUs of an earlier configuration",
        "{who}: {found}; CRI-O's configuration has {wanted}",
        "restart CRI-O if it is older than its files, then restart the pod",
        f"CRI-O reads {INFRA_CTR_CPUSET.key} and {SHARED_CPUSET.key} when it starts, and gives them to sandboxes, monitors and containers "
        "when it starts those.",
    ),
    # What of a node's files is read at all.
    "CP8160": Code(
        "root larger than a check reads",
        "reading ended at {path}: {problem}",
        "look for links or mounts that lead around, or to one large folder from many places, below the root; then check "
        "the node again",
        "However its links lead around, one root is asked for 1,000,000 files and folders, lists 2,000,000 names and gives "
        "512 MiB. A node with 100,000 threads and 20,000 control groups stays far below. Facts that were not reached are "
        "not verifiable, and the check fails.",
    ),
    # Values in force on a node, and what no file of the plan sets and the plan needs: the
    # CP82xx.
    "CP8200": Code(
        "other value of a sysctl",
        "{key} is {found} on the running node; it should be {wanted}",
        f"run `sysctl --system`, restart TuneD if it sets the value, or reboot; {_BACK}",
        "Files of sysctl.d take effect when the node boots, or with this command, and the options of a TuneD profile "
        "when TuneD starts. Whoever writes last has its value in force. CP865 is a file of sysctl.d that sets another "
        "value at the next boot.",
        was="CP872",
    ),
    "CP8201": Code(
        "other value in a file of the kernel",
        "{key} is {found} on the running node; it should be {wanted}",
        f"restart TuneD, or reboot; {_BACK}",
        "Options of a TuneD profile that one file of /sys shows, such as transparent huge pages. Any program of root can "
        "write these files, and TuneD does not look at them again.",
        was="CP872",
    ),
    "CP8202": Code(
        "value that the kernel does not have",
        "{key} is {found} on the running node; it should be {wanted}",
        "use a kernel with this setting, or leave the setting out of the intent",
        "The file of the setting is missing while others of its folder are there: the kernel is older than the setting, "
        "or was built without it. Nothing else reports that the setting has no effect.",
        was="CP872",
    ),
    "CP8203": Code(
        "unbound work of the kernel on isolated CPUs",
        "{key} is {found} on the running node; it should be {wanted}",
        f"run `systemd-tmpfiles --create`, or reboot; {_BACK}",
        f"The mask of all unbound workqueues. At boot it leaves out the CPUs of {NOHZ_FULL.key}= and isolcpus=, or it is "
        "written by a file of tmpfiles.d; a mask that is narrower than planned is no finding.",
        was="CP872",
    ),
    "CP8204": Code(
        "workqueue on isolated CPUs",
        "{key} is {found} on the running node; it should be {wanted}",
        "find the program that chose these CPUs, and write the CPUs that it should be to the file",
        "A single workqueue, such as writeback, has a mask of its own in which somebody chose isolated CPUs. It works "
        "where its mask and that of all unbound work meet, so that a mask of all CPUs is no choice.",
        was="CP872",
    ),
    "CP8205": Code(
        "packets steered to isolated CPUs",
        "packet steering (rps_cpus) is {found} on the running node; it should be {wanted}",
        "write 0 to rps_cpus of these queues; if it comes back, find the program that sets it, such as a rule of udev",
        "A queue of a network device lets the CPUs of its mask handle its packets. The default mask "
        "(net.core.rps_default_mask) counts for new devices only, so that a queue may have an older mask.",
        was="CP872",
    ),
    "CP8206": Code(
        "network card with more queues",
        "{key} is {found} on the running node; it should be {wanted}",
        "restart TuneD, which sets the queues (`ethtool -L`); if they come back, look for a driver or program that sets them",
        "Each queue has an interrupt. With more queues than reserved CPUs, the interrupts of some come to isolated CPUs. A "
        "card with fewer queues has no more of them, and is no finding.",
        was="CP872",
    ),
    "CP8207": Code(
        "other kind of kernel",
        "the kernel is {found} on the running node; it should be {wanted}",
        "reboot the node if its MachineConfig has arrived; else see why it has not",
        "A MachineConfig asks for the real-time kernel, or for the one with pages of 64 KiB, and the node runs another. "
        "The machine config operator installs the kernel and reboots the node.",
        was="CP872",
    ),
    "CP8208": Code(
        "other frequencies of CPUs",
        "{key} is {found} on the running node; it should be {wanted}",
        f"restart TuneD; {_BACK}",
        "The governor, energy_perf_bias or the highest frequency of a CPU. Power managers write the same files, "
        "and a limit is lost when the driver of frequencies is loaded again.",
        was="CP872",
    ),
    "CP8209": Code(
        "other priority of kernel threads",
        "{key} is {found} on the running node; it should be {wanted}",
        f"restart TuneD; {_BACK}",
        "TuneD gives threads such as ksoftirqd and rcuc a policy and a priority, in which a busy thread of a pod does not "
        "keep them waiting. Threads of CPUs that came online later have those of the kernel.",
        was="CP872",
    ),
    "CP8210": Code(
        "service in another state",
        "{key} is {found} on the running node; it should be {wanted}",
        "start, stop, enable or disable the unit as the profile says, or restart TuneD; then look for who else does",
        "A TuneD profile starts services that the plan needs, such as stalld, and stops those that disturb isolated CPUs. "
        "A unit that should not run and is enabled starts again at the next boot.",
        was="CP872",
    ),
    "CP8220": Code(
        "other version of control groups",
        "the node has control groups {found}, and the plan is for {wanted}",
        "take systemd.unified_cgroup_hierarchy= out of the boot arguments and reboot the node, or set cgroupMode "
        "of the Cluster to what its nodes have",
        "Versions 1 and 2 have other files, and limits of a plan for one have no effect in the other. systemd chooses the "
        "version at boot.",
        was="CP894",
    ),
    "CP8221": Code(
        "missing controller of control groups",
        "the control groups have no controller {missing}",
        f"look for cgroup_disable= in the boot arguments, and for programs that mount it as version 1; {_STATE}",
        "The kubelet does not start without cpuset, cpu, memory and pids, nor can it limit huge pages without hugetlb.",
        was="CP894",
    ),
    "CP8222": Code(
        "list of CPUs that the kernel complained about",
        "the kernel said: {found}",
        f"import the machine again if it has other CPUs; {_STATE}",
        f"The kernel drops what it does not take of isolcpus=, {NOHZ_FULL.key}= and rcu_nocbs=, and what it dropped may show "
        "nowhere else.",
        was="CP894",
    ),
    "CP8223": Code(
        "workload pinning of others",
        "{path} is there, so that the kubelet keeps reserved CPUs from its static policy",
        "find who writes the file (a MachineConfig, or the installation with cpuPartitioningMode), and state it in the "
        "intent as well; or take it out there, and restart the kubelet",
        "OpenShift's kubelet switches to other rules for CPUs where this file exists, whoever wrote it.",
        was="CP894",
    ),
    "CP8224": Code(
        "other driver of control groups",
        "{key} of CRI-O is {found}, and the plan is for {wanted}",
        "correct it in this file, and restart CRI-O and the kubelet",
        "The kubelet takes the driver from CRI-O. Limits of slices, which systemd sets, have no effect on pods with the "
        "driver cgroupfs.",
        was="CP894",
    ),
    "CP8225": Code(
        "running kubelet without its state file",
        "the kubelet runs without {file}",
        "drain the node, and restart the kubelet; then find the program that took the file away",
        "The kubelet writes the file when it starts and whenever it gives out CPUs or memory. Without it, the next start "
        "forgets which of them containers have, and gives them to others.",
        was="CP894",
    ),
}
