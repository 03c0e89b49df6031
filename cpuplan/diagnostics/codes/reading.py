"""Reading files and importing machines: the CP1xx."""

from cpuplan.diagnostics.codes.code import Code

CODES = {
    # Reading files: the CP10x.
    "CP101": Code(
        "invalid YAML",
        "invalid YAML: {problem}",
        "correct the syntax at or just before this position",
        "The YAML parser (libyaml) stopped here. The rest of the file was not read.",
    ),
    "CP102": Code(
        "duplicate key",
        "key {key!r} appears twice in one mapping",
        "keep only one of them",
        "YAML readers silently keep one of two equal keys, some the first and some the last. cpuplan refuses both.",
    ),
    "CP103": Code(
        "ambiguous scalar",
        "{text} is {first} in YAML 1.1 and {second} in YAML 1.2",
        "if text is meant, quote it: {quoted}{alternative}",
        "Readers of YAML 1.1 (PyYAML, Go's yaml.v2) and 1.2 (ruamel, yaml.v3) interpret this scalar differently: `on`, "
        "`yes`, `017`, `1_000`, `12:30`, dates. cpuplan accepts true, false, null, decimal integers and text.",
    ),
    "CP104": Code(
        "not a decimal integer",
        "YAML reads {text} as the number {value}, which is neither a decimal integer nor text",
        "if text is meant, quote it: {quoted}; otherwise write a decimal integer",
        "A version such as 4.20 becomes 4.2 when it is read as a number, 0x1f becomes 31, and integers of more than 64 "
        "bits are rounded. No field of cpuplan is a fraction. Integers are written like 0, 17 or -3.",
    ),
    "CP105": Code(
        "anchor, alias or tag",
        "{what} {text!r} is not supported",
        "write out the value",
        "Aliases can expand a small file to gigabytes (CVE-2019-11253) and hide values from a reviewer. Tags change "
        "types. Inventories and intents are read by people, so every value is written where it applies.",
    ),
    "CP106": Code(
        "document too large",
        "the file exceeds the limit of {limit} {what}",
        "make it smaller, or split it into several files",
        "The limits are 64 MiB per file, 2,000,000 keys and values, 64 levels of nesting, 1,048,576 characters per "
        "scalar, and 1000 errors, after which the rest of a file is not checked.",
    ),
    "CP107": Code(
        "not a mapping with text keys",
        "{what}",
        "write `key: value` pairs; quote a key that looks like a number, true or null",
        "Each document must be a mapping, and every key must be text.",
    ),
    "CP108": Code(
        "unreadable file or folder",
        "{path} cannot be read: {problem}",
        "correct the path, its permissions or its encoding",
        "The operating system refused to open or read the file or folder, a link is broken or circular, or the name or "
        "the content of a file is not UTF-8. A file that cannot be read may contain anything, so nothing is compiled "
        "without it.",
    ),
    "CP109": Code(
        "no documents",
        "no Hardware, Nodes or Intent document in {path}",
        "run `cpuplan init` to create a first project, or `cpuplan -C DIR` to use another folder",
        "cpuplan reads every .yaml and .yml file under `inventories/` and `intents/` of the project folder.",
    ),
    "CP1565": Code(
        "file that nobody reads",
        "nothing in {path} is read: {what}",
        "{hint}",
        "A file that is given by name is meant to be checked, and nothing may be called valid that was not looked at. "
        "Files of a folder are told apart: what is of others is left alone there.",
    ),
    "CP1566": Code(
        "document that its program does not know",
        "{owner} knows {what}",
        "{hint}",
        "The program refuses such a document or ignores it, so that what it says of kubelets is not in force. kubeadm "
        "only warns of kinds that it does not know.",
    ),
    "CP1567": Code(
        "flags of kubelets in the form of another version",
        "kubeletExtraArgs of {version} must be {form}",
        "write {form}, or the apiVersion that the form is of",
        "In kubeadm.k8s.io/v1beta4, and in bootstrap.cluster.x-k8s.io/v1beta2 of Cluster API, flags are a list of "
        "entries with name and value; in the versions before they are a map. Each refuses the form of the other.",
    ),
    "CP1568": Code(
        "file that says nothing to a kubelet",
        "this file of {owner} says nothing to a kubelet",
        "give the file with the KubeletConfiguration or the kubelet's flags, if these are to be checked",
        "The file was recognized and its documents were looked at: there is no KubeletConfiguration, and there are no "
        "flags of a kubelet. Nothing else of such a file is checked.",
        severity="note",
    ),
    "CP1569": Code(
        "template that is no manifest yet",
        "{path} has templates, which are no YAML before they are filled in",
        "run `helm template`, and give cpuplan what it prints",
        "Programs such as Helm fill in what stands in two braces, with values that are in other files.",
    ),
    "CP1570": Code(
        "kustomization that changes its objects",
        "a kustomization changes these objects ({keys}), and they would be read as they stand in the files",
        "run `kubectl kustomize {folder}`, and give cpuplan what it prints",
        "Replicas, patches, components and generators decide what the cluster gets. A kustomization that only lists its "
        "resources changes nothing, and the files of its folder are read.",
    ),
    "CP113": Code(
        "tab outside quotes",
        "not every YAML reader accepts a tab here",
        "use a space instead, or quote the text",
        "YAML 1.2 allows tabs between values and inside plain text. PyYAML, ruamel and others reject them there. Tabs "
        "are allowed in quoted text, in block text and in comments.",
    ),
    "CP114": Code(
        "file not rewritten",
        "{path} cannot be rewritten: {problem}",
        "simplify the document, or leave it out: `cpuplan fmt` accepts the files to format",
        "`fmt` reads its own result again before it writes it: as it reads every file, and with ruamel.yaml. The file is "
        "changed only if both find the same values and comments, and each comment stands with the same key or item as "
        "before. `import` asks ruamel.yaml too before it changes a file of an inventory: nothing but the values that "
        "it found may differ, and only comments that stood with a removed value are removed, with a note.",
    ),
    "CP110": Code(
        "link to outside the project",
        "{path} is not read: {problem}",
        "put a copy of the file or folder there, or run cpuplan on the folder that contains both (`cpuplan -C DIR`)",
        "A reviewer of a repository sees the link and not its target, and the target differs between machines. Links "
        "to files and folders inside the project are followed. A file that is reached twice is read once.",
    ),
    "CP111": Code(
        "not a file",
        "{path} is not read: {problem}",
        "remove it, or give it a name that does not end in .yaml or .yml",
        "Reading a pipe waits for its writer, perhaps forever, and reading a device may never end. Git stores neither. "
        "`import` reads a pipe that is given on the command line (`<(...)`, `-`).",
    ),
    "CP112": Code(
        "too many files",
        "{path} is not read: {problem}",
        "remove files that do not belong there, or split the project",
        "The limits are 100,000 files in the input folders of a project, and 1,000,000 names that are searched to find "
        "them. For limits within one file see CP106.",
    ),
    "CP1110": Code(
        "repository inside the project",
        "{path} is a Git repository inside the project",
        "move what makes it one (`HEAD`, `objects` and `refs`, or `.git`) out of the project; a submodule belongs beside "
        "the project's own folders",
        "A folder with `HEAD`, `objects` and `refs`, or the name `.git`, is a repository for every program of Git that "
        "starts below it, and its configuration names programs that these start. cpuplan's own folders (`inventories/`, "
        "`intents/`, `pods/`, `out/`) hold none, so nobody needs to ask whose it is.",
    ),
    "CP1175": Code(
        "input that takes too much",
        "{problem}; the file that was read last is {path}",
        "make the input smaller, or less nested; if it is of a usual size, give the command more memory, and report it",
        "What is read is bounded, and what a valid input needs is known: a machine's CPUs, the depth of a document. An "
        "input that takes all memory that the process may have, or more nesting than Python follows, is not worked on. "
        "The file is the last one that was begun; what takes so much may stand in one before it. Files are written whole or not at all.",
    ),
    "CP139": Code(
        "written for a later cpuplan",
        "{what} has version {found}; this release of cpuplan reads {expected}",
        "upgrade cpuplan",
        "The file was written with, or for, a later release, and this release could misinterpret it. Versions of "
        "`cpuplan.io` are ordered as in Kubernetes: v1alpha1, v1alpha2, v1beta1, v1, v2alpha1.",
    ),
    # Importing machines: the CP12x and CP13x, and CP150 on for hwloc's XML.
    "CP120": Code(
        "unknown import format",
        "{path} is not in a format that can be imported ({formats})",
        "give the root of a host (`/`), a copy of its /sys and /proc, a must-gather, or the output of one of the other tools",
        "The format is detected. A system root has `sys/devices/system/cpu` or `proc/cpuinfo` at its top or one folder "
        "below, a must-gather has `nodes/<node>/sysinfo.tgz` somewhere, and files are recognized by how they begin. "
        "docs/importing.md lists the formats and what each one contains.",
    ),
    "CP121": Code(
        "unreadable or damaged file",
        "{path} cannot be read: {problem}",
        "collect it again, or correct its permissions; the other files were read",
        "Half of an archive describes half of a machine, so nothing is imported from a damaged one. The same applies to "
        "a file that is neither YAML nor JSON where one of them is expected, and for one that nests deeper than 100 "
        "levels.",
    ),
    "CP122": Code(
        "part of an archive skipped",
        "{path} contains {problem}",
        "if something is missing, pack the archive again, without -P of tar; this part was skipped",
        "Devices, absolute names, and names and links that lead out of the archive or folder are never followed: a "
        "copy of /sys and /proc does not need them, and they let an archive read or write elsewhere (CVE-2007-4559). "
        "Files without read permission and numbers beyond the kernel's own limits are skipped too. docs/importing.md "
        "has the full list.",
        "warning",
    ),
    "CP123": Code(
        "archive too large",
        "{path} exceeds the limit of {limit} {what}",
        "give only the part that contains `sys/` and `proc/`, or unpack the archive and give the folder",
        "Archives are read into memory. The limits are 384 MiB unpacked, 64 MiB compressed, 300,000 members in 100,000 "
        "folders, 64 MiB per file and 64 KiB per value of /sys, which is more than a machine of 4,096 CPUs needs. "
        "docs/importing.md has all limits.",
    ),
    "CP124": Code(
        "no CPUs described",
        "{path} describes no CPUs",
        "collect `sys/devices/system/cpu` and `proc/cpuinfo`; in a must-gather they are in `nodes/<node>/sysinfo.tgz`",
        "There are no `sys/devices/system/cpu/cpu*/` folders and no processors in `proc/cpuinfo`, or a tool printed a "
        "table without CPUs (as lscpu 2.38 does on RISC-V).",
    ),
    "CP125": Code(
        "unexpected text",
        "{path} contains {text!r}: {problem}",
        "compare the result with the machine; this value was treated as missing",
        "The kernel writes such files in one documented form (Documentation/ABI), and so does the tool that wrote a "
        "file of another format. This value has a different form, so it was damaged or edited.",
        "warning",
    ),
    "CP126": Code(
        "node read twice",
        "{path} describes node {node}, which {first} also describes",
        "leave one of them out, or rename the file that gives the node its name",
        "If two machines have the same name, the first one counts. Node objects complete a machine and do not count as "
        "a second one.",
    ),
    "CP1545": Code(
        "node of several clusters",
        "{path} describes node {node}, which {clusters} have, and does not name the cluster",
        "import the clusters one after the other, each with its own files and with --cluster",
        "Nodes of two clusters may have the same name. A must-gather belongs to one cluster; a file of a node, or of "
        "objects that `kubectl` printed, says nothing about that, and is used for neither.",
    ),
    "CP130": Code(
        "NUMA nodes without CPU numbers",
        "the only source for {nodes} is a NodeResourceTopology, which counts CPUs but does not number them",
        "add a source with CPU numbers: `lscpu -J -e` of the node in <node>.lscpu.json, a must-gather, or a copy of /sys",
        "The resource topology exporter and nfd-topology-updater report the number of CPUs, the memory and the "
        "distances of NUMA nodes. This completes a machine of the same name from another format. koordlet's annotation "
        "`node.koordinator.sh/cpu-topology` has CPU numbers.",
    ),
    "CP131": Code(
        "sources contradict each other",
        "node {node} has {found} {what}, but {claimed} according to {source}",
        "collect both again while the node does not change, or leave the wrong one out; the first one was used",
        "The objects of a cluster are compared with the machine that was read for the node: CPUs online, memory and "
        "huge pages with the capacity of the Node object, CPUs of NUMA nodes with the zones of the "
        "NodeResourceTopology. The CPUs of two files of one node are compared, too. This also finds a node that was "
        "renamed or given CPUs in the meantime.",
        "warning",
    ),
    "CP135": Code(
        "impossible lscpu output",
        "{path} contains {text!r}: {problem}",
        "run `LC_ALL=C lscpu -a -J -e` on the machine, and import what it prints as it is",
        "A table with an impossible row is not imported: a CPU would be missing or in the wrong core. Each CPU has one "
        "row, each row has a value for every column, and CPU numbers go up to 8191. Only the number of caches may be "
        "smaller. lscpu translates the labels of its summary, and `yes` and `no`: the words are read, labels in English "
        "only.",
    ),
    "CP136": Code(
        "siblings or sockets unknown",
        "{path} has only counts and the CPUs of NUMA nodes, which do not determine what the {what} are",
        "also import the output of `lscpu -a -J -e`, or better a copy of the node's /sys and /proc",
        "The summary of lscpu has counts, and lists CPUs by NUMA node only. Siblings and sockets follow from these if "
        "exactly one of the ways in which firmware numbers CPUs matches them (docs/importing.md). Otherwise a guess "
        "could put the threads of one core into two pools.",
    ),
    "CP137": Code(
        "files of one node that disagree",
        "{path} does not describe the same node {node} as {first}: {problem}",
        "run both commands on the same machine, or rename the file of the other machine: files with the same name belong to one node",
        "A table of lscpu and its summary are combined if their names give the same node, so both must list the same "
        "CPUs. If they do not, only the table counts.",
    ),
    "CP138": Code(
        "one core number for several cores",
        "{path} gives one core number to CPUs that may not be siblings ({groups}): {problem}",
        "import a copy of the node's /sys and /proc, or the table of an lscpu that has the column MODELNAME: `lscpu -a -J "
        "-e=CPU,NODE,SOCKET,CORE,CACHE,ONLINE,MODELNAME`",
        "lscpu restarts its core numbers for each kind of CPU, so if kinds differ (Arm's big and little cores), "
        "several cores have the same number. The kernel's core ids, which -y prints, repeat in the clusters or books "
        "of a socket. The CPUs are treated as siblings anyway, because the table says so. But the threads of a core "
        "share its caches, and there are 2, 4 or 8 of them if none is offline. A table without caches and models shows "
        "neither; the output of plain lscpu beside it counts the threads of a core.",
        "warning",
    ),
    "CP127": Code(
        "no PerformanceProfile",
        "no PerformanceProfile in {path}",
        "give files with objects of kind PerformanceProfile (performance.openshift.io/v2)",
        "`cpuplan import performanceprofile` writes an Intent for each PerformanceProfile.",
    ),
    "CP1525": Code(
        "no configuration of a kubelet",
        "{path} has no configuration of a kubelet: {problem}",
        "give a KubeletConfiguration, the answer of `kubectl get --raw /api/v1/nodes/NODE/proxy/configz`, a file of "
        "kubeadm, K3s, RKE2, MicroK8s, Talos, Bottlerocket or EKS, flags, or the root of a node",
        "`cpuplan import kubelet` writes an Intent for each configuration of a kubelet. docs/importing.md lists what it "
        "reads.",
    ),
    "CP150": Code(
        "damaged hwloc XML",
        "{path} is not valid hwloc XML: {problem}",
        "write it again with `lstopo --whole-io --disallowed machine.xml`, and copy the whole file",
        "The file ends too early, is not well-formed, or is XML of something else. Half of a file describes half of a "
        "machine, so nothing is imported from it.",
    ),
    "CP151": Code(
        "unsafe XML",
        "{path} contains {problem}",
        "write it again with `lstopo --whole-io --disallowed machine.xml`, which never writes this",
        "hwloc's XML has only elements and attributes. Entities, external parts and document types other than hwloc's "
        "can read other files or fill the memory (CWE-611, CWE-776), so the first of them ends the import. The limits "
        "are 64 MiB, 200,000 elements and 200 levels. hwloc's own document type is never fetched.",
    ),
}
