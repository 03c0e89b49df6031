"""The expected state of each class: all that `check` reads of a plan."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from cpuplan.backends.base import Backend, Facts
from cpuplan.backends.tree import NodeFile as TreeFile
from cpuplan.components import containerd, derived, kubelet
from cpuplan.components.base import once
from cpuplan.plan import ConfiguredPlan
from cpuplan.plan.expected.state import FOLDER, Device, Expected, NodeFile, Release, render
from cpuplan.platforms import versions

#: A backend's `on_node`.
OnNode: TypeAlias = Callable[[ConfiguredPlan], Mapping[str, TreeFile]]


@once
def of(plan: ConfiguredPlan, on_node: OnNode) -> Expected:
    """What the nodes of a class must show, with the files that a backend gives."""
    node_class = plan.node_class
    files = on_node(plan)
    return Expected(
        cluster=node_class.cluster,
        name=node_class.name,
        intent=node_class.intent,
        hardware=node_class.hardware,
        nodes=node_class.nodes,
        release=_release(plan),
        topology=plan.topology,
        devices=tuple(Device(each.address, each.numa_node) for each in node_class.devices),
        pools={pool.name: pool for pool in (*plan.pools, *plan.sets)},
        settings=plan.settings,
        files={path: _file(file) for path, file in files.items()},
        facts=derived.facts(plan),
        inputs=node_class.inputs,
    )


def _file(file: TreeFile) -> NodeFile:
    return NodeFile(file.text, bool(file.mode & 0o111), file.component)


def text(plan: ConfiguredPlan, backend: Backend, of_cluster: Facts | None = None) -> str:
    """The file of a class; `of_cluster` are facts that the cluster's other classes decide too."""
    return render(of(plan, backend.on_node), of_cluster or {})


def _release(plan: ConfiguredPlan) -> Release:
    node_class = plan.node_class
    target = node_class.target
    takes_files = node_class.platform.takes_files
    return Release(
        platform=target.platform,
        version=target.version,
        kubernetes=versions.kubernetes_version(target),
        runtime=target.runtime,
        containerd=containerd.release(target) if target.runtime == containerd.NAME else None,
        pool=node_class.machine_config_pool or "",
        kubelet_drop_in=kubelet.drop_in(target) if takes_files else "",
    )


def path(cluster: str, name: str) -> str:
    """The path of the file of a class, below `out/`."""
    return f"clusters/{cluster}/{FOLDER}/{name}.json"
