"""Importing machines: the CP12x."""

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
        "unreadable or damaged archive",
        "{path} cannot be read: {problem}",
        "collect it again, or correct its permissions; what else there is has been read",
        "Half of an archive describes half of a machine, so nothing is taken from a damaged one.",
    ),
    "CP122": Code(
        "part of an archive refused",
        "{path} holds {problem}",
        "nothing, if all else is there; else pack it anew, without -P of tar: cpuplan went on without that",
        "Absolute names, names and links that lead out of the archive or folder, and devices are never followed: they "
        "have no use in a copy of /sys and /proc, and let an archive read or write elsewhere (CVE-2007-4559).",
        "warning",
    ),
    "CP123": Code(
        "archive too large",
        "{path} exceeds the limit of {limit} {what}",
        "give the part that holds `sys/` and `proc/`, or unpack it and give the folder",
        "Archives are read in memory, up to 512 MiB unpacked, 1,000,000 members, and 64 MiB per file that is read.",
    ),
    "CP124": Code(
        "no CPUs described",
        "{path} describes no CPUs",
        "collect `sys/devices/system/cpu` and `proc/cpuinfo`; in a must-gather they are in `nodes/<node>/sysinfo.tgz`",
        "There are neither `sys/devices/system/cpu/cpu*/` folders nor processors in `proc/cpuinfo`.",
    ),
    "CP125": Code(
        "unexpected text",
        "{path} reads {text!r}: {problem}",
        "compare the result with the machine; cpuplan went on as if the file were missing",
        "The kernel writes such files in one form (Documentation/ABI); this one has another, so it was damaged or made up.",
        "warning",
    ),
    "CP126": Code(
        "node read twice",
        "{path} holds node {node}, which {first} holds too",
        "leave one of them out, or rename the file that the node is named after",
        "Of two machines of one name, the first one counts. Node objects belong beside machines and are no second one.",
    ),
}
