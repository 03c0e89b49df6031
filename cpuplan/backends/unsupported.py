"""What a platform lacks of a plain node with CRI-O: said where it was asked for, never dropped."""

from collections.abc import Iterator, Mapping, Sequence

from cpuplan.backends.base import Manifest, NodeFile
from cpuplan.components import mixedcpus, units
from cpuplan.components.base import Component
from cpuplan.components.chosen import DEFAULT, is_written
from cpuplan.components.dra import claims, classes, driver, resource_slices
from cpuplan.components.nri import balloons, topologyaware
from cpuplan.diagnostics import Diagnostic, Reason, diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.plan import ConfiguredPlan, NodePlan
from cpuplan.plan.setting import Setting

#: Of mechanisms that other codes refuse as a whole: CP590 and CP508.
_REFUSED = {
    balloons.NAME,
    topologyaware.NAME,
    driver.NAME,
    classes.NAME,
    claims.NAME,
    resource_slices.NAME,
}
#: Fields of `runtime` that CRI-O alone reads; mixedCpus goes with the shared pool.
_OF_CRIO = (
    "handler",
    "containersLimit",
    "sharedNamespaces",
    "annotatePods",
    "execCpuAffinity",
)


def check(
    plan: NodePlan, lacking: Sequence[Component], locate: Locate, dead: Sequence[Setting] = ()
) -> Iterator[Diagnostic]:
    """CP598 where the intent asks for what only these components give, CP599 for what they add.

    `dead` are settings of other components that nothing on the platform reads.
    """
    refused_fields = list(_without_crio(plan, locate))
    yield from refused_fields
    if refused_fields:
        return
    without = [component for component in lacking if component.NAME not in _REFUSED]
    settings = [setting for component in without for setting in component.settings(plan)]
    seen: set[str] = set()
    for setting in filter(_is_asked, settings):
        origin = _statement(setting, locate).origin
        if origin not in seen:
            seen.add(origin)
            yield refused(plan, setting, locate)
    added = [*(setting for setting in settings if not _is_asked(setting)), *dead]
    if added:
        yield diagnose(
            "CP599",
            locate(plan.node_class.place(plan.node_class.target_field("platform"))),
            platform=plan.node_class.platform.title,
            settings=", ".join(f"{setting.component} {setting.key}" for setting in added),
        )


def refused(plan: NodePlan, setting: Setting, locate: Locate) -> Diagnostic:
    """CP598 at the last statement that a setting comes from."""
    reason = _statement(setting, locate)
    return diagnose(
        "CP598",
        locate(reason.origin),
        platform=plan.node_class.platform.title,
        setting=f"{setting.component} {setting.key}",
        reason=reason.text,
    )


def manifests(_plan: ConfiguredPlan) -> Iterator[Manifest]:
    """None, where nothing of the platform's containerd needs an object."""
    return iter(())


def node_files(_plan: ConfiguredPlan) -> Mapping[str, bytes]:
    """None, where the platform takes settings and writes its files itself."""
    return {}


def on_node(_plan: ConfiguredPlan) -> Mapping[str, NodeFile]:
    """None that are known, for the same reason."""
    return {}


def _statement(setting: Setting, locate: Locate) -> Reason:
    """The last reason that stands in a document; the solver's own wishes do not."""
    stated = (reason for reason in reversed(setting.reasons) if locate(reason.origin))
    return next(stated, setting.reasons[-1])


def _without_crio(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP598 for what only CRI-O gives: shared CPUs, and the fields of `runtime`."""
    fields = [f"runtime.{field}" for field in _OF_CRIO if is_written(plan, f"runtime.{field}")]
    if mixedcpus.are_wanted(plan):
        fields.append("pools.shared")
    for field in fields:
        yield diagnose(
            "CP598",
            locate(plan.node_class.place(field)),
            platform=plan.node_class.platform.title,
            setting=field,
            reason="its containerd has nothing like it",
        )


def _is_asked(setting: Setting) -> bool:
    """Whether the intent itself asks for it, and no default; nobody asks for a check of pages."""
    if setting.component == units.NAME and units.is_check(setting.key):
        return False
    return all(reason.origin != DEFAULT for reason in setting.reasons)
