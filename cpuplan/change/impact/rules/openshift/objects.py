"""All MachineConfigs of a cluster: compiled ones, those that operators make of them, others."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from cpuplan.change.impact.rules.context import Cluster
from cpuplan.change.impact.rules.differences import objects
from cpuplan.change.impact.sides import Side
from cpuplan.components.openshift import pool as pools
from cpuplan.components.openshift.machineconfig import ROLE
from cpuplan.upstream.mco.common import McoError, Release
from cpuplan.upstream.mco.helpers import Object, name_of
from cpuplan.upstream.mco.kubelet_config_controller import KubeletConfigs

#: The fields of kubelet.conf that the operator writes itself are the same on both sides, and left
#: out of both.
_DEFAULTS: Mapping[str, dict[str, Any]] = {"worker": {}, "master": {}}


class Objects(NamedTuple):
    """What the pools of a cluster are rendered from, and what stops that."""

    machine_configs: tuple[Object, ...]
    pools: Mapping[str, Object]
    #: By the names of pools: the specs of KubeletConfigs.
    kubelet_configs: Mapping[str, Mapping[str, Any]]
    #: KubeletConfigs that the operator refuses.
    problems: tuple[str, ...] = ()


def of(side: Side, cluster: str, release: Release, context: Cluster) -> Objects:
    """The objects of one side, with those of others."""
    known = _compiled(side, cluster, release)
    names = {name_of(each) for each in known.machine_configs}
    others = [each for each in context.machine_configs if name_of(each) not in names]
    return known._replace(machine_configs=(*known.machine_configs, *others))


@lru_cache(maxsize=8)
def _compiled(side: Side, cluster: str, release: Release) -> Objects:
    """Those that are compiled, and what operators make of them: once for all pools."""
    compiled = [each.data for each in objects(side, cluster).values()]
    compiled += _made(side, cluster)
    by_name = {**_built_in(side, cluster), **_custom(compiled)}
    controller = KubeletConfigs(list(by_name.values()), _DEFAULTS, release)
    problems = tuple(_create(controller, _of_kind(compiled, "KubeletConfig")))
    controller.restart()
    generated = [each.as_object() for each in controller.machine_configs.values()]
    base = map(_of_operator, pools.BUILT_IN)
    every = (*base, *generated, *_of_kind(compiled, "MachineConfig"))
    return Objects(every, by_name, _specs(controller), problems)


def _specs(controller: KubeletConfigs) -> dict[str, Mapping[str, Any]]:
    """The KubeletConfig of each pool; the one with the highest number counts."""
    return {
        name_of(pool): source.spec
        for pool in controller.pools
        for source in controller.sources.values()
        if source.selects(pool)
    }


def _create(controller: KubeletConfigs, objects: Sequence[Object]) -> Iterator[str]:
    for item in objects:
        try:
            controller.create(item)
        except McoError as error:
            yield f"KubeletConfig {name_of(item)}: {error}"


def made(side: Side, cluster: str, kind: str) -> list[Object]:
    """The objects of a kind that the node tuning operator makes."""
    return _of_kind(_made(side, cluster), kind)


@lru_cache(maxsize=8)
def _made(side: Side, cluster: str) -> tuple[Object, ...]:
    return side.made(cluster)


def _of_kind(objects: Sequence[Object], kind: str) -> list[Object]:
    return [each for each in objects if each["kind"] == kind]


def _custom(compiled: Sequence[Object]) -> dict[str, Object]:
    return {name_of(each): each for each in _of_kind(compiled, "MachineConfigPool")}


def _built_in(side: Side, cluster: str) -> dict[str, Object]:
    """The pools that every cluster has, with the labels that the classes in them know."""
    labels = {name: dict(pools.built_in_labels(name)) for name in pools.BUILT_IN}
    for (of_cluster, _), plan in side.classes.items():
        if of_cluster == cluster and plan.get("pool") in labels:
            labels[plan["pool"]] |= _pool_labels(plan)
    return {name: _pool(name, labels[name]) for name in pools.BUILT_IN}


def _pool_labels(plan: Mapping[str, Any]) -> dict[str, str]:
    """The labels of the pool of a class; of a class that somebody edited, those that are some."""
    for entry in plan["settings"]:
        if (entry["component"], entry["key"]) == (pools.NAME, pools.LABELS):
            known = entry["value"] if isinstance(entry["value"], dict) else {}
            return {key: value for key, value in known.items() if isinstance(value, str)}
    return {}


def _pool(name: str, labels: Mapping[str, str]) -> Object:
    return {
        "kind": "MachineConfigPool",
        "metadata": {"name": name, "labels": labels},
        "spec": {"machineConfigSelector": {"matchLabels": {ROLE: name}}},
    }


def _of_operator(role: str) -> Object:
    """One of the operator's own objects, without which a pool without others selects nothing."""
    return {
        "kind": "MachineConfig",
        "metadata": {"name": f"00-{role}", "labels": {ROLE: role}},
        "spec": {"config": {"ignition": {"version": "3.2.0"}}},
    }
