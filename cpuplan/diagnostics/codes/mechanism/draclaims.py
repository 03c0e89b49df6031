"""Simulated claims of the DRA CPU driver: CP716 to CP719, CP722 and CP723."""

from cpuplan.diagnostics.codes.code import Code

CODES = {
    "CP716": Code(
        "claim that cannot be read",
        "{object}: {problem}",
        "correct it; `kubectl explain resourceclaim.spec.devices` has the fields",
        "ResourceClaims, their templates and DeviceClasses (resource.k8s.io) are read beside the pods of the files, where "
        "the target has mechanism dra. A ResourceClaim that is allocated in its status keeps these devices.",
    ),
    "CP717": Code(
        "selector that cannot be evaluated",
        "{object} selects devices by `{expression}`: {problem}",
        "write it with attributes, literals, lists, comparisons, `in`, `has`, `&&`, `||` and `!`",
        "cpuplan evaluates the part of CEL in which selectors of CPUs are written, and no other function than `has`, "
        "`quantity`, `compareTo`, `isGreaterThan` and `isLessThan`. Which devices any other expression selects is not "
        "guessed.",
    ),
    "CP718": Code(
        "claim that is counted otherwise than it is",
        "{who} {problem}",
        "{remedy}",
        "Without the driver's mapping (KEP-5517, Kubernetes 1.37) neither the scheduler nor the kubelet counts the CPUs of "
        "claims: a node can be overcommitted, the QoS class does not follow from them, and a CPU limit throttles a "
        "container whatever it claims. With the mapping, requests are counted in addition.",
        "warning",
    ),
    "CP719": Code(
        "pod that loses its exclusive CPUs",
        "container {container} of {pod} has no claim: it shares CPUs with all others, although it requests {cpus} as the "
        "kubelet's static policy would give them to it alone",
        "let it claim its CPUs; `cpuplan compile` writes templates for the workloads of an intent",
        "The static policy gives exclusive CPUs by the shape of a pod: Guaranteed, with whole CPUs. The DRA CPU driver "
        "gives them by claim only. Nothing reports the difference.",
        "warning",
    ),
    "CP722": Code(
        "claim with CPUs of another device",
        "on nodes of class {name}, {example}",
        "use mode: individual, or claims and reserved CPUs that are whole cores and fit one last-level cache",
        "The driver takes whole cores by the kernel's core_id, which repeats on other sockets, in clusters and on hybrid "
        "parts, and then takes all CPUs with that id (dra-driver-cpu up to 0.2.0 and main of August 2026; mended by the "
        "open pull request #210). The example comes from the simulated driver.",
        "warning",
    ),
    "CP723": Code(
        "CPUs that claims and others both use",
        "on nodes of class {name}, {example}",
        "leave CPUs that no claim takes, and let a container use each claim as long as the pod runs",
        "Where no CPU is left, the driver sets no CPUs for containers without a claim, which the runtime takes for all of "
        "them, or for no change (dra-driver-cpu #295; #297 refuses such containers). When the driver restarts, it forgets "
        "claims that no running container has (#318). The example comes from the simulation.",
        "warning",
    ),
}
