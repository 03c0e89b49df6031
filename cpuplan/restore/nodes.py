"""The nodes of an import without what plans did to them."""

from pathlib import Path

from cpuplan.importers.base import Imported
from cpuplan.importers.machine import Machine
from cpuplan.name_ranges import fold_names
from cpuplan.restore import cpus, memory, plans
from cpuplan.restore.plans import Planned


def restore(imported: Imported, root: Path) -> Imported:
    """Undo what the plans of the project at `root` did, and what the machines themselves tell of
    plans.

    Remarks say what was undone, and what could not be.
    """
    project = plans.read(root)
    nodes = []
    said: dict[str, list[str]] = {}
    for node in imported.nodes:
        machine, sentences = _restored(node.machine, project.of(node))
        nodes.append(node._replace(machine=machine))
        for sentence in sentences:
            said.setdefault(sentence, []).append(node.name)
    remarks = (f"{', '.join(fold_names(names))}: {sentence}" for sentence, names in said.items())
    return imported._replace(nodes=tuple(nodes), remarks=(*imported.remarks, *remarks))


def _restored(machine: Machine, planned: Planned) -> tuple[Machine, list[str]]:
    found, sentences = cpus.restore(machine, planned)
    found, more = memory.restore(found, planned)
    return found, [*sentences, *more]
