"""The MachineConfig's own fields: the kernel, and the labels by which pools and TuneD find it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cpuplan.base import yaml_values
from cpuplan.base.emit import to_yaml
from cpuplan.components.chosen import stated
from cpuplan.components.emission import emit, given_or
from cpuplan.diagnostics import Reason
from cpuplan.facts.settings import openshift as rows
from cpuplan.language.model import vocabulary
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Setting, Value

NAME = rows.MACHINE_CONFIG
API_VERSION = "machineconfiguration.openshift.io/v1"
ROLE, WORKER, OWNER = vocabulary.MACHINE_ROLE, vocabulary.WORKER, vocabulary.MACHINE_OWNER
LABELS, KERNEL_TYPE = rows.MACHINE_CONFIG_LABELS.key, rows.KERNEL_TYPE.key
REAL_TIME = "realtime"


def settings(plan: NodePlan) -> Iterator[Setting]:
    """The kernel that nodes boot; the labels, except where a hosted cluster's NodePool has none."""
    kernel, because = kernel_type(plan)
    yield from emit(plan, rows.KERNEL_TYPE, kernel, because)
    node_class, target = plan.node_class, plan.node_class.target
    if target.is_hosted:
        return
    if given := target.machine_config_label:
        field, text = "machineConfigLabel", "the pool takes MachineConfigs with this label"
    else:
        given = {ROLE: target.pool or ""}
        field, text = "pool", f"the pool is {target.pool}"
    reasons: tuple[Reason, ...] = (node_class.reason(text, node_class.target_field(field)),)
    if target.pool == WORKER and not target.is_profile:
        text = "custom pools must not take the MachineConfig of the workers"
        given = {**given, OWNER: WORKER}
        reasons = (*reasons, node_class.reason(text, node_class.target_field("pool")))
    yield from emit(plan, rows.MACHINE_CONFIG_LABELS, {**given}, reasons)


def kernel_type(plan: NodePlan) -> tuple[str, tuple[Reason, ...]]:
    """The kernel that nodes boot, and why."""
    kernel = plan.spec.kernel
    if kernel.real_time:
        reason = stated(plan, "the kernel is the real-time one", "kernel.realTime")
        return REAL_TIME, (reason,)
    if kernel.page_size == "64k":
        reason = stated(plan, "the kernel has pages of 64 KiB", "kernel.pageSize")
        return "64k-pages", (reason,)
    reason = given_or(plan, rows.KERNEL_TYPE, "the kernel is not the real-time one")
    return rows.KERNEL_TYPE.usually, (reason,)


def document(settings: Sequence[Setting]) -> dict[str, Any]:
    """The fields as they stand in the object."""
    values = {setting.key: setting.value for setting in settings}
    metadata = {"labels": values[LABELS]} if LABELS in values else {}
    return {"metadata": metadata, "spec": {KERNEL_TYPE: values[KERNEL_TYPE]}}


def labels(settings: Sequence[Setting]) -> Mapping[str, str]:
    """The labels of the object."""
    by_key: Mapping[str, str] = document(settings)["metadata"].get("labels", {})
    return by_key


def render(settings: Sequence[Setting]) -> str:
    """The fields as YAML; empty without settings."""
    return to_yaml(document(settings)) if settings else ""


def parse(text: str) -> dict[str, Value]:
    """The same fields of an object's YAML."""
    data = next(yaml_values.load_yaml11(text))
    values: dict[str, Value] = {KERNEL_TYPE: data["spec"].get(KERNEL_TYPE, "default")}
    if labels := data["metadata"].get("labels"):
        values[LABELS] = labels
    return values
