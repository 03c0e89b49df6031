"""What pools, MachineConfigs and KubeletConfigs of one cluster do to each other."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from cpuplan.backends.openshift import merged
from cpuplan.backends.openshift.merged import Inherited, Pool
from cpuplan.components.openshift import machineconfig, pool
from cpuplan.components.selectors import selects
from cpuplan.diagnostics import Diagnostic, Label, diagnose
from cpuplan.mco.errors import RenderError
from cpuplan.plan import ConfiguredPlan, NodeClass
from cpuplan.source import Locate
from cpuplan.text import joined

#: Of what a pool inherits, so much is shown.
_SHOWN = 3


def check(plans: Sequence[ConfiguredPlan], locate: Locate) -> Iterator[Diagnostic]:
    """All of it, for the classes of one cluster."""
    try:
        for pool in merged.of_cluster(plans):
            yield from _check_inherited(pool, locate)
    except RenderError as error:
        yield from _unrenderable(plans[0].node_class, error, locate)
    own_pools = {plan.node_class.target.pool for plan in plans}
    for plan in plans:
        yield from _check_kubelet_configs(plan, locate)
        yield from _check_foreign_pools(plan, own_pools, locate)


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
    by_class: dict[str, list[Inherited]] = {}
    for item in merged.inherited(pool):
        by_class.setdefault(item.source.intent, []).append(item)
    for intent, items in by_class.items():
        if intent:
            yield _of_other_class(pool, items, locate)
        else:
            yield from _contradictions(pool, items, locate)


def _of_other_class(pool: Pool, items: Sequence[Inherited], locate: Locate) -> Diagnostic:
    node_class, source = pool.plan.node_class, items[0].source.plan
    assert source is not None  # noqa: S101 - it has an intent
    other = source.node_class
    other_place = locate(other.place(other.target_field("pool")))
    return diagnose(
        "CP237",
        locate(node_class.place(node_class.target_field("pool"))),
        labels=[Label(other_place, f"intent {other.intent}")] if other_place else [],
        pool=node_class.target.pool,
        cluster=node_class.cluster,
        what=_shown([item.what for item in items]),
        other=other.intent,
    )


def _contradictions(
    pool: Pool, inherited: Sequence[Inherited], locate: Locate
) -> Iterator[Diagnostic]:
    node_class = pool.plan.node_class
    for item in inherited:
        place = f"machineConfigs.{item.source.number}.{item.field}"
        yield diagnose(
            "CP238",
            locate(node_class.cluster_place(place)),
            name=item.source.data["metadata"]["name"],
            pool=node_class.target.pool,
            what=item.what,
            intent=node_class.intent,
        )


def _shown(names: Sequence[str]) -> str:
    shown = list(names[:_SHOWN])
    further = len(names) - len(shown)
    return joined([*shown, f"{further} more"] if further else shown)


def _labels(plan: ConfiguredPlan, component: str) -> Mapping[str, str]:
    """The labels that an object of the class has."""
    labels = plan.settings.values(component)["metadata.labels"]
    assert isinstance(labels, dict)  # noqa: S101 - the components say so
    return {key: str(value) for key, value in labels.items()}


def _check_kubelet_configs(plan: ConfiguredPlan, locate: Locate) -> Iterator[Diagnostic]:
    node_class = plan.node_class
    if not node_class.machine_config_pool or node_class.target.is_hosted:
        return
    labels = _labels(plan, pool.NAME)
    for index, config in enumerate(node_class.cluster_facts.kubelet_configs):
        if selects(config.machine_config_pool_selector, labels):
            yield diagnose(
                "CP298",
                locate(node_class.cluster_place(f"kubeletConfigs.{index}.name")),
                name=config.name,
                pool=node_class.target.pool,
                intent=node_class.intent,
            )


def _check_foreign_pools(
    plan: ConfiguredPlan, own_pools: Collection[str | None], locate: Locate
) -> Iterator[Diagnostic]:
    node_class = plan.node_class
    if node_class.target.pool != machineconfig.WORKER or node_class.target.is_hosted:
        return
    labels = _labels(plan, machineconfig.NAME)
    for index, foreign in enumerate(node_class.cluster_facts.machine_config_pools):
        is_foreign = foreign.name not in own_pools
        if is_foreign and selects(foreign.machine_config_selector, labels):
            yield diagnose(
                "CP299",
                locate(node_class.cluster_place(f"machineConfigPools.{index}.name")),
                pool=foreign.name,
                intent=node_class.intent,
            )
