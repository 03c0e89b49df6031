"""What container runtimes cannot do, or do with their files: CP527 to CP529, CP586 to CP589."""

from cpuplan.diagnostics.codes.code import Code

CODES = {
    "CP527": Code(
        "statement that containerd cannot keep",
        "{field} cannot hold with runtime containerd: {problem}",
        "{hint}",
        "containerd has no shared pool, no hooks for containers with exclusive CPUs and no affinity of exec probes; it "
        "has NRI from 1.7 on, and no partition without a plugin of it.",
    ),
    "CP528": Code(
        "what containerd does not do",
        "containerd {version}: {what}",
        "nothing has to be done, as long as nobody relies on it",
        "CRI-O keeps pause containers and its own monitors on the CPUs of `infra_ctr_cpuset`, and its hooks keep "
        "interrupts, load balancing and quotas off containers that ask for it by annotations. containerd passes over "
        "such annotations (containerd/containerd#7653).",
        "note",
    ),
    "CP529": Code(
        "key that only config.toml can have",
        "a drop-in cannot give containerd {version} the key {key} of {field}",
        "write it in /etc/containerd/config.toml yourself: {key} = {value} in [plugins.'{table}'{inner}]",
        "Before containerd 2.0, the table of a plugin in an imported file replaces the earlier table as a whole. Of the "
        "CRI plugin's table, the sandbox image, the registries and `SystemdCgroup` would be lost, so that cpuplan "
        "writes nothing into it.",
        "warning",
    ),
    "CP587": Code(
        "drop-in that the runtime takes otherwise",
        "{runtime} would not take its drop-in as it is meant: {problem}",
        "use another value; with runtime.handler, another name",
        "The drop-ins of CRI-O and containerd are read at compile time as the runtime reads them: types, unknown keys, "
        "handlers that it leaves out, and tables that replace others. What is in force then must be what the settings "
        "say. A handler with the name of the default runtime would change all pods: its table replaces the default "
        "one, with all that it does not repeat.",
    ),
    "CP588": Code(
        "file of CRI-O in a MachineConfig of others",
        "MachineConfig {name} gives nodes of pool {pool} the file {path}, which CRI-O reads {problem}",
        "look at the file with `cpuplan validate --crio`, and give it a name that sorts before cpuplan's",
        "CRI-O reads everything below /etc/crio/crio.conf.d, in the order of the names. The Cluster document has the "
        "names of files only, so that this is a warning; `check` reads the files of a node.",
        "warning",
    ),
    "CP586": Code(
        "drop-in that must be imported",
        "containerd reads {path} only if config.toml imports it",
        'write imports = ["{imports}"] in /etc/containerd/config.toml, once, before its first table',
        "No release reads a folder by itself: where config.toml exists, only the files that it imports are read. From "
        "2.2 on, `containerd config default` prints the line. `check` says of a node whether the drop-in is read "
        "(CP843).",
        "note",
    ),
}
