"""What the release of a target lacks."""

from collections.abc import Iterator

from cpuplan.components import chosen, mixedcpus
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate, Position
from cpuplan.facts.platforms import Platform
from cpuplan.facts.platforms.features import Feature
from cpuplan.facts.versions import ships
from cpuplan.plan import NodePlan


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


def lacking(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
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
