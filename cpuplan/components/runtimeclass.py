"""RuntimeClass: the name by which pods ask for a handler of the runtime, and nodes that have it."""

from collections.abc import Iterator, Sequence
from typing import Any

from cpuplan.base import yaml_values
from cpuplan.base.emit import to_yaml
from cpuplan.components import containerd, crio
from cpuplan.components.emission import emit
from cpuplan.facts.settings import objects as rows
from cpuplan.language.model import vocabulary
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Setting, Value

NAME = rows.RUNTIME_CLASS
_SELECTOR = rows.RUNTIME_CLASS_SELECTOR.of(label="")


def settings(plan: NodePlan) -> Iterator[Setting]:
    """The object's fields, one for each label of the selector; none without a handler.

    There is one object for each intent, or for each pool of a split one.
    """
    own = name(plan)
    if not own:
        return
    because = crio.why_handler(plan)
    yield from emit(plan, rows.RUNTIME_CLASS_NAME, own, because)
    yield from emit(plan, rows.RUNTIME_CLASS_HANDLER, plan.spec.runtime.handler, because)
    for label, value in sorted(node_selector(plan).items()):
        reason = plan.node_class.reason("only these nodes have the handler", _selector_field(plan))
        yield from emit(plan, rows.RUNTIME_CLASS_SELECTOR, value, (reason,), label=label)


def name(plan: NodePlan) -> str:
    """The name of the plan's object; empty without a handler."""
    has_handler = crio.has_handler(plan) or containerd.has_handler(plan)
    return f"performance-{plan.node_class.profile}" if has_handler else ""


def node_selector(plan: NodePlan) -> dict[str, str]:
    """The labels of the nodes: of their pool, or those by which the intent selects nodes."""
    target = plan.node_class.target
    if not plan.node_class.platform.has_pools:
        return plan.spec.selector.match_labels
    if target.pool == "master" and not (target.node_selector or target.is_profile):
        # Every supported release labels these nodes with both (machine-config-operator,
        # templates/master/01-master-kubelet); Kubernetes has given up the older one.
        return {vocabulary.role("control-plane"): ""}
    return vocabulary.node_selector(target)


def _selector_field(plan: NodePlan) -> str:
    node_class = plan.node_class
    if not node_class.platform.has_pools:
        return "selector.matchLabels"
    return node_class.target_field("nodeSelector" if node_class.target.node_selector else "pool")


def document(settings: Sequence[Setting]) -> dict[str, Any]:
    """The settings as an object."""
    values = {setting.key: setting.value for setting in settings}
    made: dict[str, Any] = {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": values["metadata.name"]},
        "handler": values["handler"],
    }
    labels = {
        key.removeprefix(_SELECTOR): value
        for key, value in values.items()
        if key.startswith(_SELECTOR)
    }
    if labels:
        made["scheduling"] = {"nodeSelector": labels}
    return made


def render(settings: Sequence[Setting]) -> str:
    """The object's YAML; empty without settings."""
    return to_yaml(document(settings)) if settings else ""


def parse(text: str) -> dict[str, Value]:
    """The same fields of an object's YAML."""
    data = next(yaml_values.load_yaml11(text))
    values: dict[str, Value] = {
        "metadata.name": data["metadata"]["name"],
        "handler": data["handler"],
    }
    labels = (data.get("scheduling") or {}).get("nodeSelector") or {}
    return values | {_SELECTOR + label: value for label, value in labels.items()}
