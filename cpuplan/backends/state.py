"""What programs read of each class: its plan, and the expected state that `check` compares."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from cpuplan.backends.base import Backend, Facts
from cpuplan.backends.base import NodeFile as TreeFile
from cpuplan.base.emit import to_json
from cpuplan.components import containerd, derived, kubelet
from cpuplan.components.base import once
from cpuplan.facts import versions
from cpuplan.fleet import paused
from cpuplan.fleet.previous import CLASSES, VERSION
from cpuplan.language.model.vocabulary import PARTITION
from cpuplan.plan import ConfiguredPlan, Pool
from cpuplan.plan.expected.state import (
    FOLDER,
    Device,
    Expected,
    NodeFile,
    Release,
    because_data,
    render,
)
from cpuplan.plan.setting import Setting, plain


def plan_path(plan: ConfiguredPlan) -> str:
    """The path of the file of a class, below `out/`."""
    cluster, name = plan.node_class.key
    return f"{CLASSES}/{cluster}/{name}.json"


def render_plan(plan: ConfiguredPlan) -> bytes:
    """One class as JSON; of a paused one, what it was."""
    current = {"version": VERSION, **_class(plan)}
    return to_json(paused.noted(plan.kept, current) if plan.kept else current).encode()


def _class(plan: ConfiguredPlan) -> dict[str, Any]:
    node_class = plan.node_class
    return {
        "cluster": node_class.cluster,
        "class": node_class.name,
        "hardware": node_class.hardware,
        "intent": node_class.intent,
        **({"pool": node_class.target.pool} if node_class.target.pool else {}),
        "nodes": list(node_class.nodes),
        "pools": _pools(plan.pools),
        **({"sets": _sets(plan)} if plan.sets else {}),
        "settings": list(map(_setting, plan.settings)),
    }


def _setting(setting: Setting) -> dict[str, Any]:
    return {
        "component": setting.component,
        "key": setting.key,
        "value": plain(setting.value),
        "because": because_data(setting.reasons),
    }


def _pools(pools: tuple[Pool, ...]) -> dict[str, Any]:
    return {
        pool.name: {"cpus": str(pool.cpus), "because": because_data(pool.because)} for pool in pools
    }


def _sets(plan: ConfiguredPlan) -> dict[str, Any]:
    """QoS sets and partitions, these with what the kernel keeps off them alone."""
    sets = _pools(plan.sets)
    isolated = plan.spec.pools.isolated
    for name, partition in isolated.partitions.items() if isolated else ():
        stated = partition.isolation
        own = stated.model_dump(by_alias=True, exclude_none=True) if stated else {}
        if own and PARTITION + name in sets:
            sets[PARTITION + name]["isolation"] = own
    return sets


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
        devices=tuple(Device(device.address, device.numa_node) for device in node_class.devices),
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
    platform = node_class.platform
    runtime = platform.runtime or target.runtime
    has_files = platform.has_runtime_choice and runtime == containerd.NAME
    return Release(
        platform=target.platform,
        version=target.version,
        kubernetes=versions.kubernetes_version(target),
        runtime=runtime,
        containerd=containerd.release(target) if has_files else None,
        pool=node_class.machine_config_pool or "",
        kubelet_drop_in=kubelet.drop_in(target) if platform.takes_files else "",
        kubelet_unit=target.kubelet_unit or "",
    )


def path(cluster: str, name: str) -> str:
    """The path of the file of a class, below `out/`."""
    return f"clusters/{cluster}/{FOLDER}/{name}.json"
