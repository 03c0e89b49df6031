"""The rules of a layout: the statements of the intent and the built-in ones, with their reasons.

Each module has rules of one sort; `RULES` is the list.
"""

from collections.abc import Callable, Iterator

from cpuplan.plan import NodeClass
from cpuplan.solve.rules import cores, placement, sizes
from cpuplan.solve.rules.rule import Problem, Rule, Statements

#: Where a conflict can be explained in two ways, the rules further up are named.
RULES: tuple[Callable[[Statements], Iterator[Rule]], ...] = (
    sizes.sizes,
    placement.numbered_places,
    placement.near_devices,
    placement.within,
    placement.core_types,
    placement.never,
    cores.siblings,
    cores.whole_cores,
    cores.nothing_else_idle,
    placement.apart,
    placement.together,
    sizes.workloads_fit,
    cores.reserved_not_empty,
    cores.isolated_not_empty,
    cores.reserved_on_every_numa_node,
    cores.cpu0_reserved,
    sizes.pods_have_a_place,
    sizes.every_cpu_has_a_pool,
)


def problem_of(node_class: NodeClass) -> Problem:
    """The rules of a class, in the order of RULES."""
    statements = Statements(node_class)
    rules = tuple(rule for build in RULES for rule in build(statements))
    return Problem(node_class.topology, tuple(statements.sets), rules)
