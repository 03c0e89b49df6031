"""What the release of a target lacks."""

from collections.abc import Iterator

from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.plan import NodePlan
from cpuplan.source import Locate, Position
from cpuplan.versions import OPENSHIFT_FEATURES, RELEASES, kubernetes_version, ships


def check(plan: NodePlan, locate: Locate) -> list[Diagnostic]:
    """A release that the table does not have."""
    target = plan.node_class.target
    if kubernetes_version(target):
        return []
    position = locate(plan.node_class.place(plan.node_class.target_field("version")))
    return [unknown(target.platform, target.version, position)]


def unknown(platform: str, version: str, position: Position | None = None) -> Diagnostic:
    """That the table has no such release."""
    known = list(RELEASES[platform])
    return diagnose(
        "CP501", position, platform=platform, version=version, first=known[0], last=known[-1]
    )


def lacking(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """What the intent asks for and the release's machine config operator or node tuning operator
    does not know.
    """
    target, spec = plan.node_class.target, plan.spec
    if target.platform != "openshift":
        return
    by_profile = target.mode == "performanceProfile"
    page_size = "profile.kernel_page_size" if by_profile else "kernel.64k_pages"
    rows = (
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
    )
    for field, is_wanted, feature in rows:
        if is_wanted and not ships(target, feature):
            position = locate(plan.node_class.place(field))
            since = OPENSHIFT_FEATURES[feature]
            yield diagnose("CP554", position, field=field, since=since, version=target.version)
