"""Lists of CPUs that split cores, and the lists of whole cores that were perhaps meant."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from cpuplan.base.cpuset import EMPTY, CpuSet
from cpuplan.plan import NodeClass
from cpuplan.solve import faults, model
from cpuplan.solve.effort import UndecidedError
from cpuplan.solve.goals import Moved
from cpuplan.solve.remedies.edits import edited
from cpuplan.solve.rules import problem_of
from cpuplan.solve.sets import SetSpec
from cpuplan.solve.sharing import shared_out


def remedies(node_class: NodeClass, split: Sequence[SetSpec]) -> dict[str, str]:
    """What to write under each set whose list splits cores: done under all, there is a layout."""
    lists = {spec.name: (spec.pool.cpus or EMPTY) & node_class.topology.online for spec in split}
    wholes = _wholes(node_class, split, lists)
    may_split = _helps(node_class, split, {name: {"whole_cores": False} for name in lists})
    texts = {}
    for name in lists:
        ways = []
        if wholes:
            ways.append(f"list {wholes[name]}")
        if may_split:
            ways.append(f"write wholeCores: false under {name}")
        texts[name] = ", or ".join(ways) or "give each core to one pool"
    return texts


def _wholes(
    node_class: NodeClass, split: Sequence[SetSpec], lists: Mapping[str, CpuSet]
) -> Mapping[str, CpuSet] | None:
    """The first candidate with which there is a layout."""
    for wholes in _candidates(node_class, split, lists):
        if _helps(node_class, split, {name: {"cpus": cpus} for name, cpus in wholes.items()}):
            return wholes
    return None


def _candidates(
    node_class: NodeClass, split: Sequence[SetSpec], lists: Mapping[str, CpuSet]
) -> Iterator[Mapping[str, CpuSet]]:
    """The lists with all siblings; with each core in one of its lists; the nearest lists."""
    topology = node_class.topology
    yield {name: topology.whole_cores(cpus) for name, cpus in lists.items()}
    yield shared_out(topology, lists)
    changed = node_class
    for spec in split:
        threads = topology.threads_per_core
        number = max(len(lists[spec.name]) // threads, 1) * threads
        changed = edited(changed, spec.field, cpus=None, count=number)
    if not faults.errors_of(changed):
        layout = None
        with suppress(UndecidedError):
            layout = model.layout(problem_of(changed), [Moved(tuple(lists.items()))])
        if layout is not None:
            yield {name: layout[name] for name in lists}


def _helps(
    node_class: NodeClass, split: Sequence[SetSpec], update: Mapping[str, Mapping[str, Any]]
) -> bool:
    """Whether the change adds no fault, and there is a layout if no fault is left."""
    changed = node_class
    for spec in split:
        changed = edited(changed, spec.field, **update[spec.name])
    before, after = faults.errors_of(node_class), faults.errors_of(changed)
    if any(problem.code == "CP352" or problem not in before for problem in after):
        return False
    return bool(after) or model.fits(problem_of(changed))
