"""Importing machines: the CP12x and CP13x, and CP150 on for hwloc's XML."""

from cpuplan.diagnostics.codes.code import Code

CODES = {
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
        "run `lscpu -a -J -e` again, and do not edit its output",
        "A table with an impossible row is not imported: a CPU would be missing or in the wrong core. Each CPU has one "
        "row, each row has a value for every column, and CPU numbers go up to 8191. Only the number of caches may be "
        "smaller.",
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
