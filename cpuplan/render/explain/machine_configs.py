"""What the nodes of a MachineConfigPool get, object by object."""

from cpuplan.backends.openshift.merged import Pool, Source
from cpuplan.base.text import counted, joined
from cpuplan.diagnostics.source import Locate
from cpuplan.facts.settings.openshift import KERNEL_TYPE
from cpuplan.render.explain.reasons import table


def explain_machine_configs(pool: Pool, node: str, locate: Locate) -> str:
    """The MachineConfigs of a node's pool in the order of merging, with what each contributes."""
    name = pool.plan.node_class.target.pool
    lines = [f"{node} is in pool {name}, whose MachineConfigs are, in the order of merging:", ""]
    for source in pool.sources:
        lines.append(f"{source.config.name}  {_place(pool, source, locate)}")
        lines += table([("", text) for text in _contents(source)])
    lines += ["", "together"]
    lines += table(
        [
            (KERNEL_TYPE.key, pool.rendered.kernel_type),
            ("kernelArguments", " ".join(pool.rendered.kernel_arguments)),
        ]
    )
    return "\n".join(lines) + "\n"


def _place(pool: Pool, source: Source, locate: Locate) -> str:
    """The line of the intent's pool, or of the object in the Cluster document."""
    if source.plan:
        node_class = source.plan.node_class
        place = node_class.place(node_class.target_field("pool"))
    else:
        field = source.place if source.is_kubelet else f"{source.place}.name"
        place = pool.plan.node_class.cluster_place(field)
    return str(locate(place) or place)


def _contents(source: Source) -> list[str]:
    """What an object adds; of an object that cpuplan does not write, by name."""
    config = source.config
    files = [name for field, name in source.writes() if field.startswith("files")]
    units = [name for field, name in source.writes() if field.startswith("units")]
    parts = [f"{KERNEL_TYPE.key} {config.kernel_type}"] if config.kernel_type else []
    if source.plan:
        numbers = (
            (len(config.kernel_arguments), "boot argument"),
            (len(files), "file"),
            (len(units), "unit"),
        )
        return [joined([*parts, *(counted(number, noun) for number, noun in numbers if number)])]
    return [*parts, *config.kernel_arguments, *files, *units]
