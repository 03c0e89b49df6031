"""Boot arguments that intents and objects of others give a class's nodes, with their places."""

from collections.abc import Iterator

from cpuplan.components import chosen, cmdline
from cpuplan.language.model.vocabulary import takes_machine_config
from cpuplan.plan import NodePlan
from cpuplan.upstream.linux.cmdline import Argument


def own(plan: NodePlan) -> list[Argument]:
    """Those of the intent or of the profile that it was made from; none that the plan computes."""
    arguments = []
    for index, text in enumerate(plan.spec.kernel.extra_arguments):
        place = plan.node_class.place(f"kernel.extraArguments.{index}")
        arguments += cmdline.arguments(text, place)
    return arguments


def of_others(plan: NodePlan) -> Iterator[Argument]:
    """Those of MachineConfigs that cpuplan does not write, in the order in which they are merged.

    The operator merges objects by name (pkg/controller/common, MergeMachineConfigs).
    """
    node_class = plan.node_class
    if not node_class.machine_config_pool or node_class.target.is_hosted:
        return
    configs = enumerate(node_class.cluster_facts.machine_configs)
    for number, config in sorted(configs, key=lambda numbered: numbered[1].name):
        if takes_machine_config(node_class.target, config.labels):
            for index, text in enumerate(config.kernel_arguments):
                field = f"machineConfigs.{number}.kernelArguments.{index}"
                yield from cmdline.arguments(text, node_class.cluster_place(field))


def given(plan: NodePlan) -> list[Argument]:
    """All of them, in the order of the command line."""
    return [*own(plan), *of_others(plan)]


def is_cgroup_v1(plan: NodePlan) -> bool:
    """Whether nodes are to have control groups of version 1.

    Of a cluster with pools its configuration says it, and no argument of a plan.
    """
    if plan.node_class.platform.has_pools:
        return plan.node_class.cluster_facts.cgroup_mode == "v1"
    return chosen.has_cgroups_v1(plan)
