"""What the machine config operator renders of a pool's objects, as far as it follows from a plan.

`check` compares it with the rendered MachineConfig of the cluster, which has more: files and
arguments of the operator's own objects, and of what the Cluster document does not list.
"""

from collections.abc import Sequence

from cpuplan.backends.openshift import merged
from cpuplan.backends.openshift.merged import Pool, Source
from cpuplan.components.derived import RENDERED
from cpuplan.plan import ConfiguredPlan
from cpuplan.plan.setting import Value
from cpuplan.upstream.mco.common import RenderError


def facts(plans: Sequence[ConfiguredPlan]) -> dict[tuple[str, str], dict[str, Value]]:
    """The fact of each class that is in a pool, by the class's key.

    None where an object cannot be rendered: it is reported when it is written (CP570).
    """
    try:
        pools = list(merged.of_cluster(plans))
    except RenderError:
        return {}
    return {pool.plan.node_class.key: {RENDERED: fact(pool)} for pool in pools}


def fact(pool: Pool) -> Value:
    """The parts of the rendered object that compiled objects determine.

    `machineConfigs` are these objects. Files are by path, with their modes; units by name, with
    whether they are enabled. Those of which another object has the last word are left out.
    """
    own = [source for source in pool.sources if source.plan and not source.is_kubelet]
    last = {name: source for source in pool.sources for _, name in source.writes()}
    config = pool.rendered.config
    files = config.get("storage", {}).get("files") or ()
    units = config.get("systemd", {}).get("units") or ()
    return {
        "pool": pool.plan.node_class.target.pool or "",
        "machineConfigs": tuple(source.config.name for source in own),
        "kernelArguments": pool.rendered.kernel_arguments,
        "kernelType": pool.rendered.kernel_type,
        "files": {
            file["path"]: int(file["mode"]) for file in files if _is_of(last[file["path"]], own)
        },
        "units": {
            unit["name"]: bool(unit.get("enabled"))
            for unit in units
            if _is_of(last[unit["name"]], own)
        },
    }


def _is_of(source: Source, own: Sequence[Source]) -> bool:
    return any(source is each for each in own)
