"""Layouts: the CP4xx."""

from cpuplan.codes.code import Code

CODES = {
    "CP401": Code(
        "no layout",
        "{pools} {do} not fit class {name} of cluster {cluster} ({nodes}){facts}",
        "{change}",
        "No assignment of CPUs to pools satisfies these statements together, which was proven by search. No fewer statements "
        "contradict each other; where the search for fewer would take too long, the message says that they are a smallest "
        "set in itself: without any one of them there is an assignment. What the remedy proposes was tried: of several "
        "conflicts of a class, the remedies were tried together, and after all of them there is a layout. A conflict that no "
        "change of one statement settles says so.",
    ),
    "CP402": Code(
        "CPUs without a pool",
        "{count} of the {online} of class {name} in cluster {cluster} ({nodes}) would be in no pool, such as CPU {cpu}{facts}",
        "{change}",
        "Each online CPU is in exactly one pool. Let one pool take the rest, or make the sizes add up. A single thread of a "
        "core can also be left over because all other pools take whole cores only.",
    ),
    "CP403": Code(
        "no common layout",
        "no layout of pool {pool} in cluster {cluster} is right on all of its hardware, {machines}{facts}",
        "write mixedHardware: split, give each hardware its own intent and pool, or change what contradicts",
        "With `mixedHardware: common` the pools have the same CPU numbers on all nodes of a MachineConfigPool, so each "
        "statement must hold for them on each machine. It was proven by search that these statements cannot, "
        "and no fewer; where that search would take too long, the message says that they are a smallest set in itself. Machines with other numbers of CPUs never have a layout in common.",
    ),
}
