"""What the checks of mechanisms share: what none of them can keep, and runtimes that wait."""

from collections.abc import Iterator

from cpuplan.components import containerd
from cpuplan.components.chosen import is_written
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.facts import versions
from cpuplan.facts.settings.crio import VALIDATOR
from cpuplan.facts.settings.kubelet import CPU_MANAGER_POLICY
from cpuplan.language.model.vocabulary import PARTITION
from cpuplan.plan import NodePlan

#: (field of the intent, what is wrong with it, what to do).
Problem = tuple[str, str, str]
#: Ends of what to do.
KUBELET = "or use mechanism: kubelet"
BALLOONS = "or use mechanism: balloons"
#: Characters of a label's value (apimachinery, pkg/util/validation).
_LABEL = 63


def unconfigured_runtime(plan: NodePlan) -> Iterator[Problem]:
    """A platform whose container runtime is not cpuplan's to configure."""
    node_class = plan.node_class
    if not node_class.platform.has_runtime_choice:
        field, title = node_class.target_field("platform"), node_class.platform.title
        text = f"cpuplan does not configure NRI in the container runtime of {title}"
        yield field, text, "use mechanism: kubelet, or the platform kubernetes for these nodes"


def static_policy(plan: NodePlan) -> Iterator[Problem]:
    """The kubelet's static policy beside another mechanism that gives out CPUs."""
    field = CPU_MANAGER_POLICY.field
    if is_written(plan, field) and plan.spec.kubelet.cpu_manager_policy == "static":
        yield field, "both would give CPUs to containers", f"use none, {KUBELET}"


def other_drivers(plan: NodePlan) -> Iterator[Problem]:
    """DRA drivers beside another mechanism that gives out CPUs."""
    if plan.spec.kubelet.dynamic_resource_allocation:
        text = "a DRA driver gives out CPUs too"
        yield "kubelet.dynamicResourceAllocation", text, f"use false, {KUBELET}"


def shared_pool(plan: NodePlan, why: str) -> Iterator[Problem]:
    """The pool `shared`; `why` says what containers have instead of it."""
    if plan.pool("shared").cpus:
        yield "pools.shared", why, f"give its CPUs to another pool, {KUBELET}"


def long_name(plan: NodePlan) -> Iterator[Problem]:
    """A class whose name does not fit into the label by which its nodes are chosen."""
    node_class = plan.node_class
    if len(node_class.name) > _LABEL:
        text = (
            f"class {node_class.name} would be the value of a label, which has {_LABEL} characters"
        )
        yield node_class.target_field("mechanism"), text, "use shorter names"


def partition_fields(plan: NodePlan) -> Iterator[str]:
    """The fields of the partitions of isolated CPUs that have CPUs."""
    for pool in plan.sets:
        if pool.name.startswith(PARTITION) and pool.cpus:
            yield f"pools.isolated.partitions.{pool.name.removeprefix(PARTITION)}"


def qos_fields(plan: NodePlan) -> Iterator[str]:
    """The fields of the QoS sets that the intent asks for."""
    if plan.spec.qos.best_effort:
        yield "qos.bestEffort"
    if plan.spec.qos.other:
        yield "qos.other"


def waiting_runtime(plan: NodePlan, locate: Locate, plugin: str) -> Iterator[Diagnostic]:
    """CP579 for a runtime that starts containers while the plugin that gives them CPUs is away."""
    node_class = plan.node_class
    target = node_class.target
    field, runtime, since = "version", f"CRI-O {target.version}", VALIDATOR.since
    waits = VALIDATOR.is_known(target)
    if target.runtime == containerd.NAME:
        field, runtime = "containerd", f"containerd {target.containerd}"
        since = containerd.HAS_VALIDATOR
        waits = containerd.requires_plugins(target)
    if not waits:
        position = locate(node_class.place(node_class.target_field(field)))
        version = versions.to_text(since)
        yield diagnose("CP579", position, runtime=runtime, plugin=plugin, version=version)


def check_unread_dra(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP508 for words for the DRA CPU driver where something else gives out CPUs."""
    target, field = plan.node_class.target, plan.node_class.target_field("dra")
    if not target.has_dra and is_written(plan, field):
        yield diagnose(
            "CP508",
            locate(plan.node_class.place(field, of_key=True)),
            field=field,
            mechanism=target.mechanism,
            problem="only the DRA CPU driver reads it",
            hint="let the target have mechanism: dra, or leave it out",
        )


def check_unread_koordinator(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP639 for words for Koordinator where something else gives out CPUs."""
    target = plan.node_class.target
    if not target.has_koordinator and is_written(plan, "koordinator"):
        position = locate(plan.node_class.place("koordinator", of_key=True))
        yield diagnose("CP639", position, field="koordinator", mechanism=target.mechanism)
