"""The nodes of an import without what plans did to them."""

from pathlib import Path

from cpuplan.base.name_ranges import fold_names
from cpuplan.base.progress import stage
from cpuplan.change.restore import cpus, memory, plans
from cpuplan.change.restore.plans import Planned
from cpuplan.importers.base import Imported
from cpuplan.importers.machine import Machine


@stage("undoing what a plan did")
def restore(imported: Imported, root: Path) -> Imported:
    """Undo what the plans of the project at `root`, and those that the machines show, changed.

    Remarks describe what was undone, and what could not be.
    """
    project = plans.read(root)
    nodes = []
    names_by_sentence: dict[str, list[str]] = {}
    for node in imported.nodes:
        machine, sentences = _restored(node.machine, project.of(node))
        nodes.append(node._replace(machine=machine))
        for sentence in sentences:
            names_by_sentence.setdefault(sentence, []).append(node.name)
    remarks = (
        f"{', '.join(fold_names(names))}: {sentence}"
        for sentence, names in names_by_sentence.items()
    )
    return imported._replace(nodes=tuple(nodes), remarks=(*imported.remarks, *remarks))


def _restored(machine: Machine, planned: Planned) -> tuple[Machine, list[str]]:
    machine, on_cpus = cpus.restore(machine, planned)
    machine, on_memory = memory.restore(machine, planned)
    return machine, [*on_cpus, *on_memory]
