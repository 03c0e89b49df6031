"""The DRA CPU driver's configuration, and names of the API that claims and classes share.

It is a file from 0.3 on, and before that flags, by the values of its chart.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cpuplan.base import yaml_values
from cpuplan.base.cpuset import CpuSet
from cpuplan.base.emit import to_yaml
from cpuplan.components.chosen import is_written, of_mechanism, stated, stated_or
from cpuplan.components.emission import emit
from cpuplan.diagnostics import Reason
from cpuplan.facts import versions
from cpuplan.facts.settings import objects as rows
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Setting, Value, from_plain, plain
from cpuplan.upstream.dra.api import DRIVER, GROUPED, INDIVIDUAL
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.nri.api import TOLERATION

#: The DeviceClass of the driver's chart: any CPU of any node.
CLASS = DRIVER
API_VERSION = "resource.k8s.io/v1"
#: The label of nodes that have the CPUs of a DeviceClass, with the name of their class.
CLASS_LABEL = "cpuplan.io/class"
#: Devices of one claim at most (AllocationResultsMaxSize), and conditions of one.
MOST_DEVICES = MOST_CONSTRAINTS = 32


def published_mode(plan: NodePlan) -> str:
    """What the driver publishes: as the target says, else individual CPUs for partitions."""
    isolated = plan.spec.pools.isolated
    derived = INDIVIDUAL if isolated and isolated.partitions else GROUPED
    return plan.node_class.target.dra.mode or derived


NAME = rows.DRA_DRIVER
#: The first release that reads a file; the charts before have no nodeSelector either.
FILE_SINCE = "0.3"
CONSUMABLE, ALLOCATABLE = "DRAConsumableCapacity", "DRANodeAllocatableResources"


def settings(plan: NodePlan) -> Iterator[Setting]:
    """Fields of the configuration; nothing that is a default of the driver."""
    target = plan.node_class.target
    if not target.has_dra:
        return
    mode = published_mode(plan)
    yield from emit(plan, rows.DRA_MODE, mode, (_why_mode(plan, mode),))
    if mode == GROUPED:
        default = of_mechanism(plan, "the driver's default")
        place = target_field(plan, "groupBy")
        because = stated_or(plan, "what is one device", place, default)
        yield from emit(plan, rows.DRA_GROUP_BY, target.dra.group_by, (because,))
    if cpus := reserved(plan):
        kept = of_mechanism(plan, "what the driver reserves, the kubelet reserves too")
        because_all = (*plan.pool("reserved").because, *plan.pool("isolcpus").because, kept)
        yield from emit(plan, rows.DRA_RESERVED, cpus, because_all)
    if target.dra.accounting == "mapping":
        place = target_field(plan, "accounting")
        counted = stated(plan, "the scheduler and the kubelet count claims", place)
        yield from emit(plan, rows.DRA_MAPPING, True, (counted,))


def target_field(plan: NodePlan, name: str) -> str:
    """The path of a field of `dra` of the target."""
    return plan.node_class.target_field(f"dra.{name}")


def _why_mode(plan: NodePlan, mode: str) -> Reason:
    if is_written(plan, target_field(plan, "mode")):
        return stated(plan, "asked for", target_field(plan, "mode"))
    if mode == INDIVIDUAL:
        text = "partitions are chosen by the numbers of their CPUs"
        return stated(plan, text, "pools.isolated.partitions")
    return of_mechanism(plan, "no partition needs devices of single CPUs")


def reserved(plan: NodePlan) -> CpuSet:
    """CPUs that no container gets: as reserved for the kubelet, isolcpus included.

    The driver never reads which CPUs the kernel isolates: it would give them to shared containers.
    """
    return plan.pool("reserved").cpus | plan.pool("isolcpus").cpus


def reads_file(plan: NodePlan) -> bool:
    """Whether the driver's release reads a configuration file."""
    return versions.from_text(plan.node_class.target.dra.release) >= versions.from_text(FILE_SINCE)


def needed(plan: NodePlan) -> dict[str, str]:
    """The feature gates that the driver needs, each with what needs it."""
    target = plan.node_class.target
    reasons: dict[str, str] = {}
    if target.has_dra and published_mode(plan) == GROUPED:
        reasons[CONSUMABLE] = "claims take a part of a device"
    if target.has_dra and target.dra.accounting == "mapping":
        reasons[ALLOCATABLE] = "claims count as CPUs of pods"
    return reasons


def gates(plan: NodePlan) -> dict[str, str]:
    """Those that are off by default in the target's release; none for an unknown release."""
    version = versions.kubernetes_version(plan.node_class.target)
    if version is None:
        return {}
    by_default = Gates({}, version)
    return {gate: why for gate, why in needed(plan).items() if not by_default.enabled(gate)}


def values(plan: NodePlan, settings: Sequence[Setting]) -> dict[str, Any]:
    """Values of the driver's chart for the nodes of a class."""
    given = configuration(settings)
    # The runtime starts no container without the driver, but the driver's own.
    common = {"podAnnotations": {f"{TOLERATION}/pod": "true"}}
    if not reads_file(plan):
        return {"args": given, **common}
    return {"driverConfig": given, "nodeSelector": selector(plan), **common}


def selector(plan: NodePlan) -> dict[str, str]:
    """The labels of the nodes of a class."""
    return {CLASS_LABEL: plan.node_class.name}


def configuration(settings: Sequence[Setting]) -> dict[str, Any]:
    """The settings as the driver's file has them; CPUs are text, a number would be refused."""
    return {setting.key: plain(setting.value) for setting in settings}


def render(settings: Sequence[Setting]) -> str:
    """The file's YAML; empty without settings."""
    return to_yaml(configuration(settings)) if settings else ""


def parse(text: str) -> dict[str, Value]:
    """The fields of a file."""
    data: Mapping[str, Any] = next(yaml_values.load_yaml11(text)) or {}
    return {key: _value(key, value) for key, value in data.items()}


def _value(key: str, value: Any) -> Value:
    return (
        CpuSet.parse(value)
        if key == rows.DRA_RESERVED.key and isinstance(value, str)
        else from_plain(value)
    )
