"""Layouts: the CP4xx."""

from cpuplan.diagnostics.codes.code import Code

CODES = {
    "CP401": Code(
        "no layout",
        "{pools} {do} not fit class {name} of cluster {cluster} ({nodes}){facts}",
        "{change}",
        "No assignment of CPUs to pools satisfies these statements together. A search has proven this, and that no "
        "smaller number of statements conflicts. If the search for a smaller conflict would take too long, the message "
        "calls the set irreducible: without any one of its statements, an assignment exists. The change in the remedy "
        "was tried. If a class has several conflicts, the remedies were tried together, and after all of them there is "
        "a layout. If no change of a single statement resolves a conflict, the remedy names several that do together. If the "
        "search for these would take too long, the remedy says so.",
    ),
    "CP402": Code(
        "CPUs without a pool",
        "{count} of the {online} of class {name} in cluster {cluster} ({nodes}) would be in no pool, such as CPU {cpu}{facts}",
        "{change}",
        "Each online CPU is in exactly one pool. Let one pool take the rest, or correct the sizes so that they add up. "
        "A single thread of a core can also be left over because all other pools take only whole cores.",
    ),
    "CP403": Code(
        "no common layout",
        "no layout of pool {pool} in cluster {cluster} is valid on all of its hardware, {machines}{facts}",
        "write mixedHardware: split, give each hardware its own intent and pool, or change one of the conflicting statements",
        "With `mixedHardware: common`, the pools have the same CPU numbers on all nodes of a MachineConfigPool, so "
        "each statement must hold on every machine. A search has proven that these statements cannot, and that no "
        "smaller number conflicts. If the search for a smaller conflict would take too long, the message calls the set "
        "irreducible. Machines with different numbers of CPUs never have a common layout.",
    ),
    "CP404": Code(
        "layout not decided",
        "whether class {name} of cluster {cluster} ({nodes}) has a layout is not known: within the limit of {limit} of work, "
        "none was found, and none was ruled out",
        "give it longer with --time-limit, or state less: give the largest pool a list of CPUs or a NUMA node, and "
        "state apart, together and per of fewer pools",
        "The solver searches for a layout until it has found one, or has proven that there is none. It stops at the limit "
        "(`--time-limit`), which is counted in its steps and not by a clock. This says nothing about the statements: they may "
        "fit or contradict each other. Layouts are hard to find where very many parts of a machine are equal and pools "
        "exclude each other from them; a pool with a place of its own leaves less to be tried.",
    ),
    "CP4150": Code(
        "more pods than a kubelet admits",
        "workload {workload} has {pods} pods without exclusive CPUs; the kubelet of each node admits at most {most} pods",
        "write at most {most} pods, or raise kubelet.configuration.maxPods",
        "Pods with exclusive CPUs are bounded by the CPUs of a pool. Others are bounded by maxPods alone, of which up to "
        "2,000 are simulated.",
    ),
}
