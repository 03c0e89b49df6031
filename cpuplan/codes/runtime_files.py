"""Files of container runtimes, of a node or given to `validate`: CP830 to CP833, CP843 to CP854."""

from cpuplan.codes.code import Code

CODES = {
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
        "The last of several files by name applies. The table of a runtime handler is replaced as a whole. `check` and "
        "the next compilation find the compiled file by its name.",
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
        "`infra_ctr_cpuset`, the default handler, annotations and resources of workloads.",
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
    "CP850": Code(
        "trap in CRI-O's files",
        "{problem}",
        "{remedy}",
        "What CRI-O takes without a word: files with any name in crio.conf.d; tables of handlers and workloads that "
        "replace those of earlier files; a `shared_cpuset` that is read only when a container asks for it; workloads "
        "without resources, without a prefix, or with one annotation for two; handlers whose name contains "
        "high-performance; an irqbalance file that the system does not read.",
        "warning",
    ),
    "CP851": Code(
        "CRI plugin of containerd that does not start",
        "containerd runs without its CRI plugin: {problem}",
        "{remedy}, and restart containerd",
        "containerd itself starts and logs that the plugin does not; the kubelet then finds no runtime (unknown service "
        "runtime.v1.RuntimeService). Packages of Docker bring a config.toml that disables the plugin.",
    ),
    "CP852": Code(
        "trap in containerd's files",
        "{problem}",
        "{remedy}",
        "What containerd takes without an error: before 2.0, tables of plugins in imported files that replace earlier ones "
        "whole, and relative patterns of imports that are taken from the working directory; later, tables of an older "
        "version that are passed over; from 2.3.0 to 2.3.4, an imported file with a higher version; files that nothing "
        "imports; keys that the table before them takes; handlers without a type, or with the other driver of cgroups: "
        "the kubelet given on the command line counts, else systemd, as kubeadm sets it.",
        "warning",
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
}
