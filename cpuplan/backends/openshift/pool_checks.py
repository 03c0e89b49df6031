"""What pools, MachineConfigs and KubeletConfigs of one cluster do to each other."""

from collections.abc import Iterator, Sequence

from cpuplan.backends.openshift import merged, selection
from cpuplan.backends.openshift.inherited import Inherited, inherited
from cpuplan.backends.openshift.merged import Pool
from cpuplan.base.text import joined
from cpuplan.components.openshift.machineconfig import WORKER
from cpuplan.diagnostics import Diagnostic, Label, diagnose
from cpuplan.diagnostics.source import Locate, Position
from cpuplan.plan import ConfiguredPlan, NodeClass
from cpuplan.upstream.mco.common import RenderError
from cpuplan.upstream.mco.kubelet_config_controller import NODE_SIZING

#: Of what a pool inherits, so much is shown.
_SHOWN = 3
_SIZING_HINT = (
    "set kubelet.systemReserved in the intent: the memory of the workers counts otherwise"
)
_NAME_HINT = (
    "give the pool a name that comes after `worker-generated`, such as `x-workers`, or target 4.15"
)


def check(plans: Sequence[ConfiguredPlan], locate: Locate) -> Iterator[Diagnostic]:
    """All of it, for the classes of one cluster."""
    try:
        for pool in merged.of_cluster(plans):
            yield from _check_inherited(pool, locate)
    except RenderError as error:
        yield from _unrenderable(plans[0].node_class, error, locate)
    yield from selection.check(plans, locate)


def _unrenderable(
    node_class: NodeClass, error: RenderError, locate: Locate
) -> Iterator[Diagnostic]:
    """CP249 for an object of the Cluster document; one of cpuplan is CP570 when it is written."""
    names = [config.name for config in node_class.cluster_facts.machine_configs]
    if error.machine_config in names:
        place = f"machineConfigs.{names.index(error.machine_config)}"
        yield diagnose(
            "CP249",
            locate(node_class.cluster_place(place)),
            name=error.machine_config,
            problem=error.error,
        )


def _check_inherited(pool: Pool, locate: Locate) -> Iterator[Diagnostic]:
    by_class: dict[tuple[str, bool], list[Inherited]] = {}
    for item in inherited(pool):
        key = item.source.intent, item.source.is_kubelet
        by_class.setdefault(key, []).append(item)
    for (intent, is_kubelet), items in by_class.items():
        if is_kubelet:
            yield _of_kubelet_config(pool, items, locate)
        elif intent:
            yield _of_other_class(pool, items, locate)
        else:
            yield from _contradictions(pool, items, locate)


def _of_kubelet_config(pool: Pool, items: Sequence[Inherited], locate: Locate) -> Diagnostic:
    """CP257: files of the KubeletConfig of workers, of an intent or of the Cluster document."""
    node_class, source = pool.plan.node_class, items[0].source
    other = _pool_place(source.plan, locate)
    if other is None:
        other = locate(node_class.cluster_place(source.place))
    paths = [item.what for item in items]
    role = source.config.role
    hint = _SIZING_HINT if paths == [NODE_SIZING] else _NAME_HINT
    if role != WORKER:
        hint = "remove machineConfigLabel"
    return diagnose(
        "CP257",
        locate(node_class.place(node_class.target_field("pool"))),
        labels=[Label(other, "this KubeletConfig")] if other else [],
        pool=node_class.target.pool,
        cluster=node_class.cluster,
        paths=_shown(paths),
        other=role,
        hint=hint,
    )


def _pool_place(plan: ConfiguredPlan | None, locate: Locate) -> Position | None:
    node_class = plan.node_class if plan else None
    return locate(node_class.place(node_class.target_field("pool"))) if node_class else None


def _of_other_class(pool: Pool, items: Sequence[Inherited], locate: Locate) -> Diagnostic:
    node_class, source = pool.plan.node_class, items[0].source.plan
    assert source is not None  # noqa: S101 - it has an intent
    other = source.node_class
    other_place = _pool_place(source, locate)
    return diagnose(
        "CP237",
        locate(node_class.place(node_class.target_field("pool"))),
        labels=[Label(other_place, f"intent {other.intent}")] if other_place else [],
        pool=node_class.target.pool,
        cluster=node_class.cluster,
        what=_shown([item.what for item in items]),
        other=other.intent,
        hint=_hint(node_class, other),
    )


def _hint(node_class: NodeClass, other: NodeClass) -> str:
    if other.spec.paused:
        return f"resume intent {other.intent} first, so that its files are compiled anew"
    if other.target.cpu_partitioning != node_class.target.cpu_partitioning:
        return "write the same cpuPartitioning in both targets: it is a property of the cluster"
    if other.target.is_profile and other.target.pool == WORKER:
        return (
            f"write `mode: mco` in the target of intent {other.intent}: pools that cpuplan writes "
            f"do not select its MachineConfig then; or give the nodes of intent {other.intent} a "
            "custom pool"
        )
    return f"remove machineConfigLabel from the target of intent {other.intent}"


def _contradictions(pool: Pool, items: Sequence[Inherited], locate: Locate) -> Iterator[Diagnostic]:
    node_class = pool.plan.node_class
    for item in items:
        yield diagnose(
            "CP238",
            locate(node_class.cluster_place(item.place)),
            name=item.source.config.name,
            pool=node_class.target.pool,
            what=item.what,
            intent=node_class.intent,
        )


def _shown(names: Sequence[str]) -> str:
    shown = list(names[:_SHOWN])
    further = len(names) - len(shown)
    return joined([*shown, f"{further} more"] if further else shown)
