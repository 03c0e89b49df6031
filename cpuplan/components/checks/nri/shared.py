"""What holds for every resource policy of the NRI plugins."""

from collections.abc import Iterable, Iterator

from cpuplan.components import containerd
from cpuplan.components.reasons import is_written
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.facts import versions
from cpuplan.facts.settings.crio import VALIDATOR
from cpuplan.facts.settings.kubelet import CPU_MANAGER_POLICY
from cpuplan.language.model.intent import Target
from cpuplan.plan import NodePlan
from cpuplan.upstream.nrt.api import NRI_POLICY

#: Characters of a label's value (apimachinery, pkg/util/validation).
_LABEL = 63
#: (field of the intent, what is wrong with it, what to do).
Problem = tuple[str, str, str]
KUBELET = "or use mechanism: kubelet"


def refused(plan: NodePlan, locate: Locate, problems: Iterable[Problem]) -> list[Diagnostic]:
    """CP590 for each problem."""
    mechanism = plan.node_class.target.mechanism
    return [
        diagnose(
            "CP590",
            locate(plan.node_class.place(field)),
            field=field,
            mechanism=mechanism,
            problem=text,
            hint=hint,
        )
        for field, text, hint in problems
    ]


def contradictions(plan: NodePlan, without_shared: str) -> Iterator[Problem]:
    """Statements that neither policy can keep; the text says why there are no shared CPUs."""
    node_class, spec = plan.node_class, plan.spec
    platform = node_class.platform
    if not platform.has_runtime_choice:
        field = node_class.target_field("platform")
        text = f"cpuplan does not configure NRI in the container runtime of {platform.title}"
        yield field, text, "use mechanism: kubelet, or the platform kubernetes for these nodes"
    if is_written(plan, CPU_MANAGER_POLICY.field) and spec.kubelet.cpu_manager_policy == "static":
        text = "both would give CPUs to containers"
        yield CPU_MANAGER_POLICY.field, text, f"use none, {KUBELET}"
    if spec.kubelet.dynamic_resource_allocation:
        text = "a DRA driver gives out CPUs too"
        yield "kubelet.dynamicResourceAllocation", text, f"use false, {KUBELET}"
    if plan.pool("shared").cpus:
        yield "pools.shared", without_shared, f"give its CPUs to another pool, {KUBELET}"
    if len(node_class.name) > _LABEL:
        text = (
            f"class {node_class.name} would be the value of a label, which has {_LABEL} characters"
        )
        yield node_class.target_field("mechanism"), text, "use shorter names"


def not_started(plan: NodePlan, locate: Locate, error: Exception) -> Diagnostic:
    """CP591 for a machine on which the plugin ends at once."""
    target = plan.node_class.target
    problem = f"the {target.mechanism} policy does not start: {error}"
    position = locate(plan.node_class.place(plan.node_class.target_field("mechanism")))
    name, hint = plan.node_class.name, "use mechanism: kubelet"
    return diagnose("CP591", position, name=name, problem=problem, hint=hint)


def check_runtime(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP594: a runtime that does not wait for the plugin, and machines where it may not start."""
    node_class = plan.node_class
    refuses, field, runtime, since = validator(node_class.target)
    if not refuses:
        position = locate(node_class.place(node_class.target_field(field)))
        problem = f"{runtime} starts containers on all CPUs while the plugin is away"
        hint = (
            f"use version {versions.to_text(since)} or later, where containers wait for the plugin"
        )
        yield diagnose("CP594", position, problem=problem, hint=hint)
    files = plan.topology.kubelet
    is_without = node_class.architecture != "x86_64" and any(one.id is None for one in files.caches)
    if is_without or files.unread_caches & plan.topology.online:
        position = locate(node_class.hardware_place("topology.caches", of_key=True))
        problem = f"hardware {node_class.hardware} has caches without ids: the plugin may not start"
        hint = "look for /sys/devices/system/cpu/cpu0/cache/index0/id, and give caches their ids"
        yield diagnose("CP594", position, problem=problem, hint=hint)


def validator(target: Target) -> tuple[bool, str, str, versions.Version]:
    """Whether the runtime refuses containers without a required plugin: (it does, field of its
    release, its name, the first release that does).
    """
    if target.runtime == containerd.NAME:
        name = f"containerd {target.containerd}"
        return containerd.requires_plugins(target), "containerd", name, containerd.HAS_VALIDATOR
    name = f"CRI-O {target.version}"
    return VALIDATOR.is_known(target), "version", name, VALIDATOR.since


def check_fields(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP732 and CP733: what only the policies do, of nodes without one."""
    node_class = plan.node_class
    if node_class.target.has_nri_policy:
        return
    mechanism = node_class.target.mechanism
    if node_class.cluster_facts.node_resource_topology.exporter == NRI_POLICY:
        position = locate(node_class.cluster_place("nodeResourceTopology.exporter"))
        yield diagnose("CP732", position, name=node_class.name, mechanism=mechanism)
    if node_class.target.reserved_namespaces:
        field = node_class.target_field("reservedNamespaces")
        position = locate(node_class.place(field))
        yield diagnose("CP733", position, field=field, mechanism=mechanism)
