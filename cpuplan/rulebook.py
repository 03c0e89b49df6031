"""The rules that experts know, by name: built in, and each switched off (or on) by an intent that gives a reason."""

from typing import NamedTuple


class ExpertRule(NamedTuple):
    """What a rule demands, why, and the codes by which it speaks where a finished plan breaks it."""

    text: str
    about: str
    codes: tuple[str, ...] = ()
    on: bool = True  # off by default: only where an intent switches it on


#: The rules that bind layouts are built by `solve.rules.experts`; the others are checks of components.
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
