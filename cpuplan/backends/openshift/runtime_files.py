"""Files of CRI-O that MachineConfigs of others bring to the nodes of a class, by their names."""

from collections.abc import Iterator

from cpuplan.backends.openshift import merged, objects
from cpuplan.components.openshift import pinning
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.plan import ConfiguredPlan
from cpuplan.upstream.crio.traps import is_left_over
from cpuplan.upstream.mco.helpers import read_selector

_FOLDER, _, _OWN = objects.CRIO_DROP_IN.rpartition("/")
_PINNING = pinning.CRIO_PATH.rpartition("/")[2]


def check(plan: ConfiguredPlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP588: files that CRI-O reads after cpuplan's, or although they are no configuration."""
    selector = read_selector(merged.pool_object(plan)["spec"]["machineConfigSelector"])
    node_class = plan.node_class
    for number, config in enumerate(node_class.cluster_facts.machine_configs):
        if not selector.matches(config.labels):
            continue
        for index, path in enumerate(config.files):
            folder, _, name = path.rpartition("/")
            if problem := _problem(name) if folder == _FOLDER else "":
                place = locate(node_class.cluster_place(f"machineConfigs.{number}.files.{index}"))
                pool = node_class.target.pool
                yield diagnose(
                    "CP588", place, pool=pool, name=config.name, path=path, problem=problem
                )


def _problem(name: str) -> str:
    """What CRI-O makes of a file of its folder; empty where nothing is wrong with the name."""
    if is_left_over(name):
        return "whatever its name ends in"
    # What replaces cpuplan's own file of this name is CP238; the installer's has workloads only.
    if name <= _OWN or name == _PINNING:
        return ""
    return f"after {_OWN}: its keys win, and its tables of handlers replace cpuplan's"
