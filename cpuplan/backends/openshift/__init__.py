"""OpenShift: objects for the machine config operator, or a profile for the node tuning operator."""

from collections.abc import Iterator, Mapping, Sequence

from cpuplan.backends import rollouts
from cpuplan.backends.base import Facts, Files, Key, Manifest, NodeFile
from cpuplan.backends.openshift import checks, merged, objects
from cpuplan.components import runtimeclass
from cpuplan.components.openshift import pinning, pool, tuned
from cpuplan.diagnostics import Diagnostic
from cpuplan.diagnostics.source import Locate
from cpuplan.plan import ConfiguredPlan, NodePlan


def check(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """What no PerformanceProfile can say, where one is written."""
    return checks.check_profile(plan, locate)


def manifests(plan: ConfiguredPlan) -> Iterator[Manifest]:
    """The objects of the target's mode."""
    target, name = plan.node_class.target, plan.node_class.profile
    if target.is_hosted:
        yield Manifest(f"10-configmap-{name}.yaml", objects.config_map(plan), is_for_host=True)
        return
    file = f"00-machineconfigpool-{target.pool}.yaml"
    if target.pool not in pool.BUILT_IN:
        yield Manifest(file, objects.machine_config_pool(plan))
    elif rollouts.of_pool(plan):
        yield Manifest(file, objects.built_in_pool(plan))
    if target.is_profile:
        yield Manifest(f"10-performanceprofile-{name}.yaml", objects.performance_profile(plan))
        return
    yield from _for_machine_config_operator(plan)


def _for_machine_config_operator(plan: ConfiguredPlan) -> Iterator[Manifest]:
    """Mode `mco`: KubeletConfig, MachineConfigs, RuntimeClass and Tuned."""
    name = plan.node_class.profile
    for pinned in pinning.pools(plan.settings.of(pinning.NAME)):
        yield Manifest(
            f"01-machineconfig-{pinned}-cpu-partitioning.yaml",
            objects.pinning_machine_config(pinned),
        )
    yield Manifest(f"10-kubeletconfig-{name}.yaml", objects.kubelet_config(plan))
    yield Manifest(f"10-machineconfig-{name}.yaml", objects.machine_config(plan))
    if plan.settings.of(runtimeclass.NAME):
        yield Manifest(f"10-runtimeclass-{name}.yaml", objects.runtime_class(plan))
    if plan.settings.of(tuned.NAME):
        yield Manifest(f"10-tuned-{name}.yaml", objects.tuned_object(plan))


def node_files(_plan: ConfiguredPlan) -> Mapping[str, bytes]:
    """None: the machine config operator writes the nodes' files."""
    return {}


def on_node(plan: ConfiguredPlan) -> Mapping[str, NodeFile]:
    """What the machine config operator writes to the nodes of the pool."""
    return objects.on_node(plan)


def delivered(_plan: ConfiguredPlan) -> Mapping[str, bytes]:
    """None, for the same reason."""
    return {}


def expected(plan: ConfiguredPlan) -> Iterator[Manifest]:
    """What the node tuning operator will make of a PerformanceProfile."""
    return objects.predicted_manifests(plan)


def check_cluster(plans: Sequence[ConfiguredPlan], locate: Locate) -> Iterator[Diagnostic]:
    """What nodes would get from objects of other pools, and what others make of these."""
    yield from checks.check_pools(plans, locate)
    for plan in plans:
        if merged.has_pool(plan) and not plan.spec.paused:
            yield from checks.check_files(plan, locate)
            yield from checks.check_adopted(plan, locate)


def expected_of_cluster(plans: Sequence[ConfiguredPlan]) -> Mapping[Key, Files]:
    """What the machine config operator merges for each pool."""
    return merged.expected_files(plans)


def facts_of_cluster(plans: Sequence[ConfiguredPlan]) -> Mapping[Key, Facts]:
    """What the rendered MachineConfig of each pool has of the compiled objects."""
    return merged.rendered_facts(plans)
