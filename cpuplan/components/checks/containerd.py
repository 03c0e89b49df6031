"""What containerd cannot do of what an intent asks, and what else its nodes need."""

from collections.abc import Iterator

from cpuplan.components import chosen, containerd, mixedcpus
from cpuplan.components.crio import PLUGINS
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.plan import ConfiguredPlan
from cpuplan.upstream.containerd.cri_config import OLD_CRI

#: The first release with CDI.
_CDI = (1, 7)
_CRIO = "use runtime crio"


def check(plan: ConfiguredPlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP527 for each statement that it cannot keep; else CP528, CP529 and CP586."""
    node_class = plan.node_class
    target = node_class.target
    if target.runtime != containerd.NAME or node_class.platform.has_pools:
        return
    wrong = [
        diagnose("CP527", locate(node_class.place(field)), field=field, problem=text, hint=hint)
        for field, text, hint in _contradictions(plan)
    ]
    yield from wrong
    if wrong:
        return
    field = node_class.target_field("runtime")
    for what in _differences(plan):
        yield diagnose(
            "CP528", locate(node_class.place(field)), version=target.containerd, what=what
        )
    yield from _by_hand(plan, locate)
    if plan.settings.of(containerd.NAME):
        path, imports = containerd.DROP_IN, containerd.IMPORT
        yield diagnose("CP586", locate(node_class.place(field)), path=path, imports=imports)


def _contradictions(plan: ConfiguredPlan) -> Iterator[tuple[str, str, str]]:
    """(field of the intent, what is wrong with it, what to do)."""
    target = plan.node_class.target
    release = containerd.release(target)
    if mixedcpus.are_wanted(plan):
        text = "it gives no container shared CPUs beside exclusive ones"
        hint = f"give their CPUs to another pool, set runtime.mixedCpus to false, or {_CRIO}"
        yield "pools.shared", text, hint
    if chosen.exec_affinity(plan) == "first":
        text = "exec probes run on all CPUs of their container"
        yield "runtime.execCpuAffinity", text, f"use none, or {_CRIO}"
    if target.mechanism in PLUGINS and not containerd.has_nri(target):
        field = plan.node_class.target_field("mechanism")
        yield field, f"{target.containerd} has no NRI", f"use containerd 1.7 or later, or {_CRIO}"
    if containerd.needs_cdi(plan) and release < _CDI and not target.has_dra:
        text = f"{target.containerd} has no CDI, by which DRA drivers hand out devices"
        hint = f"use containerd 1.7 or later, or {_CRIO}"
        yield "kubelet.dynamicResourceAllocation", text, hint


def _differences(plan: ConfiguredPlan) -> Iterator[str]:
    if plan.pool("reserved").cpus:
        yield "pause containers may run on all CPUs, not only on the reserved ones"
    target = plan.node_class.target
    if target.has_koordinator and not containerd.has_nri(target):
        yield "it has no NRI: koordlet sets the CPUs of containers up to 10 s after their start"
    if containerd.has_handler(plan):
        handler = plan.spec.runtime.handler
        yield f"pods of the handler {handler} have no CPU hooks: annotations *.crio.io do nothing"


def _by_hand(plan: ConfiguredPlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP529: keys of the CRI plugin's table, which a drop-in of 1.x would replace."""
    target, handler = plan.node_class.target, plan.spec.runtime.handler
    if containerd.merges(target):
        return
    rows = (
        (
            containerd.has_handler(plan),
            "runtime.handler",
            ("runtime_type", '"io.containerd.runc.v2"', f".containerd.runtimes.{handler}"),
        ),
        (
            containerd.needs_cdi(plan),
            containerd.field_of_drivers(plan),
            ("enable_cdi", "true", ""),
        ),
    )
    for is_needed, field, (key, value, inner) in rows:
        if is_needed:
            place = locate(plan.node_class.place(field))
            yield diagnose(
                "CP529",
                place,
                version=target.containerd,
                field=field,
                key=key,
                value=value,
                table=OLD_CRI,
                inner=inner,
            )
