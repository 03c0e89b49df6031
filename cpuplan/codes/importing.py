"""Importing machines: the CP12x and CP13x, and CP150 on for hwloc's XML."""

from cpuplan.codes.code import Code

CODES = {
    "CP120": Code(
        "nothing that can be imported",
        "{path} is not in a format that can be imported ({formats})",
        "give the root of a host (`/`), a copy of its /sys and /proc, a must-gather, or what one of the other tools printed",
        "The format is found by looking: a system root has `sys/devices/system/cpu` or `proc/cpuinfo` at its top or one "
        "folder below, a must-gather has `nodes/<node>/sysinfo.tgz` somewhere, files are known by how they begin. "
        "docs/importing.md lists the formats and what each can tell.",
    ),
    "CP121": Code(
        "unreadable or damaged file",
        "{path} cannot be read: {problem}",
        "collect it again, or correct its permissions; what else there is has been read",
        "Half of an archive describes half of a machine, so nothing is taken from a damaged one; nor from a file that is "
        "neither YAML nor JSON where one of them is read, or nests deeper than 100 levels.",
    ),
    "CP122": Code(
        "part of an archive refused",
        "{path} holds {problem}",
        "nothing, if all else is there; else pack it anew, without -P of tar: cpuplan went on without that",
        "Absolute names, names and links that lead out of the archive or folder, and devices are never followed: they "
        "have no use in a copy of /sys and /proc, and let an archive read or write elsewhere (CVE-2007-4559). Files "
        "without permission and numbers beyond the kernel's own limits are left out too; docs/importing.md has all.",
        "warning",
    ),
    "CP123": Code(
        "archive too large",
        "{path} exceeds the limit of {limit} {what}",
        "give the part that holds `sys/` and `proc/`, or unpack it and give the folder",
        "Archives are read in memory, up to 384 MiB unpacked and 64 MiB compressed, 300,000 members in 100,000 folders, "
        "64 MiB per file and 64 KiB per value of /sys: more than a machine of 4,096 CPUs needs. docs/importing.md has all.",
    ),
    "CP124": Code(
        "no CPUs described",
        "{path} describes no CPUs",
        "collect `sys/devices/system/cpu` and `proc/cpuinfo`; in a must-gather they are in `nodes/<node>/sysinfo.tgz`",
        "There are neither `sys/devices/system/cpu/cpu*/` folders nor processors in `proc/cpuinfo`, or a tool printed a "
        "table without a CPU (lscpu 2.38 does on RISC-V).",
    ),
    "CP125": Code(
        "unexpected text",
        "{path} reads {text!r}: {problem}",
        "compare the result with the machine; cpuplan went on as if it were missing",
        "The kernel writes such files in one form (Documentation/ABI), and so does the tool that wrote a file of another "
        "format; this one has another, so it was damaged or made up.",
        "warning",
    ),
    "CP126": Code(
        "node read twice",
        "{path} holds node {node}, which {first} holds too",
        "leave one of them out, or rename the file that the node is named after",
        "Of two machines of one name, the first one counts. Node objects belong beside machines and are no second one.",
    ),
    "CP130": Code(
        "NUMA nodes without CPU numbers",
        "of {nodes} there is only a NodeResourceTopology that counts CPUs and does not number them",
        "give what tells them beside it: `lscpu -J -e` of the node in <node>.lscpu.json, a must-gather, or a copy of /sys",
        "The resource topology exporter and nfd-topology-updater tell how many CPUs, how much memory and which distances "
        "NUMA nodes have; that completes a machine of the same name which another format tells. koordlet's annotation "
        "`node.koordinator.sh/cpu-topology` has CPU numbers.",
    ),
    "CP131": Code(
        "sources contradict each other",
        "node {node} has {found} {what}, and {claimed} by {source}",
        "collect both anew while nothing is changed on the node, or leave the wrong one out; cpuplan kept the first",
        "What a cluster says of a node is compared with the machine that was read for it: CPUs online, memory and huge "
        "pages with the capacity of the Node object, CPUs of NUMA nodes with the zones of the NodeResourceTopology; and so "
        "are the CPUs of two files of one node. A node that was renamed or given CPUs since shows here.",
        "warning",
    ),
    "CP135": Code(
        "impossible output of lscpu",
        "{path} reads {text!r}: {problem}",
        "print it again and do not edit it: `lscpu -a -J -e`",
        "Nothing is taken from a table with a row that cannot be: a CPU would be missing, or be in a wrong core. A CPU "
        "has one row, rows have a value for each column, and CPU numbers go up to 8191. Only caches may be fewer.",
    ),
    "CP136": Code(
        "siblings or sockets not told",
        "{path} has counts and the CPUs of NUMA nodes only, which leave open what the {what} are",
        "import the output of `lscpu -a -J -e` beside it, or better a copy of the node's /sys and /proc",
        "The summary of lscpu has counts, and lists CPUs by NUMA node only. Siblings and sockets follow from these where "
        "just one of the ways in which firmwares number CPUs fits them (docs/importing.md); else a guess would put the "
        "threads of one core into two pools.",
    ),
    "CP137": Code(
        "files of one node that disagree",
        "{path} is no other view of node {node} than {first}: {problem}",
        "print both on the same machine, or rename the file of the other one: files of one name are one node",
        "A table of lscpu and its summary are put together where their names give one node, so both list the same CPUs. "
        "Where they do not, only the table counts.",
    ),
    "CP138": Code(
        "one core number for several cores",
        "{path} gives CPUs one core number that cannot be siblings ({groups}): {problem}",
        "import a copy of the node's /sys and /proc, or the table of an lscpu that has the column MODELNAME: `lscpu -a -J "
        "-e=CPU,NODE,SOCKET,CORE,CACHE,ONLINE,MODELNAME`",
        "lscpu numbers the cores of each kind of CPU anew, so where kinds differ (Arm's big and little cores) several "
        "cores have one number; and the kernel's core ids, which -y prints, repeat in the clusters or books of a socket. "
        "The CPUs are taken for siblings all the same, for that is what the table says. But the threads of a core share "
        "its caches, and there are 2, 4 or 8 of them if none is offline.",
        "warning",
    ),
    "CP127": Code(
        "no PerformanceProfile",
        "there is no PerformanceProfile in {path}",
        "give files with objects of kind PerformanceProfile (performance.openshift.io/v2)",
        "`cpuplan import performanceprofile` writes an Intent for each of them.",
    ),
    "CP150": Code(
        "damaged hwloc XML",
        "{path} is no XML of hwloc: {problem}",
        "write it again with `lstopo --whole-io --disallowed machine.xml`, and copy it as a whole",
        "The file ends too early, is not well-formed, or is the XML of something else. Half of a file describes half of a "
        "machine, so nothing is taken from it.",
    ),
    "CP151": Code(
        "XML refused",
        "{path} holds {problem}",
        "write it again with `lstopo --whole-io --disallowed machine.xml`, which never writes that",
        "hwloc's XML has elements and attributes only. Entities, document types other than hwloc's and external parts can "
        "read other files or fill the memory (CWE-611, CWE-776), so the first of them ends the import. The limits are 64 "
        "MiB, 200,000 elements and 200 levels; hwloc's own document type is never fetched.",
    ),
}
