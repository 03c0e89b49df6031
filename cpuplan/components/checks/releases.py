"""What the release of a target lacks, and defaults that an intent switches to no effect."""

from collections.abc import Iterator
from typing import NamedTuple

from cpuplan.base.text import joined, quantity_text
from cpuplan.components import chosen, memory, mixedcpus
from cpuplan.components.chosen import is_written
from cpuplan.components.koordinator.release_names import PROPOSAL
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate, Position
from cpuplan.facts import platforms, programs, versions
from cpuplan.facts.platforms import Feature
from cpuplan.facts.programs import Known, Program
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


class _Stated(NamedTuple):
    """A release that a target names: the program, the release, where, and whether it matters."""

    program: Program
    name: str
    place: str
    is_used: bool = True


def _stated(plan: NodePlan) -> Iterator[_Stated]:
    """The releases of the target: of its platform first."""
    node_class = plan.node_class
    target = node_class.target

    def at(field: str) -> str:
        return node_class.place(node_class.target_field(field))

    yield _Stated(programs.PROGRAMS[target.platform], target.version, at("version"))
    has_containerd = target.runtime == "containerd" and node_class.platform.has_runtime_choice
    yield _Stated(programs.CONTAINERD, target.containerd, at("containerd"), has_containerd)
    if target.koordinator != PROPOSAL:
        field, has_it = at("koordinator"), target.has_koordinator
        yield _Stated(programs.KOORDINATOR, target.koordinator, field, has_it)
    field, has_driver = at("dra.release"), target.has_dra
    yield _Stated(programs.DRA_DRIVER_CPU, target.dra.release, field, has_driver)
    field, has_plugins = at("nriPlugins"), target.has_nri_policy
    yield _Stated(programs.NRI_PLUGINS, target.nri_plugins, field, has_plugins)


def check(plan: NodePlan, locate: Locate) -> list[Diagnostic]:
    """Releases that the table does not have: of the nodes, their programs, their control plane."""
    node_class = plan.node_class
    control_plane = _Stated(
        programs.PROGRAMS[node_class.platform.name],
        node_class.cluster_facts.version or "",
        node_class.cluster_place("version"),
    )
    return [
        unknown(stated.program, stated.name, locate(stated.place))
        for stated in (*_stated(plan), control_plane)
        if stated.name and not stated.program.find(stated.name)
    ]


def unknown(program: Program, version: str, position: Position | None = None) -> Diagnostic:
    """That the table has no such release."""
    return diagnose("CP501", position, program=program.name, version=version, span=program.span)


def check_provenance(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP5625 for releases whose rules were neither read nor recorded; CP5626 for unknown ones."""
    for stated, known in _uncertain(plan):
        yield diagnose(
            "CP5625",
            locate(stated.place),
            title=stated.program.title,
            version=stated.name,
            how=known.words,
            program=stated.program.name,
        )
    yield from _check_tuned(plan, locate)


def uncertain(plan: NodePlan) -> Iterator[str]:
    """The same in words: `Kubernetes 1.37 is predicted by the rules of 1.36`."""
    for stated, known in _uncertain(plan):
        yield f"{stated.program.title} {stated.name} is {known.words}"


def _uncertain(plan: NodePlan) -> Iterator[tuple[_Stated, Known]]:
    platform, *others = _stated(plan)
    for stated in (platform, *_below(plan, platform), *(row for row in others if row.is_used)):
        known = stated.program.find(stated.name)
        if known and not known.is_certain:
            yield stated, known


def _below(plan: NodePlan, platform: _Stated) -> Iterator[_Stated]:
    """The Kubernetes and the CRI-O of a platform's release, where the release itself is certain."""
    known = platform.program.find(platform.name)
    if known is None or known.kubernetes is None:
        return
    name = versions.to_text(known.kubernetes)
    if known.is_certain:
        yield platform._replace(program=programs.KUBERNETES, name=name)
    if (plan.node_class.platform.runtime or plan.node_class.target.runtime) == "crio":
        yield platform._replace(program=programs.CRIO, name=name)


def _check_tuned(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    node_class, tuned = plan.node_class, plan.node_class.target.tuned
    newest = programs.newest(programs.TUNED)
    if tuned and versions.from_text(tuned) > newest:
        place = locate(node_class.place(node_class.target_field("tuned")))
        title, name = programs.TUNED.title, programs.TUNED.name
        known = versions.to_text(newest)
        yield diagnose("CP5626", place, title=title, version=tuned, newest=known, program=name)


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
