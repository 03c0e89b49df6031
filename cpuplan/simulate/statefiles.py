"""Warnings about plans that make a kubelet refuse the state file of the previous plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from cpuplan.base.cpuset import CpuSet, CpuSetError
from cpuplan.components import kubelet as component
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate, Position
from cpuplan.facts.settings.kubelet import (
    CPU_MANAGER_OPTIONS,
    CPU_MANAGER_POLICY,
    EVICTION_HARD,
    FEATURE_GATES,
    KUBE_RESERVED,
    MEMORY_MANAGER_POLICY,
    RESERVED_CPUS,
    RESERVED_MEMORY,
    SYSTEM_RESERVED,
)
from cpuplan.fleet.previous import Before
from cpuplan.plan import ConfiguredPlan, Plan
from cpuplan.plan.setting import Setting

if TYPE_CHECKING:
    from cpuplan.simulate.planned import Planned

#: Fields that a state file depends on.
_FIELDS = (
    CPU_MANAGER_POLICY.key,
    CPU_MANAGER_OPTIONS.head,
    EVICTION_HARD.head,
    FEATURE_GATES.head,
    KUBE_RESERVED.head,
    MEMORY_MANAGER_POLICY.key,
    RESERVED_MEMORY.key,
    RESERVED_CPUS.key,
    SYSTEM_RESERVED.head,
)

Config = dict[str, Any]


def check(before: Before, plan: Plan, locate: Locate) -> list[Diagnostic]:
    """Warnings for classes whose previous compilation was different.

    OpenShift's unit removes the files at each start.
    """
    warnings = []
    for node_plan in plan.nodes:
        of = node_plan.node_class
        old = before.get(of.key)
        if old is not None and not of.platform.removes_state_files:
            warnings += list(_check_class(node_plan, old, locate))
    return warnings


def _check_class(plan: ConfiguredPlan, old: dict[str, Any], locate: Locate) -> Iterator[Diagnostic]:
    try:
        pools: Mapping[str, Any] = old["pools"]
        offlined = CpuSet.parse(pools.get("offlined", {}).get("cpus", ""))
        settings = [
            Setting(component.NAME, entry["key"], entry["value"], ())
            for entry in old["settings"]
            if _is_ours(entry)
        ]
        before = component.configuration(settings)
    except (CpuSetError, KeyError, TypeError, AttributeError):
        return  # written by another release of cpuplan
    now = component.configuration(plan.settings.of(component.NAME))
    changed = [field for field in _FIELDS if before.get(field) != now.get(field)]
    if not changed and offlined == plan.pool("offlined").cpus:
        return
    for file, when, problem in _refusals(plan, before, offlined):
        name, cluster = plan.node_class.name, plan.node_class.cluster
        what = " and ".join(changed) or "the offlined CPUs"
        position = _position(plan, changed, locate)
        yield diagnose(
            "CP707",
            position,
            name=name,
            cluster=cluster,
            file=file,
            when=when,
            problem=problem,
            changed=what,
        )


def _is_ours(setting: Mapping[str, Any]) -> bool:
    return bool(setting["component"] == component.NAME)


def _position(plan: ConfiguredPlan, changed: list[str], locate: Locate) -> Position | None:
    """Where the intent says what changed."""
    for setting in plan.settings.of(component.NAME):
        if setting.key.partition(".")[0] in changed[-1:]:
            positions = (locate(reason.origin) for reason in setting.reasons)
            return next((position for position in positions if position), None)
    return locate(plan.node_class.place("pools.offlined") if not changed else "")


class Refusal(NamedTuple):
    """A state file that a kubelet refuses: always, or `when` pods have exclusive CPUs."""

    file: str
    when: str
    #: The kubelet's text.
    problem: str


def _refusals(plan: ConfiguredPlan, before: Config, offlined: CpuSet) -> Iterator[Refusal]:
    from cpuplan.simulate.planned import planned
    from cpuplan.upstream.kubelet.policy_options import with_gates
    from cpuplan.upstream.kubelet.sysinfo import machine_of, without

    new = planned(plan)
    machine = machine_of(without(plan.topology, offlined))._replace(memory=new.machine.memory)
    yield from refusals(new._replace(config=with_gates(before, new.version), machine=machine), new)


def refusals(old: Planned, new: Planned) -> Iterator[Refusal]:
    """The state files of the kubelet `old` that `new` refuses."""
    from cpuplan.upstream.kubelet.kubelet import Kubelet, Node
    from cpuplan.upstream.kubernetes.bits import to_text
    from cpuplan.upstream.kubernetes.errors import HangError, KubeletError, PanicError

    def refusal(state: Node) -> str:
        try:
            new.start(state)
        except (KubeletError, HangError, PanicError) as error:
            return str(error)
        return ""

    try:
        kubelet: Kubelet = old.start()
        new.start()
    except (KubeletError, HangError, PanicError):
        return  # nothing runs there, or the new plan is refused for itself
    left = kubelet.stop()
    if problem := refusal(Node(memory_state=left.memory_state)):
        yield Refusal("memory_manager_state", "", problem)
    if problem := refusal(Node(left.cpu_state)):
        yield Refusal("cpu_manager_state", "", problem)
        return
    policy = kubelet.cpus.policy
    if policy is None:
        return
    taken = policy.allocatable
    if not kubelet.cpus.state.default & ~taken:
        # Under strict reservation no kubelet takes an empty default set, its own neither.
        taken &= ~(1 << taken.bit_length() - 1)
    if not taken:
        return
    kubelet.cpus.state.set_cpus("POD", "CONTAINER", taken)
    kubelet.cpus.state.default &= ~taken
    if problem := refusal(Node(kubelet.cpus.dump())):
        policy_now = new.start().cpus.policy
        gone = policy.allocatable & ~policy_now.allocatable if policy_now else policy.allocatable
        yield Refusal(
            "cpu_manager_state",
            f" while pods have any of CPUs {to_text(gone)} exclusively",
            problem,
        )
