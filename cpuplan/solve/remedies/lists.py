"""Lists of CPUs that split cores, and the lists of whole cores that were perhaps meant. Asked only
for wrong lists.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cpuplan.cpuset import EMPTY, CpuSet
from cpuplan.diagnostics import errors
from cpuplan.plan import NodeClass
from cpuplan.solve import faults, model
from cpuplan.solve.goals import Moved
from cpuplan.solve.remedies.edits import edited
from cpuplan.solve.rules import problem_of
from cpuplan.solve.said import Said
from cpuplan.solve.sharing import shared_out


def remedies(node_class: NodeClass, split: Sequence[Said]) -> dict[str, str]:
    """What to write under each of the sets whose lists split cores: done under all of them, there
    is a layout.
    """
    lists = {each.name: (each.pool.cpus or EMPTY) & node_class.topology.online for each in split}
    wholes = next(
        (some for some in _candidates(node_class, split, lists) if _helps(node_class, split, some)),
        {},
    )
    may_split = _helps(node_class, split, {name: {"whole_cores": False} for name in lists})
    found = {}
    for name in lists:
        ways = [f"list {wholes[name]['cpus']}"] if wholes else []
        ways += [f"write wholeCores: false under {name}"] if may_split else []
        found[name] = ", or ".join(ways) or "give each core to one pool"
    return found


def _candidates(
    node_class: NodeClass, split: Sequence[Said], lists: Mapping[str, CpuSet]
) -> Iterator[dict[str, dict[str, Any]]]:
    """The lists with the siblings of their CPUs; with each core in one of the lists that have it;
    the nearest ones.
    """
    topology = node_class.topology
    yield {name: {"cpus": topology.whole_cores(cpus)} for name, cpus in lists.items()}
    yield {name: {"cpus": cpus} for name, cpus in shared_out(topology, lists).items()}
    changed = node_class
    for each in split:
        threads = topology.threads_per_core
        number = max(len(lists[each.name]) // threads, 1) * threads
        changed = edited(changed, each.field, cpus=None, count=number)
    if not errors(faults.check(changed, lambda _: None)):
        layout = model.layout(problem_of(changed), [Moved(tuple(lists.items()))])
        if layout is not None:
            yield {name: {"cpus": layout[name]} for name in lists}


def _helps(
    node_class: NodeClass, split: Sequence[Said], update: Mapping[str, Mapping[str, Any]]
) -> bool:
    """Is nothing new wrong after the change, and is there a layout if nothing is?"""
    changed = node_class
    for each in split:
        changed = edited(changed, each.field, **update[each.name])
    before, after = (errors(faults.check(some, lambda _: None)) for some in (node_class, changed))
    if any(problem.code == "CP352" or problem not in before for problem in after):
        return False
    return bool(after) or model.feasible(problem_of(changed))
