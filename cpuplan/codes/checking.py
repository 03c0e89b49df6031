"""The node differs from its plan: the CP8xx."""

from cpuplan.codes.code import Code

CODES = {
    "CP801": Code(
        "no CPUs to compare",
        "{path} cannot be read",
        "give the root of a Linux system, or a copy that holds sys/ and proc/, with --root",
        "Without the list of online CPUs nothing can be said about the node.",
    ),
    "CP802": Code(
        "other hardware",
        "the node has CPUs {found}; its hardware {hardware} has {wanted}",
        "name the right hardware for this node, or read it anew with `cpuplan import sysroot`",
        "The plan was made for another machine: CPU numbers in it mean other CPUs, or none, on this node.",
    ),
    "CP803": Code(
        "other CPUs online",
        "CPUs {found} are online; {wanted} should be",
        "look whether CPUs were switched off by hand, or whether the unit that switches the offlined pool off has failed",
        "A kubelet that finds other online CPUs than before refuses its state file (kubernetes/kubernetes#124066).",
    ),
    "CP804": Code(
        "other siblings",
        "the core of CPU {cpu} is {found}; in the inventory it is {wanted}",
        "read the hardware anew with `cpuplan import sysroot`",
        "Siblings decide which CPUs disturb each other; a layout of whole cores is wrong where they differ.",
    ),
    "CP805": Code(
        "not verifiable here",
        "{path} is there and cannot be read: {problem}",
        "run `check` as a user who may read it (root), or on a copy of the node's files with --root",
        "Nothing is said of what the file may hold: neither that a setting is missing nor that all is well. Links are "
        "followed as on the node itself, inside its root; files of more than 1 MiB, pipes and devices are not read.",
    ),
    "CP806": Code(
        "kernel without the file",
        "there is no {path}, which should say {wanted}",
        "give the root of a node, or a copy that has all of /sys/devices/system/cpu; else the kernel was built without it",
        "A kernel without CONFIG_NO_HZ_FULL takes nohz_full= without a word and has no such file, so whether the argument "
        "has its effect cannot be seen.",
    ),
    "CP810": Code(
        "no command line",
        "{path} cannot be read",
        "give the root of a Linux system, or a copy that holds proc/cmdline, with --root",
        "Boot arguments are read from /proc/cmdline, as the kernel got them.",
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
        "sync the compiled files, then drain and reboot the node; if it stays, look for a second place that sets it",
        "Of an argument that is given several times, most kernels take the last; this is the last.",
    ),
    "CP813": Code(
        "boot argument repeated",
        "{key} is on the command line {count} times with different values: {values}",
        "take the other one out where a second tool sets it; the compiled ones are those of the plan",
        "The kernel takes the last of most arguments, but drops the second isolcpus= (kernel 6.12, housekeeping.c).",
    ),
    "CP814": Code(
        "kernel has other sets",
        "the kernel's list `{file}` is {found}; it should be {wanted}",
        "look in the kernel log for the argument: one CPU that does not exist makes it drop the whole list",
        "/sys/devices/system/cpu/isolated and nohz_full show what the kernel took from isolcpus= and nohz_full=.",
    ),
    "CP820": Code(
        "no kubelet configuration",
        "there is neither {paths}",
        "give the node's root with --root",
        "The kubelet's file is etc/kubernetes/kubelet.conf on OpenShift and var/lib/kubelet/config.yaml elsewhere.",
    ),
    "CP821": Code(
        "unreadable kubelet configuration",
        "{path} is no KubeletConfiguration: {problem}",
        "correct it where it was written; if it is a compiled one, sync the compiled files again",
        "The kubelet does not start with a file that it cannot read. A file of the kubelet's that is not there any more is "
        "no remedy: its settings would be gone too.",
    ),
    "CP822": Code(
        "kubelet setting missing",
        "the kubelet's files do not say {settings}",
        "sync the compiled files and restart the kubelet",
        "These keys are in no file of the kubelet's configuration, so their defaults hold.",
    ),
    "CP823": Code(
        "kubelet setting differs",
        "{key} of the kubelet is {found}; it should be {wanted}",
        "take it out of this file, or say it in the intent: of several drop-ins the last one by name holds",
        "Drop-ins are merged in the order of their names: maps merge, lists replace.",
    ),
    "CP830": Code(
        "no CRI-O configuration",
        "there is no file in {path}",
        "sync the compiled files; is CRI-O the node's runtime?",
        "CRI-O reads /etc/crio/crio.conf and everything below /etc/crio/crio.conf.d.",
    ),
    "CP831": Code(
        "unreadable CRI-O file",
        "{path} is no TOML: {problem}",
        "correct it, or move what is no configuration out of the folder: CRI-O does not start with it",
        "CRI-O reads every file of the folder, whatever its name ends in, backups and hidden files too.",
    ),
    "CP832": Code(
        "CRI-O setting missing",
        "CRI-O's files do not say {settings}",
        "sync the compiled files and restart CRI-O",
        "CRI-O ignores keys that it does not know without a word, so a misspelt one is missing.",
    ),
    "CP833": Code(
        "CRI-O setting differs",
        "{key} of CRI-O is {found}; it should be {wanted}",
        "take it out of this file, or say in the intent what it says; the compiled file keeps its name",
        "Of several files the last one by name holds; a runtime handler's table is replaced as a whole. `check` and the next "
        "compilation know the compiled file by its name.",
    ),
    "CP840": Code(
        "mixed-CPU file missing",
        "there is no {path}",
        "sync the compiled files and restart the kubelet",
        "Without the file the kubelet offers no workload.openshift.io/enable-shared-cpus.",
    ),
    "CP841": Code(
        "unreadable mixed-CPU file",
        "{path} is not what the kubelet reads: {problem}",
        "sync the compiled files and restart the kubelet",
        "With bad JSON the kubelet switches mixed CPUs off without a word; with a wrong key it offers 0 containers.",
    ),
    "CP842": Code(
        "mixed-CPU limit differs",
        "{key} is {found}; it should be {wanted}",
        "sync the compiled files and restart the kubelet: it reads the file at its start",
        "The number of containers of a node that may use shared CPUs.",
    ),
}
