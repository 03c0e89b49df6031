"""Labels, annotations and fields that the asked release does not read."""

from collections.abc import Iterator

from cpuplan.components import kubelet
from cpuplan.components.koordinator import names, node, slo
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.facts.settings.objects import BIND_POLICY, NUMA_SCORING, SCORING
from cpuplan.plan import NodePlan
from cpuplan.upstream.koordinator.extension import constants, releases
from cpuplan.upstream.koordinator.extension.releases import Span

#: numaScoringStrategy of NodeNUMAResourceArgs (pkg/scheduler/apis/config).
_NUMA_SCORING = Span((1, 4))


def check(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP632 for what the release lacks, CP6200 to CP6202 for what it does otherwise."""
    target = plan.node_class.target
    for field, since in _lacking(plan):
        yield diagnose(
            "CP632",
            locate(plan.node_class.place(field)),
            field=field,
            since=releases.name_of(since),
            release=target.koordinator,
        )
    yield from _doing_less(plan, locate)


def _lacking(plan: NodePlan) -> Iterator[tuple[str, tuple[int, int]]]:
    """(field, first release) of what is asked for in vain."""
    target = plan.node_class.target
    for field, key in _asked_of_node(plan):
        if not names.knows(target, key):
            yield field, releases.NODE_NAMES[key].since
    for field, span in (*_asked_of_config(plan), *_asked_of_pods(plan)):
        if not names.reads(target, span):
            yield field, span.since


def _asked_of_node(plan: NodePlan) -> Iterator[tuple[str, str]]:
    """(field, label or annotation) that the intent asks for."""
    given = plan.spec.koordinator
    rows = (
        ("numaTopologyPolicy", given.numa_topology_policy, constants.NUMA_TOPOLOGY_POLICY),
        ("numaReservation", given.numa_reservation, constants.ENABLE_NUMA_RESERVATION),
        ("systemQos", given.system_qos, constants.SYSTEM_QOS_RESOURCE),
    )
    for field, value, key in rows:
        if value:
            yield f"koordinator.{field}", key


def _asked_of_config(plan: NodePlan) -> Iterator[tuple[str, Span]]:
    """(field, when it came) of keys of the ConfigMaps."""
    given = plan.spec.koordinator
    threshold = releases.CONFIG_KEYS[slo.THRESHOLD]
    rows = (
        (
            "cpuAmplificationRatio",
            given.cpu_amplification_ratio,
            releases.CONFIG_KEYS[slo.AMPLIFICATION],
        ),
        ("cpuSuppressThresholdPercent", given.cpu_suppress_threshold_percent, threshold),
        ("cpuSuppressPolicy", given.cpu_suppress_policy, threshold),
        (f"scheduler.{BIND_POLICY.key}", given.scheduler.default_cpu_bind_policy, Span()),
        (f"scheduler.{SCORING.key}", given.scheduler.scoring_strategy, Span()),
        (f"scheduler.{NUMA_SCORING.key}", given.scheduler.numa_scoring_strategy, _NUMA_SCORING),
    )
    for field, value, span in rows:
        if value:
            yield f"koordinator.{field}", span


def _asked_of_pods(plan: NodePlan) -> Iterator[tuple[str, Span]]:
    """(field, when it came) of annotations of workloads, and of the class SYSTEM."""
    for index, workload in enumerate(plan.spec.koordinator.workloads):
        place = f"koordinator.workloads.{index}"
        if workload.required_cpu_bind_policy:
            field = "requiredCPUBindPolicy"
            yield f"{place}.{field}", releases.FIELDS[constants.RESOURCE_SPEC][field]
        if workload.numa_topology_policy:
            yield f"{place}.numaTopologyPolicy", releases.POD_NAMES[constants.NUMA_TOPOLOGY_SPEC]
        if workload.qos_class == "SYSTEM":
            yield f"{place}.qosClass", releases.NODE_NAMES[constants.SYSTEM_QOS_RESOURCE]


def _doing_less(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    node_class = plan.node_class
    position = locate(node_class.place(node_class.target_field("koordinator")))
    given = plan.spec.koordinator.numa_topology_policy
    if names.release(node_class.target) is None and given not in (None, "None"):
        label = names.name(node_class.target, constants.NUMA_TOPOLOGY_POLICY)
        yield diagnose("CP6200", position, named=label, known=constants.NUMA_TOPOLOGY_POLICY)
    if plan.spec.koordinator.cpu_amplification_ratio and kubelet.reserved_cpus(plan):
        place = node_class.place("koordinator.cpuAmplificationRatio")
        yield diagnose("CP6201", locate(place))
    is_subtracted = names.knows(node_class.target, constants.RESERVATION)
    if is_subtracted and kubelet.reserved_cpus(plan) and not node.has_apply_policy(plan):
        yield diagnose("CP6202", position, name=node_class.name)
