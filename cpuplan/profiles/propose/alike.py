"""Whether one layout fits all nodes of a pool."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from cpuplan.base.cpuset import CpuSet, cpus_text
from cpuplan.base.name_ranges import fold_names
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.importers.machine import Machine

#: What a layout depends on: architecture, CPUs by NUMA node, cores. Not the kernel's core ids, nor
#: memory or devices.
Facts: TypeAlias = tuple[str, tuple[tuple[int, CpuSet], ...], tuple[CpuSet, ...]]


def check(pool: str, machines: Sequence[tuple[str, Machine]]) -> Iterator[Diagnostic]:
    """A diagnostic for each kind of nodes that differs from the first one."""
    kinds: dict[Facts, list[str]] = {}
    for name, machine in machines:
        kinds.setdefault(layout_facts(machine), []).append(name)
    (first, alike), *others = kinds.items()
    for facts, names in others:
        actual, wanted = next(_differences(facts, first))
        yield diagnose(
            "CP282",
            pool=pool,
            nodes=_names(names),
            found=actual,
            first=_names(alike),
            wanted=wanted,
        )


def models(machines: Iterable[Machine]) -> set[tuple[str | None, int | None]]:
    """The CPU models (vendor, model number), on which boot arguments depend."""
    return {(machine.vendor, machine.model_number) for machine in machines}


def remarks(machines: Sequence[tuple[str, Machine]]) -> Iterator[str]:
    """Nodes with another CPU model than the first node, and those whose cores have other ids."""
    _, first = machines[0]
    names = [name for name, machine in machines if len(models((first, machine))) > 1]
    if names:
        yield (
            f"{_names(names)} and {machines[0][0]} have CPUs of different models; the layout "
            "is common to both"
        )
    names = [name for name, machine in machines if machine.core_ids != first.core_ids]
    if names:
        yield (
            f"{_names(names)} and {machines[0][0]} number their cores in different ways; one "
            "list of CPUs fits both"
        )


def layout_facts(machine: Machine) -> Facts:
    """What a layout depends on."""
    nodes = tuple((node.id, node.cpus & machine.online) for node in machine.numa_nodes)
    return machine.architecture, nodes, machine.siblings


def _differences(one: Facts, other: Facts) -> Iterator[tuple[str, str]]:
    """(what `one` has, what `other` has), the most important difference first."""
    if one[0] != other[0]:
        yield one[0], other[0]
    nodes, others = dict(one[1]), dict(other[1])
    if nodes.keys() != others.keys():
        yield f"the NUMA nodes {_numbers(nodes)}", _numbers(others)
    for node, cpus in nodes.items():
        theirs = others.get(node, CpuSet())
        mine = sum(core <= cpus for core in one[2])
        wanted = sum(core <= theirs for core in other[2])
        if mine != wanted:
            yield f"{mine} cores on NUMA node {node}", str(wanted)
        if cpus != theirs:
            yield f"{cpus_text(cpus)} on NUMA node {node}", cpus_text(theirs)
    core = next(core for core in one[2] if core not in other[2])
    theirs = next((siblings for siblings in other[2] if siblings & core), CpuSet())
    yield f"{cpus_text(core)} in one core", cpus_text(theirs)


def _names(names: Iterable[str]) -> str:
    return ", ".join(fold_names(names))


def _numbers(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))
