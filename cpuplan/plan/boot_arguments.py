"""Boot arguments that intents and objects of others give a class's nodes, with their places.

What follows from them for the machine as nodes boot it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from cpuplan.base.topology import NumaNodeFacts, Topology
from cpuplan.upstream.linux import kernel_parameters
from cpuplan.upstream.linux.cmdline import Argument, arguments

if TYPE_CHECKING:
    from cpuplan.plan import NodeClass


def own(node_class: NodeClass) -> list[Argument]:
    """Those of the intent or of the profile that it was made from; none that a plan computes."""
    given = []
    for index, text in enumerate(node_class.spec.kernel.extra_arguments):
        given += arguments(text, node_class.place(f"kernel.extraArguments.{index}"))
    return given


def of_others(node_class: NodeClass) -> Iterator[Argument]:
    """Those of MachineConfigs that cpuplan does not write, in the order in which they are merged.

    The operator merges objects by name (pkg/controller/common, MergeMachineConfigs).
    """
    configs = node_class.cluster_facts.machine_configs
    if not configs or not node_class.machine_config_pool or node_class.target.is_hosted:
        return
    from cpuplan.language.model.vocabulary import takes_machine_config  # for few plans

    for number, config in sorted(enumerate(configs), key=lambda numbered: numbered[1].name):
        if takes_machine_config(node_class.target, config.labels):
            for index, text in enumerate(config.kernel_arguments):
                field = f"machineConfigs.{number}.kernelArguments.{index}"
                yield from arguments(text, node_class.cluster_place(field))


def given(node_class: NodeClass) -> list[Argument]:
    """All of them, in the order of the command line."""
    return [*own(node_class), *of_others(node_class)]


def booted(node_class: NodeClass) -> Topology:
    """The machine with the memory that `mem=` and its like leave.

    They cut off the highest addresses (arch/x86/kernel/e820.c), which are those of the last NUMA
    nodes.
    """
    limit = kernel_parameters.memory_limit(given(node_class))
    return node_class.topology if limit is None else _within(node_class.topology, limit)


@lru_cache(maxsize=64)
def _within(topology: Topology, limit: int) -> Topology:
    facts = topology.numa_facts
    if any(fact.memory is None for fact in facts.values()):
        return topology
    nodes = _shares(facts, limit)
    return Topology(topology.cpus, nodes, topology.offline, topology.kubelet)


def _shares(facts: Mapping[int, NumaNodeFacts], limit: int) -> Iterator[NumaNodeFacts]:
    left = limit
    for fact in facts.values():
        memory = min(fact.memory or 0, left)
        left -= memory
        yield fact._replace(memory=memory)
