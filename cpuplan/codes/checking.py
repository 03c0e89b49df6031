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
}
