"""Undo, in imported machines, what a plan changed.

A node that booted with its plan has CPUs switched off, huge pages reserved and memory hidden. None
of that is a fact of the hardware: if it were imported as one, each import and compilation would
take more away."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cpuplan.base.naming import fold_names
from cpuplan.base.progress import stage
from cpuplan.change.restore import cpus, reductions
from cpuplan.change.restore.reductions import Planned
from cpuplan.fleet import hardware
from cpuplan.importers.base import Imported, Machine, NumaFacts
from cpuplan.importers.documents import OF_RUNTIMES
from cpuplan.importers.documents.kinds import MEMORY_TOLERANCE, same_memory

#: Memory below 4 GiB of which devices have addresses: `mem=` counts them.
_HOLE = 4 * 1024**3


def restore_memory(machine: Machine, planned: Planned) -> tuple[Machine, list[str]]:
    """The machine without planned huge pages, and with memory that boot arguments hide.

    The memory is that of the inventory.
    """
    nodes = tuple(_without_pages(machine, planned))
    nodes, sentences = _with_memory(machine, nodes, planned)
    return machine._replace(numa_nodes=nodes), sentences


def _without_pages(machine: Machine, planned: Planned) -> Iterator[NumaFacts]:
    """NUMA nodes without huge pages that a plan asked for.

    These are the pages of units, of boot arguments of a plan and of intents: at most as many.
    """
    asked = dict(machine.marks.huge_pages)
    anywhere = reductions.huge_pages(machine.marks.grub)
    for (number, size), count in planned.huge_pages.items():
        if number is None:
            anywhere[size] = max(anywhere.get(size, 0), count)
        else:
            asked[number, size] = max(asked.get((number, size), 0), count)
    spread = _spread(machine, asked)
    for node in machine.numa_nodes:
        kept = {
            size: count
            for size, count in node.huge_pages.items()
            if count > asked.get((node.id, size), -1)
            and spread.get(size, 0) > anywhere.get(size, -1)
        }
        yield node._replace(huge_pages=kept)


def _spread(machine: Machine, asked: Mapping[tuple[int, int], int]) -> dict[int, int]:
    """Pages by size on the NUMA nodes for which no unit asks for pages."""
    pages: dict[int, int] = {}
    for node in machine.numa_nodes:
        for size, count in node.huge_pages.items():
            if (node.id, size) not in asked:
                pages[size] = pages.get(size, 0) + count
    return pages


def _with_memory(
    machine: Machine, nodes: tuple[NumaFacts, ...], planned: Planned
) -> tuple[tuple[NumaFacts, ...], list[str]]:
    line = machine.boot_arguments or " ".join(planned.arguments)
    limit, taken = reductions.memory_limit(line), reductions.memory_taken(line)
    known = _known(planned)
    seen = sum(node.memory or 0 for node in nodes)
    if seen and known.keys() >= {node.id for node in nodes if node.memory is not None}:
        whole = sum(known.get(node.id, 0) for node in nodes)
        if _only_moved(nodes, known, seen, whole) or _explained(whole, seen, limit, taken):
            return tuple(_like(node, known) for node in nodes), []
    if limit is not None and seen:
        return nodes, ["booted with mem=, which may hide memory that it has"]
    return nodes, []


def _known(planned: Planned) -> dict[int, int]:
    """Memory in the inventory, by NUMA node."""
    topology = hardware.build(planned.spec)[0] if planned.spec else None
    facts = topology.numa_facts if topology else {}
    return {number: node.memory for number, node in facts.items() if node.memory is not None}


def _like(node: NumaFacts, known: Mapping[int, int]) -> NumaFacts:
    return node if node.memory is None else node._replace(memory=known[node.id])


def _only_moved(
    nodes: tuple[NumaFacts, ...], known: Mapping[int, int], seen: int, whole: int
) -> bool:
    """Whether the kernel only took its own share from another NUMA node."""
    most = whole // MEMORY_TOLERANCE
    return same_memory(seen, whole) and all(
        abs((node.memory or 0) - known.get(node.id, 0)) <= most for node in nodes
    )


def _explained(whole: int, seen: int, limit: int | None, taken: int) -> bool:
    """Whether boot arguments left `seen` bytes of `whole`: neither more nor much less."""
    if limit is not None and limit < whole:
        return limit - limit // MEMORY_TOLERANCE - _HOLE - taken <= seen <= limit
    return 0 < whole - seen <= taken + whole // MEMORY_TOLERANCE and taken > 0


@stage("undoing what a plan did")
def restore(imported: Imported, root: Path) -> Imported:
    """Undo what the plans of the project at `root`, and those that the machines show, changed.

    Remarks describe what was undone, and what could not be.
    """
    project = reductions.read(root)
    nodes = []
    names_by_sentence: dict[str, list[str]] = {}
    for node in imported.nodes:
        planned = project.of(node)
        machine, sentences = _restored(node.machine, planned)
        online = planned.offline & node.machine.online
        facts, on_runtime = _beside_targets(node.cluster_facts, planned)
        nodes.append(node._replace(machine=machine, online_again=online, cluster_facts=facts))
        for sentence in (*sentences, *on_runtime):
            names_by_sentence.setdefault(sentence, []).append(node.name)
    remarks = (
        f"{', '.join(fold_names(names))}: {sentence}"
        for sentence, names in names_by_sentence.items()
    )
    return imported._replace(nodes=tuple(nodes), remarks=(*imported.remarks, *remarks))


def _restored(machine: Machine, planned: Planned) -> tuple[Machine, list[str]]:
    machine, on_cpus = cpus.restore(machine, planned)
    machine, on_memory = restore_memory(machine, planned)
    return machine, [*on_cpus, *on_memory]


def _beside_targets(
    facts: Mapping[str, Any], planned: Planned
) -> tuple[Mapping[str, Any], list[str]]:
    """The facts of the cluster without a runtime that the node's target states.

    A target's own counts more than that of the Cluster document, which would change no plan.
    """
    runtime = facts.get("runtime")
    if planned.runtime is None or runtime is None:
        return facts, []
    others = {name: value for name, value in facts.items() if name not in OF_RUNTIMES}
    if runtime == planned.runtime:
        return others, []
    return others, [f"has {runtime}, where its target states runtime: {planned.runtime}"]
