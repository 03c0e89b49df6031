"""What the release of a target lacks, and defaults that an intent switches to no effect."""

from collections.abc import Iterator

from cpuplan.base.text import joined, quantity_text
from cpuplan.components import chosen, memory, mixedcpus
from cpuplan.components.chosen import is_written
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate, Position
from cpuplan.facts import platforms
from cpuplan.facts.platforms import Feature, Platform
from cpuplan.facts.settings.kubelet import (
    EVICTION_HARD,
    KUBE_RESERVED,
    MEMORY_MANAGER_POLICY,
    SYSTEM_RESERVED,
)
from cpuplan.facts.settings.table import SWITCHES
from cpuplan.facts.versions import ships
from cpuplan.plan import NodePlan

#: What the memory manager's reservation is the sum of.
_AMOUNTS = (KUBE_RESERVED.head, SYSTEM_RESERVED.head, EVICTION_HARD.head)


def check_defaults(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP560 to CP563."""
    yield from _check_switches(plan, locate)
    yield from _check_amounts(plan, locate)


def _check_switches(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    own = plan.node_class.target
    platforms_of_intent = [platforms.of(target) for target in plan.spec.targets]
    seen: set[str] = set()
    for index, switch in enumerate(plan.spec.defaults):
        name = switch.enable or switch.disable or ""
        position = locate(plan.node_class.place(f"defaults.{index}"))
        if name in seen:
            yield diagnose("CP563", position, name=name)
        seen.add(name)
        possible = SWITCHES[name].possible
        if not any(possible.includes(platform) for platform in platforms_of_intent):
            yield diagnose("CP560", position, name=name, platform=own.platform)
        if own.is_profile:
            yield diagnose("CP561", position, name=name)


def _check_amounts(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """A drop-in is laid over a configuration that cpuplan does not know."""
    owns_all = plan.node_class.platform.owns_kubelet_configuration
    if owns_all or not memory.uses_memory_manager(plan):
        return
    unsaid = [field for field in _AMOUNTS if not is_written(plan, f"kubelet.{field}")]
    if unsaid:
        position = locate(plan.node_class.place(MEMORY_MANAGER_POLICY.field))
        total = quantity_text(memory.reservation(plan))
        yield diagnose("CP562", position, fields=joined(unsaid), total=total)


def check(plan: NodePlan, locate: Locate) -> list[Diagnostic]:
    """Releases that the table does not have: of the nodes and of their control plane."""
    node_class = plan.node_class
    target, platform, facts = node_class.target, node_class.platform, node_class.cluster_facts
    stated = {
        node_class.place(node_class.target_field("version")): target.version,
        node_class.cluster_place("version"): facts.version,
    }
    return [
        unknown(platform, release, locate(place))
        for place, release in stated.items()
        if release and release not in platform.releases
    ]


def unknown(platform: Platform, version: str, position: Position | None = None) -> Diagnostic:
    """That the table has no such release."""
    first, *_, last = platform.releases
    return diagnose(
        "CP501", position, platform=platform.name, version=version, first=first, last=last
    )


def check_features(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """What the intent asks for and the operators of the release do not know."""
    target, spec = plan.node_class.target, plan.spec
    spans = plan.node_class.platform.features
    if not spans:
        return
    by_profile = target.is_profile
    page_size: Feature = "profile.kernel_page_size" if by_profile else "kernel.64k_pages"
    rows: tuple[tuple[str, bool, Feature], ...] = (
        ("kernel.pageSize", spec.kernel.page_size == "64k", page_size),
        (
            "hardwareTuning",
            by_profile and spec.hardware_tuning is not None,
            "profile.hardware_tuning",
        ),
        (
            "kubelet.dynamicResourceAllocation",
            by_profile and spec.kubelet.dynamic_resource_allocation,
            "profile.dynamic_resource_allocation",
        ),
        ("openVSwitch.dpdk", spec.open_v_switch.dpdk, "ovs.dpdk"),
        (
            "pools.shared" if spec.runtime.mixed_cpus is None else "runtime.mixedCpus",
            by_profile and mixedcpus.are_wanted(plan),
            "profile.mixed_cpus",
        ),
        (
            "runtime.execCpuAffinity",
            by_profile and chosen.exec_affinity(plan) == "first",
            "profile.exec_affinity",
        ),
        (
            plan.node_class.target_field("controlPlaneTopology"),
            by_profile and target.is_hosted,
            "profile.hosted_clusters",
        ),
    )
    for field, is_wanted, feature in rows:
        if is_wanted and not ships(target, feature):
            position = locate(plan.node_class.place(field))
            since = spans[feature].first
            yield diagnose("CP554", position, field=field, since=since, version=target.version)
