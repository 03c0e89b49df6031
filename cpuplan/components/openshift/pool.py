"""The pool of the nodes: its labels, which MachineConfigs it takes, and which nodes are in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cpuplan.base import yaml_values
from cpuplan.base.emit import to_yaml
from cpuplan.components.emission import emit
from cpuplan.components.openshift.machineconfig import API_VERSION, OWNER, ROLE, WORKER
from cpuplan.diagnostics import Reason
from cpuplan.facts.settings import openshift as rows
from cpuplan.facts.settings.openshift import POOL_SELECTOR
from cpuplan.language.model import vocabulary
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Setting, Value

if TYPE_CHECKING:
    from cpuplan.language.model.intent import Target

NAME = rows.POOL
#: Pools that every cluster has; cpuplan does not write them.
BUILT_IN = vocabulary.BUILT_IN_POOLS
LABELS, NODE_SELECTOR = rows.POOL_LABELS.key, rows.POOL_NODES.key
#: Labels of the pools that every cluster has (manifests of the machine config operator).
_OWN_LABEL = "pools.operator.machineconfiguration.openshift.io/{}"
_BUILT_IN_LABEL = "machineconfiguration.openshift.io/mco-built-in"
_REQUIRED_LABEL = "operator.machineconfiguration.openshift.io/required-for-upgrade"
#: The roles whose MachineConfigs it takes, and the pools whose marked ones it does not.
SELECTOR, WITHOUT = rows.POOL_SELECTOR.key, rows.POOL_WITHOUT.key


def settings(plan: NodePlan) -> Iterator[Setting]:
    """Labels of objects and nodes; on a hosted cluster, with its NodePool, of nodes only."""
    node_class, target = plan.node_class, plan.node_class.target
    if not target.is_hosted:
        pool = node_class.reason(f"the pool is {target.pool}", node_class.target_field("pool"))
        given = target.machine_config_pool_selector
        field = node_class.target_field("machineConfigPoolSelector")
        reason = node_class.reason("a KubeletConfig finds the pool by them", field)
        why = (reason if given else pool,)
        yield from emit(plan, rows.POOL_LABELS, dict(labels(target)), why)
        if target.pool not in BUILT_IN:
            yield from emit(plan, rows.POOL_SELECTOR, vocabulary.machine_roles(target), (pool,))
            text = "the boot arguments and files of the workers are not for the pool"
            field = node_class.target_field("pool")
            why = (node_class.reason(text, field),)
            yield from emit(plan, rows.POOL_WITHOUT, (WORKER,), why)
    selector, because = node_selector(plan)
    yield from emit(plan, rows.POOL_NODES, selector, because)


def node_selector(plan: NodePlan) -> tuple[Value, tuple[Reason, ...]]:
    """The labels of the pool's nodes, and why."""
    node_class, target = plan.node_class, plan.node_class.target
    if target.node_selector:
        text, field = "the nodes of the pool have them", "nodeSelector"
    else:
        text, field = f"the pool is {target.pool}", "pool"
    reason = node_class.reason(text, node_class.target_field(field))
    return {**vocabulary.node_selector(target)}, (reason,)


def labels(target: Target) -> Mapping[str, str]:
    """The labels by which a KubeletConfig finds the pool; the operator labels built-in pools."""
    if target.machine_config_pool_selector:
        return target.machine_config_pool_selector
    if target.pool in BUILT_IN:
        return {_OWN_LABEL.format(target.pool): ""}
    return {ROLE: target.pool or ""}


def built_in_labels(name: str) -> Mapping[str, str]:
    """All labels of a pool that every cluster has; none of a custom pool."""
    if name not in BUILT_IN:
        return {}
    required = {} if name == WORKER else {_REQUIRED_LABEL: ""}
    return {_OWN_LABEL.format(name): "", _BUILT_IN_LABEL: "", **required}


def all_labels(target: Target) -> Mapping[str, str]:
    """All labels of the pool that are known, by which any object may select it."""
    return {**built_in_labels(target.pool or ""), **labels(target)}


def document(settings: Sequence[Setting]) -> dict[str, Any]:
    """The MachineConfigPool without a name.

    `paused` and `configuration` belong to people and to the operator.
    """
    values = {setting.key: setting.value for setting in settings}
    spec: dict[str, Any] = {}
    if roles := values.get(SELECTOR):
        expressions = [{"key": ROLE, "operator": "In", "values": _plain(roles)}]
        if others := values.get(WITHOUT):
            expressions.append({"key": OWNER, "operator": "NotIn", "values": _plain(others)})
        spec[POOL_SELECTOR.key] = {"matchExpressions": expressions}
    if labels := values.get(NODE_SELECTOR):
        spec["nodeSelector"] = {"matchLabels": labels}
    metadata = {"labels": values[LABELS]} if LABELS in values else {}
    return {
        "apiVersion": API_VERSION,
        "kind": "MachineConfigPool",
        "metadata": metadata,
        "spec": spec,
    }


def _plain(value: Value) -> list[Value]:
    return list(value) if isinstance(value, tuple) else [value]


def render(settings: Sequence[Setting]) -> str:
    """The object's YAML, without a name."""
    return to_yaml(document(settings))


def parse(text: str) -> dict[str, Value]:
    """The same fields of an object's YAML."""
    data = next(yaml_values.load_yaml11(text))
    spec = data["spec"]
    values: dict[str, Value] = {}
    if labels := data["metadata"].get("labels"):
        values[LABELS] = labels
    for expression in spec.get(POOL_SELECTOR.key, {}).get("matchExpressions", ()):
        if expression["key"] == ROLE:
            values[SELECTOR] = tuple(expression["values"])
        if expression["key"] == OWNER:
            values[WITHOUT] = tuple(expression["values"])
    if labels := spec.get("nodeSelector", {}).get("matchLabels"):
        values[NODE_SELECTOR] = labels
    return values
