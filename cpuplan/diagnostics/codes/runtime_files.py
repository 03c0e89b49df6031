"""The kubelet and container runtimes of a node as they run, and files of runtimes.

CP824 to CP835, CP843 to CP855: of a node, or given to `validate`.
"""

from cpuplan.diagnostics.codes.code import Code

CODES = {
    "CP824": Code(
        "setting that a flag overrides",
        "{key} of {program} is {found} by {flag}; it should be {wanted}",
        "take {flag} out of the command line of {program}, and restart it",
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
        "correct the setting that the text names",
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
        "`--config` and `--config-dir`, or the variables CONTAINER_CONFIG and CONTAINER_CONFIG_DIR, name other files than "
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
