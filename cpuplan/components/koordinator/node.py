"""Labels and annotations of nodes that Koordinator reads, and no others of these nodes."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cpuplan.base import yaml_values
from cpuplan.base.cpuset import CpuSet
from cpuplan.base.emit import to_yaml
from cpuplan.base.foreign import ForeignError, read_json
from cpuplan.components import kubelet
from cpuplan.components.chosen import of_mechanism
from cpuplan.components.emission import emit
from cpuplan.components.koordinator import release_names, slo
from cpuplan.facts.settings import objects as rows
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Setting, Value, from_plain, plain
from cpuplan.upstream.koordinator.extension import constants, releases

NAME = rows.KOORDINATOR
HEAD = {"apiVersion": "v1", "kind": "Node"}
#: cpuplan's own label, by which slo-controller-config knows the nodes of an intent.
INTENT_LABEL = "cpuplan.io/intent"
#: Fields of annotations that are CPU lists.
_CPU_LISTS = ("reservedCPUs", "cpuset")
_ONLY_CPUS = "ReservedCPUsOnly"


def settings(plan: NodePlan) -> Iterator[Setting]:
    """Each label and annotation by its key."""
    if not plan.node_class.target.has_koordinator:
        return
    yield from _labels(plan)
    target = plan.node_class.target
    if release_names.knows(target, constants.RESERVATION):
        yield from _reservation(plan)
    if plan.spec.koordinator.system_qos and release_names.knows(
        target, constants.SYSTEM_QOS_RESOURCE
    ):
        yield from _system_qos(plan)


def _labels(plan: NodePlan) -> Iterator[Setting]:
    given, target = plan.spec.koordinator, plan.node_class.target
    asked: tuple[tuple[str, str, str | None, str], ...] = (
        (
            constants.CPU_BIND_POLICY,
            "cpuBindPolicy",
            given.cpu_bind_policy,
            "koord-scheduler binds every pod with CPU requests by it, whatever its class",
        ),
        (
            constants.NUMA_ALLOCATE_STRATEGY,
            "numaAllocateStrategy",
            given.numa_allocate_strategy,
            "the NUMA node that koord-scheduler takes CPUs from first",
        ),
        (
            constants.NUMA_TOPOLOGY_POLICY,
            "numaTopologyPolicy",
            given.numa_topology_policy,
            "koord-scheduler aligns pods by it",
        ),
        (
            constants.ENABLE_NUMA_RESERVATION,
            "numaReservation",
            "true" if given.numa_reservation else None,
            "NUMA nodes have less by what the kubelet reserves",
        ),
    )
    for key, field, value, text in asked:
        if value not in (None, "None") and release_names.knows(target, key):
            because = (plan.node_class.reason(text, f"koordinator.{field}"),)
            label = release_names.name(target, key)
            yield from emit(plan, rows.KOORDINATOR_NODE, str(value), because, name=label)
    if any(slo.settings(plan)):
        text = f"{slo.CONFIG_MAP} knows the nodes of the intent by it"
        because = (of_mechanism(plan, text),)
        intent = plan.node_class.intent
        yield from emit(plan, rows.KOORDINATOR_NODE, intent, because, name=INTENT_LABEL)


def _reservation(plan: NodePlan) -> Iterator[Setting]:
    """The CPUs that the kubelet reserves: koord-scheduler gives none away, koordlet pools none.

    Release 1.2 knows no policy; it takes them off allocatable once more (CP638).
    """
    cpus = kubelet.reserved_cpus(plan)
    if not cpus:
        return
    value: dict[str, Value] = {"reservedCPUs": cpus}
    because = plan.pool("reserved").because
    for name, hidden in kubelet.hidden_cpus(plan).items():
        because = (*because, *plan.pool(name).because) if hidden else because
    if has_apply_policy(plan):
        value["applyPolicy"] = _ONLY_CPUS
        text = "the kubelet subtracts them from allocatable already"
        because = (*because, of_mechanism(plan, text))
    yield from emit(plan, rows.KOORDINATOR_NODE, value, because, name=constants.RESERVATION)


def has_apply_policy(plan: NodePlan) -> bool:
    """Whether a reservation may leave the node's allocatable amounts alone."""
    span = releases.FIELDS[constants.RESERVATION]["applyPolicy"]
    return release_names.reads(plan.node_class.target, span)


def _system_qos(plan: NodePlan) -> Iterator[Setting]:
    pool = plan.pool(plan.spec.koordinator.system_qos or "")
    if pool.cpus:
        value: Value = {"cpuset": pool.cpus, "cpusetExclusive": True}
        reason = plan.node_class.reason("pods of the class SYSTEM", "koordinator.systemQos")
        because = (*pool.because, reason)
        name = constants.SYSTEM_QOS_RESOURCE
        yield from emit(plan, rows.KOORDINATOR_NODE, value, because, name=name)


def pods_text(plan: NodePlan, name: str) -> str:
    """Which pods run on the CPUs of a pool or partition; empty where it is for none."""
    if not plan.node_class.target.has_koordinator:
        return ""
    if name == plan.spec.koordinator.system_qos:
        return "those of the class SYSTEM"
    if name == "isolated":
        return "LSE and LSR pods have their own; LS pods share the others, BE pods what is idle"
    return ""


def metadata(settings: Sequence[Setting]) -> dict[str, dict[str, str]]:
    """The labels and annotations as an object has them; what is more than a word is JSON."""
    made: dict[str, dict[str, str]] = {}
    for setting in settings:
        value = plain(setting.value)
        if isinstance(value, str):
            made.setdefault("labels", {})[setting.key] = value
        else:
            text = json.dumps(value, separators=(",", ":"))
            made.setdefault("annotations", {})[setting.key] = text
    return made


def document(settings: Sequence[Setting]) -> dict[str, Any]:
    """The settings as a Node without a name, for server-side apply."""
    return {**HEAD, "metadata": metadata(settings)}


def render(settings: Sequence[Setting]) -> str:
    """The object's YAML; empty without settings."""
    return to_yaml(document(settings)) if settings else ""


def parse(text: str) -> dict[str, Value]:
    """The labels and annotations of a Node's YAML or JSON that are Koordinator's or cpuplan's."""
    data = next(yaml_values.load_yaml11(text))["metadata"]
    labels, annotations = data.get("labels") or {}, data.get("annotations") or {}
    values: dict[str, Value] = {key: text for key, text in labels.items() if _is_read(key)}
    for key, value in annotations.items():
        if _is_read(key):
            values[key] = _annotation(value)
    return values


def _is_read(key: str) -> bool:
    return key.startswith(constants.NODE) or key == INTENT_LABEL


def _annotation(text: str) -> Value:
    """The value of JSON; other text as it is."""
    try:
        data = read_json(text)
    except ForeignError:
        return text
    return _with_cpus(data) if isinstance(data, Mapping) else from_plain(data)


def _with_cpus(data: Mapping[str, Any]) -> Value:
    made: dict[str, Value] = {}
    for key, value in data.items():
        is_list = key in _CPU_LISTS and isinstance(value, str)
        made[key] = CpuSet.parse_kubelet(value) if is_list else from_plain(value)
    return made
