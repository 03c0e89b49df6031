"""What a change costs: the CP68x of `cpuplan plan`."""

from cpuplan.diagnostics.codes.code import Code

CODES = {
    "CP680": Code(
        "nothing to compare with",
        "{what} has no compiled classes (.cpuplan/classes/)",
        "name a commit (`--against`) or a folder (`--against-folder`) with the result of `cpuplan compile`; for a "
        "first compilation, compare with an empty folder",
        "`cpuplan plan` compares the project with what was compiled before. A commit or a folder without it could be "
        "the wrong one, and a plan that compares with nothing calls every node new, so you must ask for that.",
    ),
    "CP681": Code(
        "damaged class",
        "{path} of {what} is not a class that cpuplan compiled: {problem}",
        "compare with a commit whose out/ is whole, or compile it again there",
        "The plan of each class (`.cpuplan/classes/`) is what `cpuplan plan` compares. A file that cannot be read "
        "could hide any change, so nothing is compared.",
    ),
    "CP682": Code(
        "damaged object",
        "{path} of {what} is not a Kubernetes object that cpuplan compiled: {problem}",
        "compare with a commit whose out/ is whole, or compile it again there",
        "A manifest that differs from the present one, or an object that an operator makes of it, is read to show which "
        "fields change and what that costs. This one cannot be read: it is no YAML, or a field is of another type than "
        "the API server takes.",
    ),
    "CP683": Code(
        "impact above the limit",
        "the impact on {nodes} is {impact}, and {limit} allows at most {allowed}",
        "leave out of the change what causes it (`cpuplan plan` shows the statements), or raise {limit}",
        "`cpuplan plan` fails with exit code 4 if a node would need more than the option `--max-impact`, or the rollout "
        "of its intent, allows: nothing, live, restart, drain, reboot, reinstall, from the least to the worst.",
    ),
    "CP628": Code(
        "pod that loses CPUs of its own",
        "pod {pod} has CPUs of its own with {before}, and shared ones with {after}",
        "give the pod {wanted}, or let these nodes keep {before}",
        "Each mechanism goes by something else: the kubelet's static policy and the NRI policies by the shape of a pod "
        "(Guaranteed, whole CPUs), the DRA CPU driver by resource claims, Koordinator by the label of a QoS class. A pod "
        "without it runs, and nothing says that its CPUs are shared now.",
        "warning",
    ),
}
