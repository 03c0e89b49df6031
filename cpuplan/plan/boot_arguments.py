"""Boot arguments that intents and objects of others give a class's nodes, with their places.

What follows from them for the machine as nodes boot it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import count
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
    """Those of MachineConfigs and Tuned objects of others, in the order in which they are merged.

    The operator merges objects by name (pkg/controller/common, MergeMachineConfigs); those of Tuned
    objects are in 50-nto.
    """
    facts = node_class.cluster_facts
    if not (facts.machine_configs or facts.tuneds):
        return
    if node_class.machine_config_pool and not node_class.target.is_hosted:
        for _, texts in sorted(_of_objects(node_class), key=lambda named: named[0]):
            for text, place in texts:
                yield from arguments(text, place)


def _of_objects(node_class: NodeClass) -> Iterator[tuple[str, Sequence[tuple[str, str]]]]:
    """The names of MachineConfigs of others, each with its texts and their places."""
    from cpuplan.language.model.vocabulary import takes_machine_config  # for few plans

    facts = node_class.cluster_facts
    for number, config in enumerate(facts.machine_configs):
        if takes_machine_config(node_class.target, config.labels):
            field = f"machineConfigs.{number}.kernelArguments"
            places = (node_class.cluster_place(f"{field}.{at}") for at in count())
            yield config.name, list(zip(config.kernel_arguments, places, strict=False))
    if facts.tuneds:
        from cpuplan.plan import tuned_profiles

        yield f"50-nto-{node_class.target.pool}", list(tuned_profiles.arguments(node_class))


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
