"""The rules that nobody writes, and the goals, by the names that reasons give them.

Those that experts know are switched off (or on) by an intent that gives a reason; the others are
part of the language.
"""

from typing import NamedTuple


class ExpertRule(NamedTuple):
    """What a rule demands, why, and the codes by which it speaks where a finished plan breaks
    it.
    """

    text: str
    about: str
    codes: tuple[str, ...] = ()
    on: bool = True  # off by default: only where an intent switches it on


#: The rules that bind layouts are built by `solve.rules.experts`; the others are checks of
#: components.
EXPERT_RULES = {
    "cpu0-reserved": ExpertRule(
        "CPU 0 stays in reserved",
        "The boot CPU keeps the system's time, takes the interrupts that have no other place, and on most machines cannot "
        "be switched off. Where CPU lists say otherwise, a warning takes the rule's place.",
        ("CP214",),
    ),
    "whole-cores": ExpertRule(
        "siblings stay in one pool",
        "Two threads of a core share its caches and execution units, so a neighbour in another pool is heard "
        "(kubernetes/enhancements KEP-2625). A single pool says so with `wholeCores: false` or `sibling`.",
    ),
    "reserved-not-empty": ExpertRule(
        "reserved has a CPU under the static policy",
        "Without a reserved CPU the kubelet does not start: pods with exclusive CPUs could take every CPU "
        "(pkg/kubelet/cm/cpumanager/cpu_manager.go, NewManager).",
        ("CP212",),
    ),
    "reserved-on-every-numa-node": ExpertRule(
        "each NUMA node that has isolated CPUs has a reserved one too",
        "Interrupts of a NUMA node's devices, and kernel threads that work for it, then need not cross the machine.",
        on=False,
    ),
    "strict-cpu-reservation": ExpertRule(
        "CPUs that are kept from pods are kept from all pods",
        "reservedSystemCPUs only keeps exclusive pods away. All others still run there, also on isolcpus, unless the static "
        "policy has the option strict-cpu-reservation (KEP-4540).",
        ("CP526",),
    ),
    "memory-adds-up": ExpertRule(
        "huge pages and reserved memory fit into each NUMA node",
        "The kernel sets aside fewer huge pages than asked without a word, and the kubelet does not start where "
        "reservedMemory does not add up.",
        ("CP517", "CP518", "CP543"),
    ),
    "numa-nodes-fit": ExpertRule(
        "the topology manager can take as many NUMA nodes as there are",
        "It tries all combinations of NUMA nodes and refuses machines with more than 8 unless told otherwise.",
        ("CP512",),
    ),
}


class Word(NamedTuple):
    """What a name of the language stands for, and why it is there."""

    text: str
    about: str


#: What every layout has.
FIXED_RULES = {
    "every-cpu": Word(
        "every online CPU is in a pool",
        "A CPU in no pool would be used by whatever comes along, and nobody would have said so. `isolated` takes what is "
        "left where no pool is said to.",
    ),
    "rest": Word(
        "isolated takes the rest, where no pool is said to",
        "Pods are what a node is for. `rest` under another pool, or a size of `isolated`, says otherwise.",
    ),
    "idle": Word(
        "only siblings are idle, where nothing else is offlined",
        "`sibling: idle` switches the other threads of its cores off, and no more: without a size of its own the pool "
        "`offlined` has no other CPU.",
    ),
    "qos-cover": Word(
        "CPUs that are in neither QoS set are in isolcpus or offlined",
        "A pod of any class must have CPUs to run on; what both QoS sets leave out would be idle without having been "
        "switched off (kubernetes/enhancements, QoS CPU affinity hints: ISOLCPUS = ALL - BE - OTHER).",
    ),
}

#: What makes a layout better, in the default order. The last two hold always.
GOALS = {
    "fewest-moved": Word(
        "as few CPUs as possible change their sets, compared with intents/plan.lock.yaml",
        "A CPU that moves is a changed file, and mostly a reboot.",
    ),
    "fewest-split-cores": Word(
        "as few cores as possible have threads in different sets",
        "Two threads of a core share its caches and execution units.",
    ),
    "locality": Word(
        "each set but isolated and the QoS sets is on as few NUMA nodes, then on as few last-level caches as possible",
        "What works together is close together, and the other NUMA nodes and caches stay whole. Sets that list their CPUs, "
        "or have a size for each part of the machine, have nothing to choose.",
    ),
    "balance": Word(
        "the NUMA node with the fewest isolated CPUs has as many as possible",
        "Pods that must fit into one NUMA node find room on each.",
    ),
    "most-isolated": Word(
        "isolated has as many CPUs as possible", "Exclusive CPUs come from there."
    ),
    "smallest-range": Word(
        "a pool whose size is a range is as small as possible, unless it is isolated",
        "`min` and `max` say what a pool needs, not what it would like; the CPUs are worth more to pods.",
    ),
    "canonical": Word(
        "low cores go to the first pools",
        "Of layouts that are equally good one is always the same: core by core from the lowest on, each goes to the first "
        "pool that can have it. The solver has no say in it.",
    ),
}
