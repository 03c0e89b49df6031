"""Which pools select the objects of a class, and which objects of others select its pool."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from cpuplan.backends.openshift import merged
from cpuplan.components.openshift import machineconfig, pool
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate, Position
from cpuplan.plan import ConfiguredPlan, NodeClass
from cpuplan.upstream.mco.helpers import read_selector

#: What a foreign pool has to say so that it does not select the MachineConfig of workers.
_LEAVE_OUT = (
    "add {key: cpuplan.io/pool, operator: NotIn, values: [worker]} to machineConfigSelector of the "
    "pool, if its nodes are not the same hardware"
)


def check(plans: Sequence[ConfiguredPlan], locate: Locate) -> Iterator[Diagnostic]:
    """CP255, CP256, CP298 and CP299, for the classes of one cluster."""
    in_pools = [plan for plan in plans if merged.has_pool(plan) and not plan.spec.paused]
    own_pools = {_name(plan) for plan in in_pools}
    labelled = _by_label(in_pools)
    for plan in in_pools:
        yield from _check_machine_config(plan, locate)
        yield from _check_kubelet_config(plan, labelled, locate)
        yield from _check_foreign_kubelet_configs(plan, locate)
        yield from _check_foreign_pools(plan, own_pools, locate)


def _name(plan: ConfiguredPlan) -> str:
    return plan.node_class.target.pool or ""


def _labels(plan: ConfiguredPlan, component: str) -> Mapping[str, str]:
    """The labels that an object of the class has."""
    labels = plan.settings.values(component)["metadata.labels"]
    assert isinstance(labels, dict)  # noqa: S101 - the components say so
    return {key: str(value) for key, value in labels.items()}


def _field(node_class: NodeClass, locate: Locate, field: str) -> Position | None:
    return locate(node_class.place(node_class.target_field(field)))


def _check_machine_config(plan: ConfiguredPlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP255: labels that the pool of the class does not select, or one of every cluster does."""
    node_class, labels = plan.node_class, _labels(plan, machineconfig.NAME)
    selector = merged.pool_object(plan)["spec"]["machineConfigSelector"]
    selecting = set(pool.BUILT_IN) & {labels.get(machineconfig.ROLE)} - {_name(plan)}
    problems = [f"pool {name} selects" for name in selecting]
    if not read_selector(selector).matches(labels):
        problems.append(f"pool {_name(plan)} does not select")
    for problem in problems:
        yield diagnose(
            "CP255",
            _field(node_class, locate, "machineConfigLabel"),
            problem=problem,
            intent=node_class.intent,
            pool=_name(plan),
        )


def _by_label(plans: Iterable[ConfiguredPlan]) -> dict[tuple[str, str], dict[str, None]]:
    """The names of pools by one of their labels: of classes, and those that every cluster has."""
    labels = {name: pool.built_in_labels(name) for name in pool.BUILT_IN}
    labels |= {_name(plan): pool.all_labels(plan.node_class.target) for plan in plans}
    labelled: dict[tuple[str, str], dict[str, None]] = {}
    for name, own in labels.items():
        for label in own.items():
            labelled.setdefault(label, {})[name] = None
    return labelled


def _check_kubelet_config(
    plan: ConfiguredPlan,
    labelled: Mapping[tuple[str, str], Mapping[str, None]],
    locate: Locate,
) -> Iterator[Diagnostic]:
    """CP256: labels that another pool has too, of another class or of every cluster."""
    node_class, wanted = plan.node_class, _labels(plan, pool.NAME)
    first, *others = (labelled.get(label, {}) for label in wanted.items())
    given = node_class.target.machine_config_pool_selector
    field = "machineConfigPoolSelector" if given else "pool"
    for name in first:
        if name != _name(plan) and all(name in names for names in others):
            yield diagnose(
                "CP256",
                _field(node_class, locate, field),
                intent=node_class.intent,
                pool=_name(plan),
                other=name,
            )


def _check_foreign_kubelet_configs(plan: ConfiguredPlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP298: KubeletConfigs of the Cluster document for the pool of a class."""
    node_class, labels = plan.node_class, pool.all_labels(plan.node_class.target)
    for index, config in enumerate(node_class.cluster_facts.kubelet_configs):
        if config.machine_config_pool_selector.selects(labels):
            yield diagnose(
                "CP298",
                locate(node_class.cluster_place(f"kubeletConfigs.{index}.name")),
                name=config.name,
                pool=node_class.target.pool,
                intent=node_class.intent,
            )


def _check_foreign_pools(
    plan: ConfiguredPlan, own_pools: Collection[str], locate: Locate
) -> Iterator[Diagnostic]:
    """CP299: pools of the Cluster document that get objects of the class."""
    node_class, wanted = plan.node_class, _labels(plan, pool.NAME).items()
    labels = _labels(plan, machineconfig.NAME)
    is_marked = machineconfig.OWNER in labels
    for index, foreign in enumerate(node_class.cluster_facts.machine_config_pools):
        if foreign.name in own_pools:
            continue
        place = locate(node_class.cluster_place(f"machineConfigPools.{index}.name"))
        problems = []
        if foreign.machine_config_selector.selects(labels):
            hint = _LEAVE_OUT if is_marked else "change machineConfigSelector of the pool"
            problems.append(("also selects the MachineConfig", hint))
        if wanted <= foreign.labels.items():
            problems.append(("also gets the KubeletConfig", "change the labels of the pool"))
        for problem, hint in problems:
            yield diagnose(
                "CP299",
                place,
                pool=foreign.name,
                problem=problem,
                intent=node_class.intent,
                own=_name(plan),
                hint=hint,
            )
